//! Groups the properties on offer by place, class and period. A property counts once, however many adverts show it.
//!
//! A property belongs to every period in which it was online for at least one day. Prices are the latest known ones,
//! because the columns do not keep earlier prices.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::TimestampMillisecondType;

use crate::period::day_of;
use crate::place::{Level, PlaceKey};
use crate::quantiles::{SAMPLE_MIN, median};
use crate::request::MarketRequest;
use crate::sales::{Codes, GroupKey, Numbers, cell};
use toise_contract::enums::{
    EnumEnergyClassification as Energy, EnumPropertyClass, EnumPropertyOfferType, WireEnum,
};
use toise_contract::filter::{Clause, ClauseTest};
use toise_engine::cancellation::Interrupt;
use toise_engine::decoded::DecodedColumn;
use toise_engine::predicate::Predicate;
use toise_engine::{Engine, Error};
use toise_estimate::{HomeClass, clean};
use toise_listings::columns::properties;
use toise_listings::search::projection::view::{ProjectionView, SelectedRows};

/// Columns of the table of properties.
const DEPARTMENT: &str = "location_department";
const COMMUNE: &str = "location_insee_code";
const IRIS: &str = "location_iris_code";
const CLASS: &str = "type";
const OFFER: &str = "offer_type";
/// Accepted monthly rents, EUR per square metre.
pub(crate) const RENT_PER_M2: std::ops::RangeInclusive<f64> = 2.0..=200.0;

/// Groups of energy classes whose prices are compared.
#[derive(Clone, Copy)]
enum EnergyBand {
    AOrB,
    D,
    FOrG,
}

/// The properties that were online in a place, class and period.
#[derive(Debug, Default)]
pub struct AskingGroup {
    /// Properties for sale online on at least one day.
    pub for_sale: u64,
    /// Properties for sale online at the end.
    pub stock: u64,
    /// Properties to rent online on at least one day.
    pub to_rent: u64,
    /// Properties to rent online at the end.
    pub rent_stock: u64,
    /// Properties for sale whose price was cut.
    cuts: u64,
    prices: Vec<f64>,
    /// Prices by energy band.
    by_energy: [Vec<f64>; 3],
    /// Depths of price cuts, percent.
    depths: Vec<f64>,
    /// Days online of properties for sale that went offline in the period, counted from the first sighting.
    days: Vec<f64>,
    rents: Vec<f64>,
}

impl AskingGroup {
    fn merge(&mut self, other: Self) {
        self.for_sale += other.for_sale;
        self.stock += other.stock;
        self.to_rent += other.to_rent;
        self.rent_stock += other.rent_stock;
        self.cuts += other.cuts;
        self.prices.extend(other.prices);
        for (band, prices) in self.by_energy.iter_mut().zip(other.by_energy) {
            band.extend(prices);
        }
        self.depths.extend(other.depths);
        self.days.extend(other.days);
        self.rents.extend(other.rents);
    }

    /// Computes the figures; a figure from too few properties is `None`.
    pub fn figures(mut self) -> AskingFigures {
        let price_per_m2 = median(&mut self.prices);
        let rent_per_m2 = median(&mut self.rents);
        let is_enough = self.for_sale >= SAMPLE_MIN as u64;
        let [low, middle, high] = self.by_energy.each_mut().map(|prices| median(prices));
        let premium = |band: Option<f64>| Some(100.0 * (band? / middle? - 1.0));
        AskingFigures {
            for_sale: self.for_sale,
            stock: self.stock,
            to_rent: self.to_rent,
            rent_stock: self.rent_stock,
            price_per_m2,
            days_on_market: median(&mut self.days),
            price_cut_share: is_enough.then(|| 100.0 * self.cuts as f64 / self.for_sale as f64),
            price_cut: median(&mut self.depths),
            rent_per_m2,
            gross_yield: rent_per_m2
                .zip(price_per_m2)
                .map(|(rent, price)| 100.0 * 12.0 * rent / price),
            premium_ab: premium(low),
            premium_fg: premium(high),
        }
    }
}

