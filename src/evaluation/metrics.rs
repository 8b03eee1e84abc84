//! Measures the errors of estimates over all sales and by segment.
//!
//! Segments are formed from what is known before the sale: place, class, surface, estimated price, season. The sale
//! price is never used, because segments by it would sort errors by their sign.

use std::collections::BTreeMap;

use chrono::Datelike;
use serde::Serialize;

use super::baselines::median;
use toise_estimate::answer::Estimate;
use toise_estimate::home::HomeClass;
use toise_estimate::interval::{COVERAGE, SURFACE_BANDS};
use toise_estimate::model;
use toise_estimate::sale::SaleWithCommune;
use toise_geo::departments;

/// Minimum sales in a segment for its coverage to be evaluated.
pub const SEGMENT_MIN: usize = 300;
/// Deviation of coverage allowed in any segment, percentage points.
const ALLOWED_POINTS: f64 = 1.0;
/// Additional deviation allowed, in standard errors of the coverage.
const ALLOWED_ERRORS: f64 = 2.6;
/// Number of bands of estimated price.
const DECILES: usize = 10;

/// Quality of estimates on a set of sales.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorMetrics {
    /// Number of sales.
    pub sales: usize,
    /// Median absolute percentage error.
    pub mdape: f64,
    /// Percentage of sales estimated within 10 % of their price.
    pub within_10: f64,
    /// Percentage of sales estimated within 20 % of their price.
    pub within_20: f64,
    /// Median of estimate over price, minus one, in percent.
    pub bias: f64,
    /// Percentage of sales inside their interval; only for the estimator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// Median width of the interval in percent of the estimate; only for the estimator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
}

/// Quality of estimates in one segment.
#[derive(Clone, Debug, Serialize)]
pub struct SegmentMetrics {
    /// Characteristic that forms the segment.
    pub factor: &'static str,
    /// Name of the segment.
    pub name: String,
    /// Quality of the estimates in it.
    #[serde(flatten)]
    pub quality: ErrorMetrics,
    /// Allowed deviation of its coverage, percentage points.
    pub allowed: f64,
    /// Whether its coverage is within the allowed deviation; true if there are too few sales to judge.
    pub is_covered: bool,
}

impl ErrorMetrics {
    /// Measures estimated prices; a pair is the price paid and the estimate.
    pub fn of_prices(pairs: &[(f64, f64)]) -> Self {
        let ratios = pairs.iter().map(|(paid, estimated)| estimated / paid - 1.0);
        let ratios: Vec<f64> = ratios.collect();
        let errors: Vec<f64> = ratios.iter().map(|ratio| ratio.abs()).collect();
        let within = |limit: f64| {
            let count = errors.iter().filter(|error| **error <= limit).count();
            100.0 * count as f64 / errors.len() as f64
        };
        Self {
            sales: pairs.len(),
            within_10: within(0.1),
            within_20: within(0.2),
            bias: 100.0 * median(ratios),
            mdape: 100.0 * median(errors),
            coverage: None,
            width: None,
        }
    }

    /// Measures estimates and their intervals; a pair is a sale and its estimate.
    pub fn of_estimates(pairs: &[(&SaleWithCommune, &Estimate)]) -> Self {
        let prices = pairs
            .iter()
            .map(|(one, estimate)| (one.sale.price, estimate.price));
        let covered = pairs.iter().filter(|(one, estimate)| {
            estimate.lower <= one.sale.price && one.sale.price <= estimate.upper
        });
        let widths = pairs
            .iter()
            .map(|(_, estimate)| (estimate.upper - estimate.lower) / estimate.price);
        Self {
            coverage: Some(100.0 * covered.count() as f64 / pairs.len() as f64),
            width: Some(100.0 * median(widths.collect())),
            ..Self::of_prices(&prices.collect::<Vec<_>>())
        }
    }
}

/// Measures all segments, in a fixed order.
pub fn segments(judged: &[SaleWithCommune], estimates: &[Estimate]) -> Vec<SegmentMetrics> {
    let prices: Vec<f64> = estimates.iter().map(|estimate| estimate.price).collect();
    let mut sorted = prices.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut rows: BTreeMap<(&'static str, String), Vec<usize>> = BTreeMap::new();
    for (row, one) in judged.iter().enumerate() {
        let sale = &one.sale;
        let department = usize::from(sale.department).checked_sub(1);
        let department = department.and_then(|rank| departments::CODES.get(rank).copied());
        let decile = sorted.partition_point(|price| *price < prices[row]) * DECILES / sorted.len();
        let date = model::date(sale.day);
        let names = [
            ("class", class_name(sale.class).to_owned()),
            ("department", department.unwrap_or("?").to_owned()),
            (
                "commune",
                String::from_utf8_lossy(&one.commune).into_owned(),
            ),
            ("estimate", format!("decile {:>2}", decile + 1)),
            ("surface", surface_name(f64::from(sale.surface_m2))),
            (
                "quarter",
                format!("{} Q{}", date.year(), date.month0() / 3 + 1),
            ),
        ];
        for name in names {
            rows.entry(name).or_default().push(row);
        }
    }
    let segments = rows.into_iter().map(|((factor, name), rows)| {
        let pairs = rows.iter().map(|row| (&judged[*row], &estimates[*row]));
        let quality = ErrorMetrics::of_estimates(&pairs.collect::<Vec<_>>());
        let chance = 100.0 * (COVERAGE * (1.0 - COVERAGE) / rows.len() as f64).sqrt();
        let allowed = ALLOWED_POINTS + ALLOWED_ERRORS * chance;
        let missed = quality
            .coverage
            .map_or(0.0, |covered| (covered - 100.0 * COVERAGE).abs());
        SegmentMetrics {
            factor,
            name,
            allowed,
            is_covered: rows.len() < SEGMENT_MIN || missed <= allowed,
            quality,
        }
    });
    // Communes with few sales are omitted to keep the report short.
    segments
        .filter(|segment| segment.factor != "commune" || segment.quality.sales >= SEGMENT_MIN)
        .collect()
}

fn surface_name(surface_m2: f64) -> String {
    let band = SURFACE_BANDS.partition_point(|end| *end <= surface_m2);
    let from = band
        .checked_sub(1)
        .map_or(0.0, |before| SURFACE_BANDS[before]);
    match SURFACE_BANDS.get(band) {
        Some(to) => format!("{from:>3} to {to} m2"),
        None => format!("{from:>3} m2 and more"),
    }
}

/// Returns the name of a class in a report.
fn class_name(class: HomeClass) -> &'static str {
    match class {
        HomeClass::Flat => "flats",
        HomeClass::House => "houses",
    }
}
