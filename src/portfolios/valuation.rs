//! Values one home: geocodes it if it was not geocoded before, estimates its value, and matches its diagnostic and its
//! sale.
//!
//! Values that are not requested are taken from the previous state of the home. An estimate takes tens of microseconds,
//! a match about a hundred, a search for an address several hundred.

use std::sync::Arc;

use chrono::NaiveDate;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Result;
use crate::homes::HomeCells;
use crate::recent::{NEAR_MAX, RecentSales};
use crate::state::{ComparableSale, ValuedHome};
use toise_contract::Fault;
use toise_estimate::comparables::REACH_M;
use toise_estimate::valuer::Valuer;
use toise_estimate::{Detail, EstimateWarning, Home, HomeClass};
use toise_geocode::Geocoder;
use toise_geocode::resolve::Precision;
use toise_opendata::request::parse_match;
use toise_opendata::{Dataset, MatchAnswer, MatchConfidence, MatchRequest, OpenData};

/// Comparables of a home.
const DETAIL: Detail = Detail {
    comparables: 5,
    has_contributions: false,
};
/// Distance from a home within which its diagnostic and its sale are sought: positions of addresses differ by tens of
/// metres between sources.
const NEAR: &str = "50m";
/// Maximum difference between the surface of a home and that of its diagnostic or sale, as a share.
const SURFACE_SHARE: f64 = 0.03;

/// The parts that a valuation computes; the others are taken from the previous state.
///
/// A home that could not be located before is valued and matched in any case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub value: bool,
    pub sale: bool,
    pub diagnostic: bool,
}

/// A valuation of all homes of a portfolio; shared by threads.
pub(super) struct Valuation {
    pub wanted: Wanted,
    pub valuer: Arc<Valuer>,
    /// Sales that the model does not know.
    pub recent: Arc<RecentSales>,
    pub geocoder: Arc<Geocoder>,
    pub open_data: OpenData,
    pub today: NaiveDate,
    pub now_ms: i64,
    pub moved_percent: f64,
    /// Last day of the sales that the previous model knew.
    pub known_through: Option<String>,
}

/// The parts of a matched record that are kept.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MatchedRecord {
    etiquette_dpe: Option<String>,
    date_etablissement_dpe: Option<String>,
    transaction_date: Option<String>,
    price_eur: Option<f64>,
}

impl Valuation {
    /// Returns the state of a home; `former` is its state after the last valuation.
    ///
    /// # Errors
    /// A table cannot be read. A home that cannot be valued has an error in its state instead.
    pub(super) fn value(
        &self,
        cells: HomeCells<'_>,
        former: Option<&ValuedHome>,
    ) -> Result<ValuedHome> {
        let mut state = ValuedHome {
            key: cells.key.to_owned(),
            ..ValuedHome::default()
        };
        let mut comparables = Vec::new();
        if cells.fault.is_empty() {
            self.locate(&cells, former, &mut state);
        } else {
            state.error = Some(cells.fault.to_owned());
        }
        if state.error.is_none() {
            let position = state.latitude.zip(state.longitude);
            match cells.home(position, self.today) {
                Ok(home) => comparables = self.fill(&home, kept(former), &mut state)?,
                Err(fault) => state.error = Some(fault.to_string()),
            }
        }
        Ok(match former {
            Some(former) => {
                let known_through = self.known_through.as_deref();
                state.follow(
                    former,
                    &comparables,
                    self.moved_percent,
                    known_through,
                    self.now_ms,
                )
            }
            None => {
                state.report();
                state
            }
        })
    }

    /// Locates a home by its address, unless it has a position or was located before.
    fn locate(&self, cells: &HomeCells<'_>, former: Option<&ValuedHome>, state: &mut ValuedHome) {
        let Some(address) = cells.address() else {
            return;
        };
        if let Some(former) = former.filter(|former| former.latitude.is_some()) {
            (state.latitude, state.longitude) = (former.latitude, former.longitude);
            state.address_label.clone_from(&former.address_label);
            state
                .address_precision
                .clone_from(&former.address_precision);
            return;
        }
        match self.geocoder.locate(address) {
            Ok(found) => {
                (state.latitude, state.longitude) = (Some(found.lat), Some(found.lon));
                state.address_label = Some(found.label);
                state.address_precision = Some(found.precision.name().to_owned());
            }
            Err(reason) => state.error = Some(format!("address: {reason}")),
        }
    }

    /// Fills the state of a home that is located. Returns its comparables as far as they may be new, the latest first.
    fn fill(
        &self,
        home: &Home,
        former: Option<&ValuedHome>,
        state: &mut ValuedHome,
    ) -> Result<Vec<ComparableSale>> {
        let is_located = state
            .address_precision
            .as_deref()
            .is_none_or(|found| found == Precision::Address.name());
        (state.latitude, state.longitude) = (Some(home.latitude), Some(home.longitude));
        let of_model = match former.filter(|_| !self.wanted.value) {
            Some(former) => {
                keep_value(former, state);
                Vec::new()
            }
            None => self.estimate(home, state),
        };
        let mut comparables = self.recent_comparables(home, former, state);
        comparables.extend(of_model);
        if let Some(latest) = comparables.first() {
            state.set_comparable(latest);
        }
        match former.filter(|_| !self.wanted.diagnostic) {
            Some(former) => {
                state.dpe_id.clone_from(&former.dpe_id);
                state.dpe_class.clone_from(&former.dpe_class);
                state.dpe_date.clone_from(&former.dpe_date);
            }
            None if is_located => {
                if let Some((id, record)) = self.matched(Dataset::Dpe, home)? {
                    state.dpe_id = Some(id);
                    state.dpe_class = record.etiquette_dpe;
                    state.dpe_date = record.date_etablissement_dpe.map(day_text);
                }
            }
            None => {}
        }
        match former.filter(|_| !self.wanted.sale) {
            Some(former) => {
                state.sale_id.clone_from(&former.sale_id);
                state.sale_date.clone_from(&former.sale_date);
                state.sale_price = former.sale_price;
            }
            None if is_located => {
                if let Some((id, record)) = self.matched(Dataset::Dvf, home)? {
                    state.sale_id = Some(id);
                    state.sale_date = record.transaction_date.map(day_text);
                    state.sale_price = record.price_eur.map(|price| price.round() as i64);
                }
            }
            None => {}
        }
        Ok(comparables)
    }

