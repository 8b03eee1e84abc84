//! Builds queries about a record, perturbed step by step.
//!
//! In addition to the body, a query records its targets as filters ([`EvaluationQuery::fits`]): every candidate that
//! passes them could be the target record. Errors are uniform within their bound, so fitting candidates are about
//! equally likely. If a count is wrong by one, the filter accepts that count and its neighbours, because a reader of
//! the query cannot know of the error.

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};

use super::sample::SampledRecord;
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_opendata::Dataset;
use toise_opendata::score::surface_column;

/// Metres per degree of latitude.
const METRES_PER_DEGREE: f64 = 111_195.0;
/// Margin added to bounds so that rounding does not exclude the record.
const HAIR: f64 = 1e-6;

/// Column of primary energy per square metre.
pub(super) const ENERGY: &str = "conso_5_usages_par_m2_ep";
/// Column of emissions per square metre.
pub(super) const EMISSIONS: &str = "emission_ges_5_usages_par_m2";
/// Column of the floor of a flat.
const FLOOR: &str = "numero_etage_appartement";

/// A query under construction.
pub(super) struct EvaluationQuery<'a> {
    dataset: Dataset,
    record: &'a SampledRecord,
    random: StdRng,
    filters: Map<String, Value>,
    targets: Map<String, Value>,
    /// The targets expressed as filters.
    pub(super) fits: Filter,
}

impl<'a> EvaluationQuery<'a> {
    /// Creates a query for the commune and the class of a record.
    pub(super) fn new(dataset: Dataset, record: &'a SampledRecord, random: StdRng) -> Self {
        let schema = dataset.schema();
        let mut filters = Map::new();
        for column in [schema.commune, schema.class] {
            if let Some(text) = record.text(column) {
                filters.insert(column.into(), text.into());
            }
        }
        Self {
            dataset,
            record,
            random,
            filters,
            targets: Map::new(),
            fits: Filter::new(),
        }
    }

    /// Returns 1 or -1.
    pub(super) fn step(&mut self) -> f64 {
        if self.random.random_bool(0.5) {
            1.0
        } else {
            -1.0
        }
    }

    /// Returns 1 or -1; `None` if the record has no floor.
    pub(super) fn floor_step(&mut self) -> Option<f64> {
        self.record.number(FLOOR)?;
        Some(self.step())
    }

    /// The match body, requesting `size` candidates.
    pub(super) fn body(&self, size: usize) -> Value {
        json!({"filters": self.filters, "scoring_targets": self.targets, "size": size})
    }

    fn fits_between(&mut self, column: &'static str, min: f64, max: f64) {
        let test = ClauseTest::Number {
            min: Some(min),
            max: Some(max),
        };
        self.fits.push(Clause::new(column, test));
    }

    /// Adds a surface with a relative error of at most `share`, as a range that contains the true one.
    pub(super) fn surface(mut self, share: f64) -> Option<Self> {
        let column = surface_column(self.dataset);
        let surface = self.record.number(column)?;
        let seen = surface * (1.0 + self.random.random_range(-share..=share));
        let range = json!({"min": seen / (1.0 + share) - HAIR, "max": seen / (1.0 - share) + HAIR});
        self.filters.insert(column.into(), range);
        Some(self)
    }

    /// Replaces the commune by a pin, uniform in a disc of radius `metres` around the record.
    pub(super) fn place(mut self, metres: f64) -> Option<Self> {
        let (lat, lon) = (self.record.number("lat")?, self.record.number("lon")?);
        let distance = metres * self.random.random_range(0.0..1.0f64).sqrt();
        let angle = self.random.random_range(0.0..std::f64::consts::TAU);
        let pin_lat = lat + distance * angle.cos() / METRES_PER_DEGREE;
        let pin_lon = lon + distance * angle.sin() / METRES_PER_DEGREE / lat.to_radians().cos();
        self.filters.remove(self.dataset.schema().commune);
        // Slightly more than the error, because the plane is tangent at the pin and not at the record.
        let radius = format!("{}m", metres * 1.002);
        self.filters.insert(
            "location".into(),
            json!({"lat": pin_lat, "lon": pin_lon, "distance": radius}),
        );
        Some(self)
    }

    /// Adds a period of about a month around the sale.
    pub(super) fn month(mut self) -> Option<Self> {
        let column = self.dataset.schema().date;
        let day = self.record.number(column)? as i64 - self.random.random_range(0..30i64);
        let iso = |day: i64| {
            chrono::DateTime::from_timestamp(day * 86_400, 0)
                .map(|moment| moment.format("%Y-%m-%d").to_string())
        };
        let range = json!({"from": iso(day)?, "to": iso(day + 29)?});
        self.filters.insert(column.into(), range);
        Some(self)
    }

    /// Adds a value rounded to a multiple of `step`.
    pub(super) fn rounded(mut self, column: &'static str, step: f64) -> Option<Self> {
        let seen = (self.record.number(column)? / step).round() * step;
        self.targets.insert(column.into(), seen.into());
        // A value half a step above would have been rounded up.
        self.fits_between(column, seen - step / 2.0, seen + step / 2.0 * (1.0 - 1e-9));
        Some(self)
    }

    /// Adds a value with a relative error of at most `share`.
    pub(super) fn off(mut self, column: &'static str, share: f64) -> Option<Self> {
        let seen = self.record.number(column)? * (1.0 + self.random.random_range(-share..=share));
        self.targets.insert(column.into(), seen.into());
        let (one, other) = (seen / (1.0 + share), seen / (1.0 - share));
        self.fits_between(column, one.min(other) - HAIR, one.max(other) + HAIR);
        Some(self)
    }

    pub(super) fn figures(self) -> Option<Self> {
        self.rounded(ENERGY, 1.0)?.rounded(EMISSIONS, 1.0)
    }

    fn text(mut self, column: &'static str) -> Self {
        if let Some(text) = self.record.text(column) {
            self.targets.insert(column.into(), text.into());
            self.fits
                .push(Clause::new(column, ClauseTest::OneOf(vec![text.into()])));
        }
        self
    }

    pub(super) fn classes(self) -> Option<Self> {
        Some(self.text("etiquette_dpe").text("etiquette_ges"))
    }

    /// Adds a count, if the record has one, wrong by `step`.
    fn count(mut self, column: &'static str, step: f64, least: f64) -> Self {
        if let Some(count) = self
            .record
            .number(column)
            .filter(|count| count.fract() == 0.0)
        {
            let seen = (count + step).max(least);
            if seen <= 200.0 {
                self.targets.insert(column.into(), seen.into());
                self.fits_between(column, seen - step.abs(), seen + step.abs());
            }
        }
        self
    }

    /// Adds construction period, storeys and floor, the floor wrong by `step`.
    pub(super) fn building(self, step: f64) -> Option<Self> {
        Some(
            self.text("periode_construction")
                .count("nombre_niveau_immeuble", 0.0, 0.0)
                .count("nombre_niveau_logement", 0.0, 0.0)
                .count(FLOOR, step, -10.0),
        )
    }

    /// Adds the price rounded to the thousand, or to the hundred below 100,000 EUR.
    pub(super) fn price(self) -> Option<Self> {
        let price = self.record.number("price_eur")?;
        let step = if price >= 100_000.0 { 1_000.0 } else { 100.0 };
        self.rounded("price_eur", step)
    }

    pub(super) fn rooms(self, step: f64) -> Option<Self> {
        self.record.number("main_rooms")?;
        Some(self.count("main_rooms", step, 0.0))
    }
}
