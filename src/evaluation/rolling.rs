//! Evaluates estimates from rolling origins: the estimator is trained on the sales before each of several days and
//! tested on the twelve months after it. This gives the errors by time since the last known sale.
//!
//! A single test year is only one sample of how a market can move in a year. Each origin costs one training.

use chrono::{Datelike, Months, NaiveDate};
use rayon::prelude::*;
use serde::Serialize;

use super::baselines::median;
use super::metrics::ErrorMetrics;
use toise_estimate::answer::{Detail, Estimate};
use toise_estimate::clean::Funnel;
use toise_estimate::home::Home;
use toise_estimate::model::{self, Error, Model};
use toise_estimate::sale::SaleWithCommune;
use toise_estimate::train;

/// Maximum horizon, months.
pub const HORIZON_MONTHS: u32 = 12;
/// Months of known sales before the first origin; half of the covered months if the sales cover fewer than twice as
/// many.
const KNOWN_MONTHS: u32 = 12;
/// Maximum sales judged at one origin; if there are more, those with the lowest digests are taken.
pub const JUDGED_MAX: usize = 100_000;
/// Minimum sales of one origin in one month for its bias to count.
const MONTH_SALES_MIN: usize = 20;

/// The sales after one origin and their estimates.
#[derive(Clone, Debug)]
pub struct OriginRun {
    /// First day after the known sales.
    pub origin: NaiveDate,
    /// The judged sales.
    pub judged: Vec<SaleWithCommune>,
    /// Estimate of each of them.
    pub estimates: Vec<Estimate>,
}

/// Errors by horizon and by origin.
#[derive(Clone, Debug, Serialize)]
pub struct HorizonReport {
    /// Errors by months after the last known sale.
    pub horizons: Vec<HorizonMetrics>,
    /// Errors by origin.
    pub origins: Vec<OriginMetrics>,
    /// Errors at every origin and horizon.
    pub all: ErrorMetrics,
}

/// Errors in one month after the last known sale, over all origins.
#[derive(Clone, Debug, Serialize)]
pub struct HorizonMetrics {
    /// The month after the last known sale: 1 is the first.
    pub month: u32,
    /// Number of origins with at least 20 sales in that month.
    pub origins: usize,
    /// Mean of the biases at these origins, percent; each bias is the median of estimate over price, minus one.
    pub bias: f64,
    /// Mean of the absolute values of these biases, percent.
    pub bias_size: f64,
    /// Errors over all sales in that month.
    #[serde(flatten)]
    pub quality: ErrorMetrics,
}

/// Errors after one origin, over all horizons.
#[derive(Clone, Debug, Serialize)]
pub struct OriginMetrics {
    /// First day after the known sales: `YYYY-MM-DD`.
    pub origin: String,
    /// Bias in each month after it, percent; `None` with fewer than 20 sales.
    pub bias_by_month: Vec<Option<f64>>,
    /// Errors over all sales after it.
    #[serde(flatten)]
    pub quality: ErrorMetrics,
}

/// Trains on the sales known before `end` and estimates other sales.
///
/// # Errors
/// There are too few sales.
pub fn value(
    known: &[SaleWithCommune],
    judged: &[SaleWithCommune],
    end: i32,
    trained_at: String,
    funnel: &mut Funnel,
    step: &(dyn Fn() + Sync),
) -> Result<(Model, Vec<Estimate>), Error> {
    let sales = known.iter().map(|one| one.sale.clone()).collect();
    let model = train::train(sales, end, trained_at, funnel, step)?;
    let estimates = judged
        .par_iter()
        .map(|one| model.estimate(&Home::from(&one.sale), Detail::default()))
        .collect::<Result<Vec<_>, Error>>()?;
    Ok((model, estimates))
}

/// Keeps at most [`JUDGED_MAX`] sales and sorts them by day.
pub(super) fn sample(mut judged: Vec<SaleWithCommune>) -> Vec<SaleWithCommune> {
    if judged.len() > JUDGED_MAX {
        judged.select_nth_unstable_by_key(JUDGED_MAX, |one| one.sale.id);
        judged.truncate(JUDGED_MAX);
    }
    judged.sort_unstable_by_key(|one| (one.sale.day, one.sale.id));
    judged
}

/// Returns the month of a date, counted from the month of `origin`, which is 1.
fn months_after(origin: NaiveDate, date: NaiveDate) -> i32 {
    (date.year() - origin.year()) * 12 + date.month0() as i32 - origin.month0() as i32 + 1
}

