//! Evaluates estimates in held-out places: the estimator is trained without a whole department or city and judged
//! there. This shows how good estimates far from all known sales are, and whether their intervals reflect that.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::ErrorMetrics;
use super::rolling;
use toise_estimate::answer::{Estimate, EstimateWarning};
use toise_estimate::clean::Funnel;
use toise_estimate::model::Error;
use toise_estimate::sale::SaleWithCommune;
use toise_geo::departments;

/// Sales of a place are judged if they are at most this many days before its last one, each valued as of its own day.
const JUDGED_DAYS: i32 = 365;
/// Minimum sales of a place that can be held out.
pub const PLACE_SALES_MIN: usize = 100;

/// The kind of place that is held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceKind {
    /// Departments.
    Department,
    /// Communes; Paris, Lyon and Marseille with all their arrondissements.
    City,
}

/// Errors in places that the estimator was not trained on.
#[derive(Clone, Debug, Serialize)]
pub struct LeaveOutReport {
    /// The kind of place that was held out.
    pub kind: PlaceKind,
    /// Errors in each place, the place with the most sales first.
    pub places: Vec<PlaceMetrics>,
    /// Errors over the sales of all places.
    pub all: ErrorMetrics,
    /// Mean over the places of the percentage of sales inside their interval; every place counts once.
    pub mean_coverage: f64,
}

/// Errors in one place that the estimator was not trained on.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceMetrics {
    /// Code of the department, or INSEE code of the commune.
    pub place: String,
    /// Percentage of estimates by warning; those without one are not listed.
    pub warnings: BTreeMap<&'static str, f64>,
    /// Errors in the place.
    #[serde(flatten)]
    pub quality: ErrorMetrics,
}

/// Returns the place a sale belongs to; `None` if it is unknown.
fn place(kind: PlaceKind, one: &SaleWithCommune) -> Option<String> {
    match kind {
        PlaceKind::Department => {
            let rank = usize::from(one.sale.department).checked_sub(1)?;
            departments::CODES.get(rank).map(|code| (*code).to_owned())
        }
        PlaceKind::City => {
            let code = std::str::from_utf8(&one.commune).ok()?;
            let city = match code.get(..3) {
                Some("751") => "75056",
                Some("132") => "13055",
                _ if code.starts_with("6938") => "69123",
                _ => code,
            };
            Some(city.to_owned())
        }
    }
}

/// Returns the places with the most sales, at most `most`, each with at least [`PLACE_SALES_MIN`] sales.
pub fn places(recorded: &[SaleWithCommune], kind: PlaceKind, most: usize) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for one in recorded {
        if let Some(place) = place(kind, one) {
            *counts.entry(place).or_default() += 1;
        }
    }
    let mut places: Vec<(String, usize)> = counts.into_iter().collect();
    places.retain(|(_, count)| *count >= PLACE_SALES_MIN);
    places.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    let places = places.into_iter().take(most);
    places.map(|(place, _)| place).collect()
}

/// Trains without each place in turn and judges the estimates there. Calls `step` after each of the steps of each
/// training ([`toise_estimate::train::STEPS`]).
///
/// # Errors
/// Too few sales remain without a place.
pub fn run(
    recorded: &[SaleWithCommune],
    kind: PlaceKind,
    places: &[String],
    step: &(dyn Fn() + Sync),
) -> Result<LeaveOutReport, Error> {
    let last_day = |sales: &[SaleWithCommune]| {
        let days = sales.iter().map(|one| one.sale.day);
        days.max().unwrap_or_default()
    };
    let end = last_day(recorded) + 1;
    let mut judged_everywhere: Vec<(Vec<SaleWithCommune>, Vec<Estimate>)> = Vec::new();
    let mut measured = Vec::with_capacity(places.len());
    for left_out in places {
        let (inside, known): (Vec<_>, Vec<_>) = recorded
            .iter()
            .cloned()
            .partition(|one| place(kind, one).as_ref() == Some(left_out));
        let first = known.iter().map(|one| one.sale.day).min();
        let begin = (last_day(&inside) - JUDGED_DAYS).max(first.unwrap_or_default());
        let inside = inside.into_iter().filter(|one| one.sale.day > begin);
        let judged = rolling::sample(inside.collect());
        let mut funnel = Funnel::default();
        let trained_at = String::new();
        let (_, estimates) = rolling::value(&known, &judged, end, trained_at, &mut funnel, step)?;
        measured.push(PlaceMetrics {
            place: left_out.clone(),
            warnings: warnings(&estimates),
            quality: ErrorMetrics::of_estimates(&judged.iter().zip(&estimates).collect::<Vec<_>>()),
        });
        judged_everywhere.push((judged, estimates));
    }
    let pairs: Vec<(&SaleWithCommune, &Estimate)> = judged_everywhere
        .iter()
        .flat_map(|(judged, estimates)| judged.iter().zip(estimates))
        .collect();
    let judged_places = measured.iter().filter(|one| one.quality.sales > 0);
    let covered: Vec<f64> = judged_places
        .filter_map(|one| one.quality.coverage)
        .collect();
    Ok(LeaveOutReport {
        kind,
        all: ErrorMetrics::of_estimates(&pairs),
        mean_coverage: covered.iter().sum::<f64>() / covered.len() as f64,
        places: measured,
    })
}

/// Returns the percentage of estimates by warning.
fn warnings(estimates: &[Estimate]) -> BTreeMap<&'static str, f64> {
    let mut shares: BTreeMap<&'static str, f64> = BTreeMap::new();
    for warning in estimates.iter().filter_map(|estimate| estimate.warning) {
        let share = shares.entry(EstimateWarning::as_str(warning)).or_default();
        *share += 100.0 / estimates.len() as f64;
    }
    shares
}