/// The figures of a group. Prices in EUR per square metre, shares in percent; `None` if the sample is too small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskingFigures {
    /// Properties for sale online on at least one day.
    pub for_sale: u64,
    /// Properties for sale online at the end.
    pub stock: u64,
    /// Properties to rent online on at least one day.
    pub to_rent: u64,
    /// Properties to rent online at the end.
    pub rent_stock: u64,
    /// Median asking price.
    pub price_per_m2: Option<f64>,
    /// Median days online, of those that went offline.
    pub days_on_market: Option<f64>,
    /// Share of properties for sale whose price fell.
    pub price_cut_share: Option<f64>,
    /// Median fall of those prices.
    pub price_cut: Option<f64>,
    /// Median monthly rent.
    pub rent_per_m2: Option<f64>,
    /// A year's rent over the asking price.
    pub gross_yield: Option<f64>,
    /// Premium of the median asking price of energy classes A and B over class D.
    pub premium_ab: Option<f64>,
    /// Premium of the median asking price of energy classes F and G over class D.
    pub premium_fg: Option<f64>,
}

type Groups = HashMap<GroupKey, AskingGroup>;

/// Groups the properties that match a request; `today` is the last day for which the state is known. Uses CPU on the
/// calling thread and its rayon pool.
///
/// # Errors
/// A column cannot be read, or the query is cancelled.
pub fn groups(
    engine: &Engine,
    view: &ProjectionView,
    request: &MarketRequest,
    today: i32,
    interrupt: &Interrupt,
) -> Result<Groups, Error> {
    let mut filter = request.place_filter(DEPARTMENT, COMMUNE);
    let classes = [HomeClass::Flat, HomeClass::House]
        .into_iter()
        .filter(|class| request.includes(*class))
        .map(|class| class_of(class).as_str().to_owned());
    filter.push(Clause::new(CLASS, ClauseTest::OneOf(classes.collect())));
    let offers = [
        (request.has_sale, EnumPropertyOfferType::Buy),
        (request.has_rent, EnumPropertyOfferType::Rent),
    ];
    let offers = offers.into_iter().filter(|(is_wanted, _)| *is_wanted);
    let offers = offers.map(|(_, offer)| offer.as_str().to_owned()).collect();
    filter.push(Clause::new(OFFER, ClauseTest::OneOf(offers)));
    let predicate = Predicate::compile(properties(), &filter)?;
    let states = view.scan(
        engine,
        &predicate,
        interrupt,
        Groups::new,
        |groups, rows| read_rows(groups, &rows, request, today),
    )?;
    let mut groups = Groups::new();
    for (key, group) in states.into_iter().flatten() {
        groups.entry(key).or_default().merge(group);
    }
    Ok(groups)
}

pub(crate) fn class_of(class: HomeClass) -> EnumPropertyClass {
    match class {
        HomeClass::Flat => EnumPropertyClass::Flat,
        HomeClass::House => EnumPropertyClass::House,
    }
}

pub(crate) fn column(rows: &SelectedRows<'_>, name: &str) -> Result<Arc<DecodedColumn>, Error> {
    let found = properties().column(name);
    let (index, _) = found.ok_or_else(|| Error::UnknownTable(format!("properties.{name}")))?;
    rows.column(index)
}

/// The values of a property that a report needs.
struct Home {
    place: PlaceKey,
    class: HomeClass,
    is_rent: bool,
    first_day: i32,
    /// Day when the property went offline; `None` while it is online.
    end_day: Option<i32>,
    per_m2: Option<f64>,
    initial: Option<f64>,
    latest: Option<f64>,
    energy: Option<EnergyBand>,
}