    /// Estimates the value of a home. Returns the comparables of the estimate, the latest first.
    fn estimate(&self, home: &Home, state: &mut ValuedHome) -> Vec<ComparableSale> {
        let estimate = match self.valuer.value(home, DETAIL) {
            Ok(estimate) => estimate,
            Err(error) => {
                state.error = Some(error.to_string());
                return Vec::new();
            }
        };
        let is_town = state.address_precision.as_deref() == Some(Precision::Town.name());
        state.price = Some(estimate.price as i64);
        state.lower = Some(estimate.lower as i64);
        state.upper = Some(estimate.upper as i64);
        let confidence = if is_town {
            "LOW"
        } else {
            estimate.confidence.as_str()
        };
        state.confidence = Some(confidence.to_owned());
        state.warning = estimate
            .warning
            .map(|warning| EstimateWarning::as_str(warning).to_owned());
        // A sale within this distance would be one of the comparables.
        let farthest = estimate.comparables.get(DETAIL.comparables - 1);
        let reach_m = farthest.map_or(f64::from(REACH_M), |sale| sale.distance_m);
        state.comparable_reach_m = Some(reach_m.ceil() as i64);
        let sales = estimate.comparables.into_iter().map(|sale| ComparableSale {
            id: sale.id,
            date: sale.date.to_string(),
            price: sale.price.round() as i64,
            distance_m: sale.distance_m.round() as i64,
        });
        let mut comparables: Vec<ComparableSale> = sales.collect();
        comparables.sort_by(|one, other| other.date.cmp(&one.date));
        comparables
    }

    /// Returns the sales near a home that the model does not know, the latest first. They need no report again.
    fn recent_comparables(
        &self,
        home: &Home,
        former: Option<&ValuedHome>,
        state: &mut ValuedHome,
    ) -> Vec<ComparableSale> {
        let near = match state.comparable_reach_m {
            Some(reach_m) => self.recent.near(home, reach_m as f64),
            None => Vec::new(),
        };
        let mut known: Vec<&str> = near.iter().map(|sale| sale.id.as_str()).collect();
        let before = former.into_iter().flat_map(ValuedHome::known);
        for id in before {
            if known.len() < NEAR_MAX && !known.contains(&id) {
                known.push(id);
            }
        }
        state.known_comparables = (!known.is_empty()).then(|| known.join(","));
        near
    }

    /// Returns the record that a home most probably has, unless two are equally likely.
    fn matched(&self, dataset: Dataset, home: &Home) -> Result<Option<(String, MatchedRecord)>> {
        let request = match_request(dataset, home)?;
        let found: MatchAnswer = self.open_data.find_matches(dataset, &request)?;
        let Some(best) = found.candidates.into_iter().next() else {
            return Ok(None);
        };
        if found.ambiguous || best.confidence == MatchConfidence::Reject {
            return Ok(None);
        }
        let record = serde_json::from_slice(&best.record).unwrap_or_default();
        Ok(Some((best.id, record)))
    }
}

/// Returns the day of a date or a timestamp.
fn day_text(text: String) -> String {
    text.get(..10).map_or(text.clone(), str::to_owned)
}

/// Returns the state from which values are kept: none if the home could not be located then, so that it had none.
pub(super) fn kept(former: Option<&ValuedHome>) -> Option<&ValuedHome> {
    former.filter(|former| former.latitude.is_some())
}

fn keep_value(former: &ValuedHome, state: &mut ValuedHome) {
    (state.price, state.lower, state.upper) = (former.price, former.lower, former.upper);
    state.confidence.clone_from(&former.confidence);
    state.warning.clone_from(&former.warning);
    state.error.clone_from(&former.error);
    state.comparable_id.clone_from(&former.comparable_id);
    state.comparable_date.clone_from(&former.comparable_date);
    state.comparable_price = former.comparable_price;
    state.comparable_distance_m = former.comparable_distance_m;
    state.comparable_reach_m = former.comparable_reach_m;
}

/// Returns the request for the diagnostic or the sale of a home: near it, of its class and of its surface.
fn match_request(dataset: Dataset, home: &Home) -> std::result::Result<MatchRequest, Fault> {
    let place = json!({"lat": home.latitude, "lon": home.longitude, "distance": NEAR});
    let (least, most) = (
        home.surface_m2 * (1.0 - SURFACE_SHARE),
        home.surface_m2 * (1.0 + SURFACE_SHARE),
    );
    let surface = json!({"min": least, "max": most});
    let filters: Value = match dataset {
        Dataset::Dpe => {
            let kind = match home.class {
                HomeClass::Flat => "appartement",
                HomeClass::House => "maison",
            };
            json!({"location": place, "surface_habitable_logement": surface, "type_batiment": kind})
        }
        Dataset::Dvf => {
            let kind = match home.class {
                HomeClass::Flat => "Appartement",
                HomeClass::House => "Maison",
            };
            json!({"location": place, "surface_m2": surface, "property_type": kind})
        }
    };
    parse_match(dataset, &json!({"filters": filters, "size": 1}))
}
