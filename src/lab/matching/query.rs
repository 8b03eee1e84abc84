//! Queries about a record, perturbed step by step.
//!
//! Beside the body, a query states what its targets would mean as filters ([`Query::fits`]): all candidates that pass
//! could have been meant. Errors are uniform within their bound, so candidates that fit are about equally likely.
//! Where a count is wrong by one the query fits the counts next to it and the count itself, because nobody who reads
//! the query knows of the mistake.

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};

use super::sample::Record;
use toise_contract::filter::{Clause, Filter, Test};
use toise_opendata::Dataset;
use toise_opendata::score::surface_column;

/// Metres in a degree of latitude.
const METRES_PER_DEGREE: f64 = 111_195.0;
/// What a bound is widened by so that rounding does not leave the record out.
const HAIR: f64 = 1e-6;

/// Consumption per square metre.
pub(super) const ENERGY: &str = "conso_5_usages_par_m2_ep";
/// Emissions per square metre.
pub(super) const EMISSIONS: &str = "emission_ges_5_usages_par_m2";
/// Floor of a flat.
pub(super) const FLOOR: &str = "numero_etage_appartement";

/// A query on its way to a match body.
pub(super) struct Query {
    dataset: Dataset,
    filters: Map<String, Value>,
    targets: Map<String, Value>,
    /// What the targets mean as filters.
    pub(super) fits: Filter,
}

impl Query {
    fn of(dataset: Dataset, record: &Record) -> Self {
        let schema = dataset.schema();
        let mut filters = Map::new();
        for column in [schema.commune, schema.class] {
            if let Some(text) = record.text(column) {
                filters.insert(column.into(), text.into());
            }
        }
        Self {
            dataset,
            filters,
            targets: Map::new(),
            fits: Filter::new(),
        }
    }

    pub(super) fn dpe(record: &Record) -> Self {
        Self::of(Dataset::Dpe, record)
    }

    pub(super) fn dvf(record: &Record) -> Self {
        Self::of(Dataset::Dvf, record)
    }

    /// The match body.
    pub(super) fn body(&self, size: usize) -> Value {
        json!({"filters": self.filters, "scoring_targets": self.targets, "size": size})
    }

    fn fits_between(&mut self, column: &'static str, min: f64, max: f64) {
        let test = Test::Number {
            min: Some(min),
            max: Some(max),
        };
        self.fits.push(Clause::new(column, test));
    }

    /// A surface wrong by at most a share, and the range that then holds the true one.
    pub(super) fn surface(
        mut self,
        record: &Record,
        share: f64,
        random: &mut StdRng,
    ) -> Option<Self> {
        let column = surface_column(self.dataset);
        let surface = record.number(column)?;
        let seen = surface * (1.0 + random.random_range(-share..=share));
        let range = json!({"min": seen / (1.0 + share) - HAIR, "max": seen / (1.0 - share) + HAIR});
        self.filters.insert(column.into(), range);
        Some(self)
    }

    /// A pin uniform in a disc around the record, instead of the commune.
    pub(super) fn place(
        mut self,
        record: &Record,
        metres: f64,
        random: &mut StdRng,
    ) -> Option<Self> {
        let (lat, lon) = (record.number("lat")?, record.number("lon")?);
        let distance = metres * random.random_range(0.0..1.0f64).sqrt();
        let angle = random.random_range(0.0..std::f64::consts::TAU);
        let pin_lat = lat + distance * angle.cos() / METRES_PER_DEGREE;
        let pin_lon = lon + distance * angle.sin() / METRES_PER_DEGREE / lat.to_radians().cos();
        self.filters.remove(self.dataset.schema().commune);
        // A hair more than the error: the plane is laid at the pin, not at the record.
        let radius = format!("{}m", metres * 1.002);
        self.filters.insert(
            "location".into(),
            json!({"lat": pin_lat, "lon": pin_lon, "distance": radius}),
        );
        Some(self)
    }

    /// The days of about a month around the sale.
    pub(super) fn month(mut self, record: &Record, random: &mut StdRng) -> Option<Self> {
        let column = self.dataset.schema().date;
        let day = record.number(column)? as i64 - random.random_range(0..30i64);
        let iso = |day: i64| {
            chrono::DateTime::from_timestamp(day * 86_400, 0)
                .map(|moment| moment.format("%Y-%m-%d").to_string())
        };
        let range = json!({"from": iso(day)?, "to": iso(day + 29)?});
        self.filters.insert(column.into(), range);
        Some(self)
    }

    /// A figure rounded to a step.
    pub(super) fn rounded(
        mut self,
        record: &Record,
        column: &'static str,
        step: f64,
    ) -> Option<Self> {
        let seen = (record.number(column)? / step).round() * step;
        self.targets.insert(column.into(), seen.into());
        // What is half a step above would have been rounded up.
        self.fits_between(column, seen - step / 2.0, seen + step / 2.0 * (1.0 - 1e-9));
        Some(self)
    }

    /// A figure wrong by at most a share.
    pub(super) fn off(
        mut self,
        record: &Record,
        column: &'static str,
        share: f64,
        random: &mut StdRng,
    ) -> Option<Self> {
        let seen = record.number(column)? * (1.0 + random.random_range(-share..=share));
        self.targets.insert(column.into(), seen.into());
        let (one, other) = (seen / (1.0 + share), seen / (1.0 - share));
        self.fits_between(column, one.min(other) - HAIR, one.max(other) + HAIR);
        Some(self)
    }

    pub(super) fn figures(self, record: &Record) -> Option<Self> {
        self.rounded(record, ENERGY, 1.0)?
            .rounded(record, EMISSIONS, 1.0)
    }

    fn text(mut self, record: &Record, column: &'static str) -> Self {
        if let Some(text) = record.text(column) {
            self.targets.insert(column.into(), text.into());
            self.fits
                .push(Clause::new(column, Test::OneOf(vec![text.into()])));
        }
        self
    }

    pub(super) fn classes(self, record: &Record) -> Option<Self> {
        Some(
            self.text(record, "etiquette_dpe")
                .text(record, "etiquette_ges"),
        )
    }

    /// A whole number where the record has one, wrong by `step`.
    fn count(mut self, record: &Record, column: &'static str, step: f64, least: f64) -> Self {
        if let Some(count) = record.number(column).filter(|count| count.fract() == 0.0) {
            let seen = (count + step).max(least);
            if seen <= 200.0 {
                self.targets.insert(column.into(), seen.into());
                self.fits_between(column, seen - step.abs(), seen + step.abs());
            }
        }
        self
    }

    /// Period, storeys and floor, the floor wrong by `step`.
    pub(super) fn building(self, record: &Record, step: f64) -> Option<Self> {
        Some(
            self.text(record, "periode_construction")
                .count(record, "nombre_niveau_immeuble", 0.0, 0.0)
                .count(record, "nombre_niveau_logement", 0.0, 0.0)
                .count(record, FLOOR, step, -10.0),
        )
    }

    /// The price to the thousand, below 100,000 EUR to the hundred.
    pub(super) fn price(self, record: &Record) -> Option<Self> {
        let price = record.number("price_eur")?;
        let step = if price >= 100_000.0 { 1_000.0 } else { 100.0 };
        self.rounded(record, "price_eur", step)
    }

    pub(super) fn rooms(self, record: &Record, step: f64) -> Option<Self> {
        record.number("main_rooms")?;
        Some(self.count(record, "main_rooms", step, 0.0))
    }
}