fn read_rows(
    groups: &mut Groups,
    rows: &SelectedRows<'_>,
    request: &MarketRequest,
    today: i32,
) -> Result<(), Error> {
    let classes = Codes::new(&column(rows, CLASS)?.values, |name| {
        [HomeClass::Flat, HomeClass::House]
            .into_iter()
            .find(|class| class_of(*class).as_str() == name)
    });
    let rents = Codes::new(&column(rows, OFFER)?.values, |name| {
        Some(name == EnumPropertyOfferType::Rent.as_str())
    });
    let energies = column(rows, "habitation_climate_epc_energy")?;
    let energies = Codes::new(&energies.values, |name| band(Energy::parse(name)?));
    let (first, end) = (
        column(rows, "meta_first_seen_at")?,
        column(rows, "meta_totally_offline_at")?,
    );
    let per_m2 = column(rows, "price_latest_value_per_area")?;
    let (initial, latest) = (
        column(rows, "price_initial_value")?,
        column(rows, "price_latest_value")?,
    );
    let numbers = [&per_m2, &initial, &latest].map(|column| Numbers::new(&column.values));
    let places = Places::new(rows, request.level)?;
    rows.selected.for_each(|row| {
        let [per_m2, initial, latest] = numbers.each_ref().map(|numbers| numbers.of(row));
        let (Some(place), Some(class), Some(is_rent)) =
            (places.of(row), classes.of(row), rents.of(row))
        else {
            return;
        };
        let Some(first_day) = day(&first.values, row) else {
            return;
        };
        let home = Home {
            place,
            class,
            is_rent,
            first_day,
            end_day: day(&end.values, row),
            per_m2,
            initial,
            latest,
            energy: energies.of(row),
        };
        add(groups, &home, request, today);
    });
    Ok(())
}

fn band(energy: Energy) -> Option<EnergyBand> {
    match energy {
        Energy::A | Energy::B => Some(EnergyBand::AOrB),
        Energy::D => Some(EnergyBand::D),
        Energy::F | Energy::G => Some(EnergyBand::FOrG),
        _ => None,
    }
}

/// Returns the day of a timestamp in a column.
pub(crate) fn day(moments: &ArrayRef, row: usize) -> Option<i32> {
    let moments = moments.as_primitive_opt::<TimestampMillisecondType>()?;
    moments.is_valid(row).then(|| day_of(moments.value(row)))
}

/// Adds a property to the groups of all periods in which it was online.
fn add(groups: &mut Groups, home: &Home, request: &MarketRequest, today: i32) {
    let until = request.to.unwrap_or(today).min(today);
    let first = home.first_day.max(request.from.unwrap_or(i32::MIN));
    let last = home.end_day.unwrap_or(today).min(until);
    if first > last {
        return;
    }
    for period in request.by.number(first)..=request.by.number(last) {
        let after = request.by.days(period).map_or(i32::MAX, |(_, after)| after);
        let after = after.min(until.saturating_add(1));
        let group = groups
            .entry((home.place, home.class as u8, period))
            .or_default();
        let is_stock = home.end_day.is_none_or(|end| end >= after);
        if home.is_rent {
            group.to_rent += 1;
            group.rent_stock += u64::from(is_stock);
            let rent = home.per_m2.filter(|rent| RENT_PER_M2.contains(rent));
            group.rents.extend(rent);
            continue;
        }
        group.for_sale += 1;
        group.stock += u64::from(is_stock);
        if let Some(price) = home
            .per_m2
            .filter(|price| clean::PRICE_PER_M2.contains(price))
        {
            group.prices.push(price);
            if let Some(band) = home.energy {
                group.by_energy[band as usize].push(price);
            }
        }
        if let (Some(initial), Some(latest)) = (home.initial, home.latest)
            && latest < initial
        {
            group.cuts += 1;
            group.depths.push(100.0 * (1.0 - latest / initial));
        }
        if let Some(end) = home.end_day
            && end < after
        {
            group.days.push(f64::from(end - home.first_day));
        }
    }
}

/// The places of the rows.
enum Places {
    Coded(Codes<PlaceKey>),
    Cells([ArrayRef; 3]),
}

impl Places {
    fn new(rows: &SelectedRows<'_>, level: Level) -> Result<Self, Error> {
        let values = |name| Ok::<_, Error>(column(rows, name)?.values.clone());
        let coded = |values: ArrayRef| Self::Coded(Codes::new(&values, PlaceKey::from_code));
        Ok(match level {
            Level::Department => coded(values(DEPARTMENT)?),
            Level::Commune => coded(values(COMMUNE)?),
            Level::Iris => coded(values(IRIS)?),
            Level::Cell => Self::Cells([values(DEPARTMENT)?, values("lat")?, values("lon")?]),
        })
    }

    fn of(&self, row: usize) -> Option<PlaceKey> {
        match self {
            Self::Coded(codes) => codes.of(row),
            Self::Cells([departments, lat, lon]) => cell(departments, lat, lon, row),
        }
    }
}
