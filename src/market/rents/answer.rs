//! Builds the answer to a request for a rent as JSON, the same for the command line and HTTP.

use serde_json::{Map, Value, json};

use super::interval::COVERAGE;
use super::model::Prediction;
use toise_estimate::request::LocatedHome;
use toise_geo::places::Place;

/// Months of a year.
const MONTHS: f64 = 12.0;
/// Share of rents that the interval of the map should contain.
const MAP_COVERAGE: f64 = 0.95;

toise_base::named! {
    /// Where the price of a yield comes from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum YieldPrice {
        /// From the request.
        Request = "request",
        /// From the estimator.
        Estimate = "estimate",
    }
}

/// The gross yield of a home: the rent of a year over the price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RentYield {
    /// Percent.
    pub percent: f64,
    /// From the lower end of the rent's interval.
    pub lower_percent: f64,
    /// From its upper end.
    pub upper_percent: f64,
    /// The price, EUR.
    pub price_eur: f64,
    /// Where it comes from.
    pub from: YieldPrice,
}

impl RentYield {
    /// Returns the yield of a rent at a price.
    pub fn new(rent: &Prediction, price_eur: f64, from: YieldPrice) -> Self {
        let percent = |rent_eur: f64| 100.0 * MONTHS * rent_eur / price_eur;
        Self {
            percent: percent(rent.rent_eur),
            lower_percent: percent(rent.lower_eur),
            upper_percent: percent(rent.upper_eur),
            price_eur,
            from,
        }
    }
}

/// An estimated rent.
#[derive(Clone, Debug)]
pub struct RentEstimate {
    /// The commune of the home.
    pub place: &'static Place,
    /// Homes to rent that the model learned from, in all places.
    pub adverts: usize,
    /// The gross yield; `None` without a price.
    pub rent_yield: Option<RentYield>,
    /// The rent.
    pub prediction: Prediction,
}

/// Rounds to hundredths.
fn cents(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl RentEstimate {
    /// Returns the `data` of the answer. Rents are whole euros; the contributions add up to the rent.
    pub fn json(&self, located: &LocatedHome) -> Value {
        let (found, surface_m2) = (&self.prediction, located.home.surface_m2);
        let rent = found.rent_eur.round();
        let mut metadata = json!({
            "charges": "as_advertised",
            "coverage": COVERAGE,
            "method": found.method.as_str(),
            "commune": {"inseeCode": self.place.code, "name": self.place.name},
            "adverts": self.adverts(),
            "contributions": self.contributions(rent),
        });
        if let Some(on_map) = &found.on_map {
            metadata["rent_map"] = json!({
                "rent_per_m2": cents(on_map.rent.rent),
                "lower": cents(on_map.rent.lower),
                "upper": cents(on_map.rent.upper),
                "coverage": MAP_COVERAGE,
                "kind": on_map.map.kind,
                "year": on_map.map.year,
                "adverts": on_map.rent.adverts.round() as i64,
                "level": on_map.rent.level,
                "licence": on_map.map.licence,
            });
        }
        if let Some(address) = &located.address {
            metadata["address"] = json!(address.summary());
        }
        if let Some(from) = located.position_from {
            metadata["position_from"] = json!(from);
        }
        let mut answer = json!({
            "rent": rent as i64,
            "rentPerArea": cents(found.rent_eur / surface_m2),
            "rentRange": {
                "lower": found.lower_eur.round() as i64,
                "upper": found.upper_eur.round() as i64,
            },
        });
        if let Some(found) = &self.rent_yield {
            answer["grossYield"] = json!({
                "percent": cents(found.percent),
                "lower": cents(found.lower_percent),
                "upper": cents(found.upper_percent),
                "price": found.price_eur.round() as i64,
                "price_from": found.from.as_str(),
            });
        }
        answer["metadata"] = metadata;
        answer
    }

    fn adverts(&self) -> Value {
        let level = &self.prediction.level;
        let mut adverts = json!({
            "all": self.adverts,
            "department": level.department_adverts,
            "commune": level.commune_adverts,
            "nearest": level.near.count,
        });
        if level.near.count > 0 {
            adverts["nearest_m"] = json!(level.near.nearest_m.round() as i64);
            adverts["median_m"] = json!(level.near.median_m.round() as i64);
            adverts["median_age_days"] = json!(level.near.median_age_days);
        }
        adverts
    }

    /// Returns the parts in whole euros; the first, which is the largest, absorbs the rounding.
    fn contributions(&self, rent: f64) -> Map<String, Value> {
        let mut parts: Vec<(&str, i64)> = self
            .prediction
            .parts
            .iter()
            .map(|part| (part.name, part.eur.round() as i64))
            .collect();
        let sum: i64 = parts.iter().map(|(_, eur)| eur).sum();
        if let Some((_, first)) = parts.first_mut() {
            *first += rent as i64 - sum;
        }
        let shown = parts
            .into_iter()
            .map(|(name, eur)| (name.to_owned(), json!(eur)));
        shown.collect()
    }
}
