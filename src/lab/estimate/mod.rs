//! How good estimates are, on sales later than any the model was trained on: errors, bias, coverage of the interval, by
//! segment, against three simple means on the same sales, with a paired bootstrap of the difference to the best of
//! them.

pub mod baselines;
mod judged;
mod picture;
pub mod report;

use rayon::prelude::*;
use serde::Serialize;

use self::baselines::median;
pub use self::judged::{Quality, Segment};
use toise_base::splitmix::SplitMix64;
use toise_estimate::answer::Detail;
use toise_estimate::clean::Funnel;
use toise_estimate::home::{Class, Home};
use toise_estimate::model::{self, Error, Metadata};
use toise_estimate::sale::{Recorded, Sale};
use toise_estimate::train;

/// Draws of the bootstrap.
const DRAWS: usize = 1_000;
/// Share of draws its interval holds.
const CONFIDENCE: f64 = 0.95;
/// What a report card says.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Last day the model was allowed to know: `YYYY-MM-DD`.
    pub train_until: String,
    /// First and last day of the sales judged.
    pub test: [String; 2],
    /// The model.
    pub model: Metadata,
    /// From records to the sales trained on.
    pub funnel: Funnel,
    /// Of the estimator.
    pub all: Quality,
    /// Of simple means, on the same sales.
    pub baselines: Vec<(String, Quality)>,
    /// Median error of the estimator less that of the best simple means.
    pub difference: Difference,
    /// By class, department, price, surface, quarter.
    pub segments: Vec<Segment>,
    /// Share of sales the interval should hold.
    pub coverage: f64,
    /// Whether it holds that many, within what chance allows, in every segment of 300 sales.
    pub is_covered: bool,
}

/// A difference of median absolute percentage errors, percentage points.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// What it is measured against.
    pub against: String,
    /// Below zero: the estimator is better.
    pub points: f64,
    /// Interval of the paired bootstrap.
    pub interval: [f64; 2],
}

/// Trains on what was known before a day and judges on the sales of a range of days.
///
/// # Errors
/// Too few sales, or what the trees say.
pub fn evaluate(
    recorded: Vec<Recorded>,
    mut funnel: Funnel,
    end: i32,
    test: std::ops::RangeInclusive<i32>,
    trained_at: String,
    step: &(dyn Fn() + Sync),
) -> Result<(Report, model::Model), Error> {
    let (mut known, mut judged) = (Vec::new(), Vec::new());
    for one in recorded {
        if one.sale.day < end {
            known.push(one);
        } else if test.contains(&one.sale.day) {
            judged.push(one);
        }
    }
    funnel.note("sold before those that are judged", known.len());
    judged.sort_unstable_by_key(|one| (one.sale.day, one.sale.id));
    if judged.is_empty() {
        return Err(Error::NothingToJudge {
            from: model::date(*test.start()).to_string(),
            to: model::date(*test.end()).to_string(),
        });
    }
    let sales = known.iter().map(|one| one.sale.clone()).collect();
    let model = train::train(sales, end, trained_at, &mut funnel, step)?;
    let estimates = judged
        .par_iter()
        .map(|one| model.estimate(&Home::from(&one.sale), Detail::default()))
        .collect::<Result<Vec<_>, Error>>()?;
    let prices: Vec<f64> = estimates.iter().map(|estimate| estimate.price).collect();
    let all = Quality::of(&judged, &prices, Some(&estimates));
    let baselines = baselines::all(&known, &judged, end)?;
    let qualities: Vec<(String, Quality)> = baselines
        .iter()
        .map(|baseline| {
            (
                baseline.name.to_owned(),
                Quality::of(&judged, &baseline.prices, None),
            )
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
    let segments = judged::segments(&judged, &estimates);
    let report = Report {
        train_until: model::date(end - 1).to_string(),
        test: [*test.start(), *test.end()].map(|day| model::date(day).to_string()),
        model: model.metadata().clone(),
        funnel,
        is_covered: segments.iter().all(|segment| segment.is_covered),
        all,
        baselines: qualities,
        difference,
        segments,
        coverage: model.metadata().coverage,
    };
    Ok((report, model))
}

/// Share of the price an estimate is off by.
fn off(sale: &Sale, price: f64) -> f64 {
    (price / sale.price - 1.0).abs()
}

/// Draws sales with replacement and looks how the medians of both differ.
fn difference(judged: &[Recorded], prices: &[f64], baseline: &baselines::Baseline) -> Difference {
    let errors: Vec<(f64, f64)> = judged
        .iter()
        .zip(prices.iter().zip(&baseline.prices))
        .map(|(one, (own, simple))| (off(&one.sale, *own), off(&one.sale, *simple)))
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

/// Name of a class in a report.
fn class_name(class: Class) -> &'static str {
    match class {
        Class::Flat => "flats",
        Class::House => "houses",
    }
}

#[cfg(test)]
mod tests;
