//! Evaluates estimates on sales later than all sales the model was trained on: errors, bias and coverage by segment,
//! compared with three baselines on the same sales. A paired bootstrap measures the difference from the best baseline.
//!
//! [`rolling`] does this from many origins and reports errors by horizon; [`leave_out`] evaluates places that were held
//! out of training.

#![forbid(unsafe_code)]

pub mod baselines;
#[cfg(feature = "plots")]
mod chart;
#[cfg(feature = "plots")]
pub mod font;
pub mod leave_out;
mod metrics;
pub mod report;
pub mod rolling;

use rayon::prelude::*;
use serde::Serialize;

use self::baselines::median;
pub use self::metrics::{ErrorMetrics, SegmentMetrics};
use self::rolling::{HorizonReport, OriginRun};
use toise_base::splitmix::SplitMix64;
use toise_estimate::clean::Funnel;
use toise_estimate::model::{self, Error, ModelMetadata};
use toise_estimate::sale::{HomeSale, SaleWithCommune};

/// Number of bootstrap draws.
const DRAWS: usize = 1_000;
/// Share of draws inside the reported interval.
const CONFIDENCE: f64 = 0.95;

/// The report card of a model.
#[derive(Clone, Debug, Serialize)]
pub struct ReportCard {
    /// Last day whose sales the model could use: `YYYY-MM-DD`.
    pub train_until: String,
    /// First and last day of the evaluated sales: `YYYY-MM-DD`.
    pub test: [String; 2],
    /// The evaluated model.
    pub model: ModelMetadata,
    /// Rules that lead from all records to the training rows, with the number of sales that each one keeps.
    pub funnel: Funnel,
    /// Quality of the estimator on all sales.
    pub all: ErrorMetrics,
    /// Name and quality of each baseline on the same sales.
    pub baselines: Vec<(String, ErrorMetrics)>,
    /// Median error of the estimator minus the median error of the best baseline.
    pub difference: Difference,
    /// Quality by class, department, price, surface and quarter.
    pub segments: Vec<SegmentMetrics>,
    /// Quality by months after the last known sale: over many origins if those were evaluated, otherwise for this one.
    pub horizon: HorizonReport,
    /// Target coverage of the interval, 0 to 1.
    pub coverage: f64,
    /// Whether coverage is within the allowed deviation of the target in every segment of at least 300 sales.
    pub is_covered: bool,
}

/// A difference of median absolute percentage errors, in percentage points.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Name of the baseline.
    pub against: String,
    /// The difference; below zero the estimator is better.
    pub points: f64,
    /// Bounds of the paired bootstrap interval.
    pub interval: [f64; 2],
}

/// Trains on the sales known before `end` and evaluates on the sales in the days of `test`.
///
/// # Errors
/// There are too few sales.
pub fn evaluate(
    recorded: Vec<SaleWithCommune>,
    mut funnel: Funnel,
    end: i32,
    test: std::ops::RangeInclusive<i32>,
    trained_at: String,
    step: &(dyn Fn() + Sync),
) -> Result<(ReportCard, model::Model), Error> {
    let (known, judged) = split(recorded, end, &test);
    funnel.note("sold before those that are judged", known.len());
    if judged.is_empty() {
        return Err(Error::NothingToJudge {
            from: model::date(*test.start()).to_string(),
            to: model::date(*test.end()).to_string(),
        });
    }
    let (model, estimates) = rolling::value(&known, &judged, end, trained_at, &mut funnel, step)?;
    let prices: Vec<f64> = estimates.iter().map(|estimate| estimate.price).collect();
    let pairs: Vec<_> = judged.iter().zip(&estimates).collect();
    let all = ErrorMetrics::of_estimates(&pairs);
    let baselines = baselines::all(&known, &judged, end)?;
    let qualities: Vec<(String, ErrorMetrics)> = baselines
        .iter()
        .map(|baseline| {
            let paid = judged.iter().map(|one| one.sale.price);
            let pairs: Vec<_> = paid.zip(baseline.prices.iter().copied()).collect();
            (baseline.name.to_owned(), ErrorMetrics::of_prices(&pairs))
        })
        .collect();
    let best = (0..baselines.len())
        .min_by(|one, other| {
            qualities[*one]
                .1
                .mdape
                .total_cmp(&qualities[*other].1.mdape)
        })
        .unwrap_or_default();
    let difference = difference(&judged, &prices, &baselines[best]);
    let segments = metrics::segments(&judged, &estimates);
    let report = ReportCard {
        train_until: model::date(end - 1).to_string(),
        test: [*test.start(), *test.end()].map(|day| model::date(day).to_string()),
        model: model.metadata().clone(),
        funnel,
        is_covered: segments.iter().all(|segment| segment.is_covered),
        all,
        baselines: qualities,
        difference,
        segments,
        horizon: HorizonReport::new(&[OriginRun {
            origin: model::date(end),
            judged,
            estimates,
        }]),
        coverage: model.metadata().coverage,
    };
    Ok((report, model))
}

/// Splits sales into those before `end` and those in the days of `test`, which are sorted by day.
fn split(
    recorded: Vec<SaleWithCommune>,
    end: i32,
    test: &std::ops::RangeInclusive<i32>,
) -> (Vec<SaleWithCommune>, Vec<SaleWithCommune>) {
    let (mut known, mut judged) = (Vec::new(), Vec::new());
    for one in recorded {
        if one.sale.day < end {
            known.push(one);
        } else if test.contains(&one.sale.day) {
            judged.push(one);
        }
    }
    judged.sort_unstable_by_key(|one: &SaleWithCommune| (one.sale.day, one.sale.id));
    (known, judged)
}

/// Returns the absolute relative error of an estimate.
fn relative_error(sale: &HomeSale, price: f64) -> f64 {
    (price / sale.price - 1.0).abs()
}

/// Computes the difference of the two medians, and its interval by resampling the sales with replacement.
fn difference(
    judged: &[SaleWithCommune],
    prices: &[f64],
    baseline: &baselines::Baseline,
) -> Difference {
    let errors: Vec<(f64, f64)> = judged
        .iter()
        .zip(prices.iter().zip(&baseline.prices))
        .map(|(one, (own, simple))| {
            (
                relative_error(&one.sale, *own),
                relative_error(&one.sale, *simple),
            )
        })
        .filter(|(own, simple)| own.is_finite() && simple.is_finite())
        .collect();
    let gap = |drawn: &mut dyn Iterator<Item = usize>| {
        let (own, simple): (Vec<f64>, Vec<f64>) = drawn.map(|index| errors[index]).unzip();
        100.0 * (median(own) - median(simple))
    };
    let mut draws: Vec<f64> = (0..DRAWS)
        .into_par_iter()
        .map(|draw| {
            let mut random = SplitMix64::new(draw as u64);
            gap(&mut (0..errors.len()).map(|_| random.below(errors.len())))
        })
        .collect();
    draws.sort_unstable_by(f64::total_cmp);
    let out = (1.0 - CONFIDENCE) / 2.0;
    let at = |share: f64| draws[((DRAWS - 1) as f64 * share).round() as usize];
    Difference {
        against: baseline.name.to_owned(),
        points: gap(&mut (0..errors.len())),
        interval: [at(out), at(1.0 - out)],
    }
}

#[cfg(test)]
mod tests;