/// Returns at most `most` origins: first days of months that have enough months of sales before them and a month to
/// judge after them. They are evenly spaced from the first possible one to the last; if only one is wanted, it is the
/// middle one.
pub fn origins(recorded: &[SaleWithCommune], most: usize) -> Vec<NaiveDate> {
    let days = || recorded.iter().map(|one| one.sale.day);
    let (Some(first), Some(last)) = (days().min(), days().max()) else {
        return Vec::new();
    };
    let begin = model::date(first).with_day(1).unwrap_or_default();
    let covered = months_after(begin, model::date(last)).max(0) as u32;
    let known = KNOWN_MONTHS.min(covered / 2).max(1);
    let possible: Vec<NaiveDate> = (known..covered)
        .filter_map(|month| begin.checked_add_months(Months::new(month)))
        .collect();
    let wanted = most.min(possible.len());
    (0..wanted)
        .map(|rank| match wanted {
            1 => possible[possible.len() / 2],
            _ => possible[rank * (possible.len() - 1) / (wanted - 1)],
        })
        .collect()
}

/// Trains and judges at each origin. Calls `step` after each of the [`train::STEPS`] steps of each training.
///
/// # Errors
/// There are too few sales.
pub fn run(
    recorded: &[SaleWithCommune],
    origins: &[NaiveDate],
    step: &(dyn Fn() + Sync),
) -> Result<HorizonReport, Error> {
    let mut runs = Vec::with_capacity(origins.len());
    for origin in origins {
        let end = model::days(*origin);
        let last = origin
            .checked_add_months(Months::new(HORIZON_MONTHS))
            .unwrap_or(NaiveDate::MAX);
        let (known, later): (Vec<_>, Vec<_>) = recorded
            .iter()
            .filter(|one| one.sale.day < model::days(last))
            .cloned()
            .partition(|one| one.sale.day < end);
        let judged = sample(later);
        let mut funnel = Funnel::default();
        let (_, estimates) = value(&known, &judged, end, String::new(), &mut funnel, step)?;
        runs.push(OriginRun {
            origin: *origin,
            judged,
            estimates,
        });
    }
    Ok(HorizonReport::new(&runs))
}

impl HorizonReport {
    /// Measures the errors of the runs.
    pub fn new(runs: &[OriginRun]) -> Self {
        let mut pooled: Vec<Vec<(&SaleWithCommune, &Estimate)>> =
            vec![Vec::new(); HORIZON_MONTHS as usize];
        let mut biases: Vec<Vec<f64>> = vec![Vec::new(); HORIZON_MONTHS as usize];
        let mut origins = Vec::with_capacity(runs.len());
        for run in runs {
            let mut by_month: Vec<Vec<(&SaleWithCommune, &Estimate)>> =
                vec![Vec::new(); HORIZON_MONTHS as usize];
            for judged in run.judged.iter().zip(&run.estimates) {
                let month = months_after(run.origin, model::date(judged.0.sale.day)) - 1;
                if let Some(of_month) = usize::try_from(month)
                    .ok()
                    .and_then(|month| by_month.get_mut(month))
                {
                    of_month.push(judged);
                }
            }
            let bias_by_month: Vec<Option<f64>> = by_month.iter().map(|one| bias(one)).collect();
            for (biases, bias) in biases.iter_mut().zip(&bias_by_month) {
                biases.extend(bias);
            }
            let all: Vec<_> = by_month.iter().flatten().copied().collect();
            origins.push(OriginMetrics {
                origin: run.origin.to_string(),
                bias_by_month,
                quality: ErrorMetrics::of_estimates(&all),
            });
            for (pooled, of_month) in pooled.iter_mut().zip(by_month) {
                pooled.extend(of_month);
            }
        }
        let horizons = (1..).zip(pooled.iter().zip(&biases));
        let horizons = horizons
            .filter(|(_, (judged, _))| !judged.is_empty())
            .map(|(month, (judged, biases))| HorizonMetrics {
                month,
                origins: biases.len(),
                bias: mean(biases.iter().copied()),
                bias_size: mean(biases.iter().map(|bias| bias.abs())),
                quality: ErrorMetrics::of_estimates(judged),
            })
            .collect();
        let all: Vec<_> = pooled.iter().flatten().copied().collect();
        Self {
            horizons,
            origins,
            all: ErrorMetrics::of_estimates(&all),
        }
    }
}

/// Returns the median of estimate over price, minus one, in percent; `None` with fewer than [`MONTH_SALES_MIN`] sales.
fn bias(judged: &[(&SaleWithCommune, &Estimate)]) -> Option<f64> {
    let ratios = judged
        .iter()
        .map(|(one, estimate)| estimate.price / one.sale.price - 1.0);
    (judged.len() >= MONTH_SALES_MIN).then(|| 100.0 * median(ratios.collect()))
}

/// Returns the mean; NaN for no values.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
