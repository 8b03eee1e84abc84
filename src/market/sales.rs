//! Groups recorded sales by place, class and period, in one scan over decoded columns of `dvf`.
//!
//! A sale costs 40 bytes until it is grouped. Five million sales take about half a second on two cores, once the
//! columns are decoded.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{Date32Type, Float64Type, Int32Type};
use rayon::slice::ParallelSliceMut;

use crate::place::{Level, PlaceKey};
use crate::quantiles::quartiles;
use crate::request::MarketRequest;
use toise_contract::filter::{Clause, ClauseTest};
use toise_engine::cancellation::Interrupt;
use toise_engine::decoded::DecodedColumn;
use toise_engine::predicate::Predicate;
use toise_engine::scan::ScannedChunk;
use toise_engine::view::TableView;
use toise_engine::{Engine, Error};
use toise_estimate::{HomeClass, clean};
use toise_opendata::dvf;
use toise_opendata::dvf::place::find_former_communes;

/// Columns of the table of sales.
const DATE: &str = "transaction_date";
const KIND: &str = "property_type";
const PRICE: &str = "price_eur";
const PRICE_PER_M2: &str = "price_per_m2_living_eur";
const SURFACE: &str = "surface_m2";
const SHARE: &str = "mutation_share";
const OPEN_MARKET: &str = "is_open_market";
const DEPARTMENT: &str = "departement_code";
const COMMUNE: &str = "insee_code";
const IRIS: &str = "iris_code";

/// Place, class and period of a row of the report. Sorts like the rows.
pub type GroupKey = (PlaceKey, u8, i32);

/// A sale that is not grouped yet.
struct Sale {
    key: GroupKey,
    /// Price per square metre in EUR; NaN if the sale does not give a plausible price of a single home.
    price_per_m2: f64,
    /// The record's part of the price of its sale, EUR.
    value: f64,
    department: u8,
}

/// The recorded sales of a place, class and period.
#[derive(Clone, Debug, PartialEq)]
pub struct SalesGroup {
    /// Place, class and period.
    pub key: GroupKey,
    /// Rank of the department of its first sale; 0 if unknown.
    pub department: u8,
    /// Number of sales of homes of the class on the open market.
    pub sales: u64,
    /// Number of sales that give the price of a single home.
    pub priced: u64,
    /// Amount paid, EUR. A sale of several classes is divided among them, so it counts once in the total.
    pub volume: f64,
    /// Quartiles of the price per square metre, EUR; `None` for too few sales.
    pub price_per_m2: Option<[f64; 3]>,
}

/// Groups the sales that match a request, sorted by their keys. Uses CPU on the calling thread and its rayon pool.
///
/// # Errors
/// A column cannot be read, or the query is cancelled.
pub fn groups(
    engine: &Engine,
    view: &TableView,
    request: &MarketRequest,
    interrupt: &Interrupt,
) -> Result<Vec<SalesGroup>, Error> {
    let mut filter = find_former_communes(request.place_filter(DEPARTMENT, COMMUNE));
    filter.push(Clause::new(OPEN_MARKET, ClauseTest::Is(true)));
    let kinds = [HomeClass::Flat, HomeClass::House]
        .into_iter()
        .filter(|class| request.includes(*class))
        .map(|class| kind_of(class).to_owned());
    filter.push(Clause::new(KIND, ClauseTest::OneOf(kinds.collect())));
    let (from, to) = (request.from, request.to);
    filter.push(Clause::new(DATE, ClauseTest::Day { from, to }));
    let predicate = Predicate::compile(dvf::schema(), &filter)?;
    let read = engine.scan(view, &predicate, interrupt, Vec::new, |sales, chunk| {
        read_chunk(sales, chunk, request)
    })?;
    let mut sales: Vec<Sale> = read.into_iter().flatten().collect();
    // Sorts so that sums do not depend on the order in which threads read rows.
    sales.par_sort_unstable_by(|one, other| {
        (one.key.cmp(&other.key))
            .then(one.price_per_m2.total_cmp(&other.price_per_m2))
            .then(one.value.total_cmp(&other.value))
    });
    interrupt.check()?;
    let groups = sales.chunk_by(|one, other| one.key == other.key);
    Ok(groups.map(group).collect())
}

fn kind_of(class: HomeClass) -> &'static str {
    match class {
        HomeClass::Flat => dvf::PROPERTY_TYPES[0],
        HomeClass::House => dvf::PROPERTY_TYPES[1],
    }
}

fn group(sales: &[Sale]) -> SalesGroup {
    let priced = sales.iter().map(|sale| sale.price_per_m2);
    let mut priced: Vec<f64> = priced.filter(|price| price.is_finite()).collect();
    let first = &sales[0];
    SalesGroup {
        key: first.key,
        department: first.department,
        sales: sales.len() as u64,
        priced: priced.len() as u64,
        volume: sales.iter().map(|sale| sale.value).sum(),
        price_per_m2: quartiles(&mut priced),
    }
}

/// Returns a column of the chunk by name.
fn column(chunk: &ScannedChunk<'_>, name: &str) -> Result<std::sync::Arc<DecodedColumn>, Error> {
    let found = dvf::schema().column(name);
    let (index, _) = found.ok_or_else(|| Error::UnknownTable(format!("dvf.{name}")))?;
    chunk.column(index)
}

