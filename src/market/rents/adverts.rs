//! Reads the homes to rent: one for each property, even if several adverts show it. Homes without a commune or a
//! plausible rent and surface are skipped and counted.

use std::ops::RangeInclusive;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int32Type;

use crate::asking::{RENT_PER_M2, class_of, column, day};
use crate::sales::{Codes, Numbers};
use toise_base::splitmix::mix_into;
use toise_contract::enums::{EnumFurniture, EnumPropertyClass, EnumPropertyOfferType, WireEnum};
use toise_contract::filter::{Clause, ClauseTest};
use toise_engine::cancellation::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::{Engine, Error};
use toise_estimate::{Furniture, HomeClass};
use toise_geo::communes::record_place;
use toise_geo::contours::commune_at;
use toise_geo::places::Place;
use toise_listings::columns::properties;
use toise_listings::search::projection::view::{ProjectionView, SelectedRows};

/// Accepted surfaces, square metres.
const SURFACE_M2: RangeInclusive<f64> = 8.0..=500.0;
/// Accepted monthly rents, EUR.
const RENT_EUR: RangeInclusive<f64> = 80.0..=30_000.0;
/// Maximum days since a home was last on offer.
const AGE_DAYS_MAX: i32 = 3 * 365;

/// A home to rent.
#[derive(Clone, Copy, Debug)]
pub struct Rental {
    /// Latitude and longitude, degrees; `None` for an advert that only names its commune, whose position is therefore
    /// the commune's centre.
    pub position: Option<(f64, f64)>,
    /// Its current commune or arrondissement.
    pub place: &'static Place,
    /// Flat or house.
    pub class: HomeClass,
    /// Surface, square metres.
    pub surface_m2: f64,
    /// Main rooms.
    pub rooms: Option<f64>,
    /// Whether it is let furnished; `None` if unknown.
    pub is_furnished: Option<bool>,
    /// Monthly rent as advertised, EUR.
    pub rent_eur: f64,
    /// Days since it was last on offer; 0 if it still is.
    pub age_days: i32,
    /// Digest of place and surface, so that two records that may be the same home share it.
    pub key: u64,
}

/// The homes to rent in a view.
#[derive(Clone, Debug, Default)]
pub struct Rentals {
    /// Homes that an estimate can learn from, in the order of their keys.
    pub homes: Vec<Rental>,
    /// Number of homes without a commune, surface or plausible rent, or last on offer too long ago.
    pub left_out: u64,
}

/// Returns whether a home counts as let furnished.
pub fn is_furnished(furniture: Furniture) -> bool {
    furniture != Furniture::Unfurnished
}

/// Reads the homes to rent. Uses CPU on the calling thread and its rayon pool.
///
/// # Errors
/// A column cannot be read, or the query is cancelled.
pub fn read(
    engine: &Engine,
    view: &ProjectionView,
    today: i32,
    interrupt: &Interrupt,
) -> Result<Rentals, Error> {
    let classes = [EnumPropertyClass::Flat, EnumPropertyClass::House];
    let one_of =
        |name: &'static str, values: Vec<String>| Clause::new(name, ClauseTest::OneOf(values));
    let filter = vec![
        one_of(
            "type",
            classes.map(|class| class.as_str().to_owned()).to_vec(),
        ),
        one_of(
            "offer_type",
            vec![EnumPropertyOfferType::Rent.as_str().to_owned()],
        ),
    ];
    let predicate = Predicate::compile(properties(), &filter)?;
    let states = view.scan(
        engine,
        &predicate,
        interrupt,
        Rentals::default,
        |rentals, rows| read_rows(rentals, &rows, today),
    )?;
    let mut all = Rentals::default();
    for part in states {
        all.left_out += part.left_out;
        all.homes.extend(part.homes);
    }
    // The order of files and batches must not affect sums and folds.
    all.homes
        .sort_unstable_by_key(|home| (home.key, home.rent_eur.to_bits(), home.age_days));
    Ok(all)
}

fn read_rows(rentals: &mut Rentals, rows: &SelectedRows<'_>, today: i32) -> Result<(), Error> {
    let values = |name| Ok::<_, Error>(column(rows, name)?.values.clone());
    let classes = Codes::new(&values("type")?, |name| {
        let known = [HomeClass::Flat, HomeClass::House];
        known
            .into_iter()
            .find(|class| class_of(*class).as_str() == name)
    });
    let places = Codes::new(&values("location_insee_code")?, record_place);
    let furniture =
        Codes::new(
            &values("habitation_features_furniture")?,
            |name| match EnumFurniture::parse(name)? {
                EnumFurniture::Unknown => None,
                EnumFurniture::Unfurnished => Some(false),
                EnumFurniture::PartiallyFurnished | EnumFurniture::FullyFurnished => Some(true),
            },
        );
    let numbers = [
        values("price_latest_value")?,
        values("habitation_surface_total")?,
        values("habitation_surface_living_space")?,
        values("lat")?,
        values("lon")?,
    ];
    let numbers = numbers.each_ref().map(Numbers::new);
    let rooms = values("habitation_room_count")?;
    let (seen, end) = (
        values("meta_last_seen_at")?,
        values("meta_totally_offline_at")?,
    );
    rows.selected.for_each(|row| {
        let [rent, total, living, lat, lon] = numbers.each_ref().map(|numbers| numbers.of(row));
        let position = lat.zip(lon);
        let place = places.of(row).or_else(|| {
            let (lat, lon) = position?;
            record_place(commune_at(lat, lon)?)
        });
        let rental = || {
            let (place, class) = (place?, classes.of(row)?);
            let position = position.filter(|position| !place.is_centre(*position));
            let surface_m2 = total
                .or(living)
                .filter(|surface| SURFACE_M2.contains(surface))?;
            let rent_eur = rent.filter(|rent| RENT_EUR.contains(rent))?;
            let last_day = day(&end, row).map_or(today, |end| {
                day(&seen, row).map_or(end, |seen| seen.min(end))
            });
            let age_days = (today - last_day).max(0);
            let is_plausible = RENT_PER_M2.contains(&(rent_eur / surface_m2));
            (is_plausible && age_days <= AGE_DAYS_MAX).then(|| Rental {
                position,
                place,
                class,
                surface_m2,
                rooms: integer(&rooms, row).filter(|rooms| *rooms > 0.0),
                is_furnished: furniture.of(row),
                rent_eur,
                age_days,
                key: key(place, position, surface_m2),
            })
        };
        match rental() {
            Some(rental) => rentals.homes.push(rental),
            None => rentals.left_out += 1,
        }
    });
    Ok(())
}

/// Returns the value of an integer column in a row; `None` if it is null.
fn integer(numbers: &ArrayRef, row: usize) -> Option<f64> {
    let numbers = numbers.as_primitive_opt::<Int32Type>()?;
    numbers.is_valid(row).then(|| f64::from(numbers.value(row)))
}

/// Returns [`Rental::key`].
fn key(place: &Place, position: Option<(f64, f64)>, surface_m2: f64) -> u64 {
    let (lat, lon) = position.unwrap_or_default();
    let code = place
        .code
        .bytes()
        .fold(0, |mixed, byte| mix_into(mixed, u64::from(byte)));
    let numbers = [lat, lon, surface_m2].map(f64::to_bits);
    numbers.into_iter().fold(code, mix_into)
}
