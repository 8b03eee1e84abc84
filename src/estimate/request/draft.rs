//! A home under construction: collects valid values one by one and builds a [`Home`] from them.

use std::borrow::Cow;

use chrono::NaiveDate;

use super::fields::{FIELDS, HomeField, HomeInput};
use crate::{Condition, Extras, Furniture, Grade, Home, HomeClass};
use toise_contract::enums::{EnumFurniture, EnumPropertyGeneralCondition, WireEnum};
use toise_contract::fault::Fault;
use toise_contract::fields::Taken;
use toise_contract::walk::JsonPath;

/// Message about a value that every home needs.
pub(super) const MISSING: &str = "is required";

/// The values of a home read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct HomeDraft {
    longitude: Option<f64>,
    latitude: Option<f64>,
    class: Option<HomeClass>,
    surface_m2: Option<f64>,
    rooms: Option<f64>,
    bedrooms: Option<f64>,
    land_m2: Option<f64>,
    construction_year: Option<f64>,
    energy: Option<Grade>,
    climate: Option<Grade>,
    floor: Option<f64>,
    floors: Option<f64>,
    extras: Extras,
    date: Option<NaiveDate>,
    /// Inputs given, one bit each.
    said: u32,
}

/// A function that returns the name of a field in messages: its path in a body, its column in a portfolio.
pub(super) type NameOf = fn(&'static HomeField) -> Cow<'static, str>;

impl HomeDraft {
    /// Whether any part of a position was given.
    pub(super) fn has_position(&self) -> bool {
        self.longitude.is_some() || self.latitude.is_some()
    }

    /// Sets the position, latitude and longitude in degrees.
    pub(super) fn set_position(&mut self, (lat, lon): (f64, f64)) {
        self.set(HomeInput::Longitude, &Taken::Number(lon));
        self.set(HomeInput::Latitude, &Taken::Number(lat));
    }

    /// Sets one value.
    pub(super) fn set(&mut self, input: HomeInput, taken: &Taken<'_>) {
        self.said |= 1 << input as u32;
        match taken {
            Taken::Number(number) => self.set_number(input, *number),
            Taken::Flag(flag) => self.set_flag(input, *flag),
            Taken::Word(word) => self.set_word(input, word),
            Taken::List(items) => items.iter().for_each(|item| self.set(input, item)),
            Taken::Moment(moment) => self.date = Some(moment.day()),
            _ => {}
        }
    }

    fn set_number(&mut self, input: HomeInput, number: f64) {
        let place = match input {
            HomeInput::Longitude => &mut self.longitude,
            HomeInput::Latitude => &mut self.latitude,
            HomeInput::Surface => &mut self.surface_m2,
            HomeInput::Rooms => &mut self.rooms,
            HomeInput::Bedrooms => &mut self.bedrooms,
            HomeInput::Land => &mut self.land_m2,
            HomeInput::Year => &mut self.construction_year,
            HomeInput::Floor => &mut self.floor,
            HomeInput::Floors => &mut self.floors,
            _ => return,
        };
        *place = Some(number);
    }

    fn set_flag(&mut self, input: HomeInput, flag: bool) {
        let extras = &mut self.extras;
        let place = match input {
            HomeInput::Balcony => &mut extras.has_balcony,
            HomeInput::Cellar => &mut extras.has_cellar,
            HomeInput::Garage => &mut extras.has_garage,
            HomeInput::Lift => &mut extras.has_lift,
            HomeInput::Parking => &mut extras.has_parking,
            HomeInput::Pool => &mut extras.has_pool,
            HomeInput::Terrace => &mut extras.has_terrace,
            _ => return,
        };
        *place = Some(flag);
    }

    fn set_word(&mut self, input: HomeInput, word: &'static str) {
        match input {
            HomeInput::Class if word == "CLASS_HOUSE" => self.class = Some(HomeClass::House),
            HomeInput::Class => self.class = Some(HomeClass::Flat),
            HomeInput::Energy => self.energy = grade(word),
            HomeInput::Climate => self.climate = grade(word),
            HomeInput::Furniture => self.extras.furniture = furniture(word),
            HomeInput::Conditions => {
                let said = [self.extras.condition, condition(word)];
                self.extras.condition = said.into_iter().flatten().min();
            }
            _ => {}
        }
    }

    /// Builds the home; `date` is the valuation date if none was given.
    pub(super) fn finish(
        mut self,
        date: NaiveDate,
        name_of: NameOf,
        is_required: impl Fn(&HomeField) -> bool,
        at: JsonPath<'_>,
    ) -> Result<Home, Fault> {
        for field in &FIELDS {
            if self.said & (1 << field.input as u32) == 0 && is_required(field) {
                return Err(JsonPath::Key(&at, &name_of(field)).fault(MISSING));
            }
        }
        // Many sources write 0 for an unknown number of rooms.
        self.rooms = self.rooms.filter(|rooms| *rooms > 0.0);
        let exceeds = |one: Option<f64>, other: Option<f64>| {
            one.zip(other).is_some_and(|(one, other)| one > other)
        };
        let contradictions = [
            (
                self.bedrooms,
                self.rooms,
                HomeInput::Bedrooms,
                HomeInput::Rooms,
            ),
            (self.floor, self.floors, HomeInput::Floor, HomeInput::Floors),
        ];
        for (one, other, input, bound) in contradictions {
            if exceeds(one, other) {
                let name = |input| {
                    let field = FIELDS.iter().find(|field| field.input == input);
                    field.map_or(Cow::Borrowed(""), name_of)
                };
                let fault = format!("must not be above {}", name(bound));
                return Err(JsonPath::Key(&at, &name(input)).fault(fault));
            }
        }
        let missing = |what| JsonPath::Key(&at, what).fault(MISSING);
        Ok(Home {
            longitude: self.longitude.ok_or_else(|| missing("longitude"))?,
            latitude: self.latitude.ok_or_else(|| missing("latitude"))?,
            class: self.class.ok_or_else(|| missing("type"))?,
            surface_m2: self.surface_m2.ok_or_else(|| missing("surface_m2"))?,
            rooms: self.rooms,
            bedrooms: self.bedrooms,
            land_m2: self.land_m2,
            construction_year: self.construction_year.map(|year| year as i32),
            energy: self.energy,
            climate: self.climate,
            floor: self.floor,
            floors: self.floors,
            extras: self.extras,
            date: self.date.unwrap_or(date),
        })
    }
}

/// Returns the letter at the end of a diagnostic class; `None` if the class has no letter.
fn grade(word: &str) -> Option<Grade> {
    match word.rsplit('_').next()? {
        "A" => Some(Grade::A),
        "B" => Some(Grade::B),
        "C" => Some(Grade::C),
        "D" => Some(Grade::D),
        "E" => Some(Grade::E),
        "F" => Some(Grade::F),
        "G" => Some(Grade::G),
        _ => None,
    }
}

fn condition(word: &str) -> Option<Condition> {
    use EnumPropertyGeneralCondition as Said;
    match Said::parse(word)? {
        Said::Unknown => None,
        Said::Decrepit => Some(Condition::Decrepit),
        Said::ToBeRenovated => Some(Condition::ToBeRenovated),
        Said::ToBeRefreshed => Some(Condition::ToBeRefreshed),
        Said::Good => Some(Condition::Good),
        Said::Renovated => Some(Condition::Renovated),
        Said::Excellent => Some(Condition::Excellent),
        Said::BrandNew => Some(Condition::BrandNew),
        Said::ToBeBuilt => Some(Condition::ToBeBuilt),
    }
}

fn furniture(word: &str) -> Option<Furniture> {
    match EnumFurniture::parse(word)? {
        EnumFurniture::Unknown => None,
        EnumFurniture::Unfurnished => Some(Furniture::Unfurnished),
        EnumFurniture::PartiallyFurnished => Some(Furniture::Partially),
        EnumFurniture::FullyFurnished => Some(Furniture::Fully),
    }
}