fn read_chunk(
    sales: &mut Vec<Sale>,
    chunk: &ScannedChunk<'_>,
    request: &MarketRequest,
) -> Result<(), Error> {
    let dates = column(chunk, DATE)?;
    let kinds = Codes::new(&column(chunk, KIND)?.values, |kind| {
        [HomeClass::Flat, HomeClass::House]
            .into_iter()
            .find(|class| kind_of(*class) == kind)
    });
    let (price, per_m2) = (column(chunk, PRICE)?, column(chunk, PRICE_PER_M2)?);
    let (surface, share) = (column(chunk, SURFACE)?, column(chunk, SHARE)?);
    let price = Numbers::new(&price.values);
    let (per_m2, surface) = (Numbers::new(&per_m2.values), Numbers::new(&surface.values));
    let share = Numbers::new(&share.values);
    let departments = column(chunk, DEPARTMENT)?;
    let ranks = Codes::new(&departments.values, |code| {
        Some(toise_geo::departments::rank(code))
    });
    let places = Places::new(chunk, request.level, &departments.values)?;
    let days = dates.values.as_primitive_opt::<Date32Type>();
    let mut periods = PeriodCache::default();
    chunk.selected.for_each(|row| {
        let Some(day) = days
            .filter(|days| days.is_valid(row))
            .map(|days| days.value(row))
        else {
            return;
        };
        let (Some(place), Some(class)) = (places.of(row), kinds.of(row)) else {
            return;
        };
        let value = price.of(row).unwrap_or_default();
        let price_per_m2 = match (per_m2.of(row), surface.of(row)) {
            (Some(per_m2), Some(surface)) if is_plausible_price(value, per_m2, surface) => per_m2,
            _ => f64::NAN,
        };
        sales.push(Sale {
            key: (place, class as u8, periods.number(request, day)),
            price_per_m2,
            // Rows that were imported before shares were recorded count with their whole price.
            value: value * share.of(row).unwrap_or(1.0),
            department: ranks.of(row).unwrap_or_default(),
        });
    });
    Ok(())
}

/// Returns whether a sale is within the bounds that the estimator uses for training.
fn is_plausible_price(price: f64, per_m2: f64, surface: f64) -> bool {
    price >= clean::PRICE_MIN
        && clean::SURFACE.contains(&surface)
        && clean::PRICE_PER_M2.contains(&per_m2)
}

/// Cache of the period of the last day: neighbouring rows often have the same day.
#[derive(Default)]
pub(crate) struct PeriodCache(Option<(i32, i32)>);

impl PeriodCache {
    pub fn number(&mut self, request: &MarketRequest, day: i32) -> i32 {
        match self.0 {
            Some((known, number)) if known == day => number,
            _ => {
                let number = request.by.number(day);
                self.0 = Some((day, number));
                number
            }
        }
    }
}

/// A column of numbers.
pub(crate) struct Numbers<'a>(Option<&'a Float64Array>);

impl<'a> Numbers<'a> {
    pub fn new(values: &'a ArrayRef) -> Self {
        Self(values.as_primitive_opt::<Float64Type>())
    }

    pub fn of(&self, row: usize) -> Option<f64> {
        let values = self.0?;
        values.is_valid(row).then(|| values.value(row))
    }
}

/// A column of categories; each category is converted once.
pub(crate) struct Codes<T> {
    values: ArrayRef,
    converted: Vec<Option<T>>,
}

impl<T: Copy> Codes<T> {
    pub fn new(values: &ArrayRef, convert: impl Fn(&str) -> Option<T>) -> Self {
        let texts = values
            .as_dictionary_opt::<Int32Type>()
            .and_then(|codes| codes.values().as_string_opt::<i32>());
        let converted = texts.map(|texts| {
            let texts = texts.iter();
            texts.map(|text| convert(text?)).collect()
        });
        Self {
            values: values.clone(),
            converted: converted.unwrap_or_default(),
        }
    }

    pub fn of(&self, row: usize) -> Option<T> {
        let codes = self.values.as_dictionary_opt::<Int32Type>()?;
        *self.converted.get(codes.key(row)?)?
    }
}

/// The places of the rows.
enum Places {
    Coded(Codes<PlaceKey>),
    Cells {
        lat: ArrayRef,
        lon: ArrayRef,
        departments: ArrayRef,
    },
}

impl Places {
    fn new(chunk: &ScannedChunk<'_>, level: Level, departments: &ArrayRef) -> Result<Self, Error> {
        let coded = |values: &ArrayRef| Self::Coded(Codes::new(values, PlaceKey::from_code));
        Ok(match level {
            Level::Department => coded(departments),
            Level::Commune => coded(&column(chunk, COMMUNE)?.values),
            Level::Iris => coded(&column(chunk, IRIS)?.values),
            Level::Cell => Self::Cells {
                lat: column(chunk, "lat")?.values.clone(),
                lon: column(chunk, "lon")?.values.clone(),
                departments: departments.clone(),
            },
        })
    }

    fn of(&self, row: usize) -> Option<PlaceKey> {
        match self {
            Self::Coded(codes) => codes.of(row),
            Self::Cells {
                lat,
                lon,
                departments,
            } => cell(departments, lat, lon, row),
        }
    }
}

/// Returns the cell of a row; `None` if it has no position.
pub(crate) fn cell(
    departments: &ArrayRef,
    lat: &ArrayRef,
    lon: &ArrayRef,
    row: usize,
) -> Option<PlaceKey> {
    let codes = departments.as_dictionary_opt::<Int32Type>()?;
    let department = codes
        .values()
        .as_string_opt::<i32>()?
        .value(codes.key(row)?);
    let (lat, lon) = (Numbers::new(lat).of(row)?, Numbers::new(lon).of(row)?);
    PlaceKey::from_position(department, lat, lon)
}
