//! Measures how accurate estimated rents are. The homes to rent are divided into fifths. The rent of each home is
//! predicted by a model that was fitted without its fifth, and compared with an interval that was calibrated on the
//! other four fifths.

use serde::Serialize;

use super::adverts::Rental;
use super::interval::{COVERAGE, ERRORS_MIN, Intervals};
use super::map::RentMap;
use super::model::{HeldOut, held_out, median};
use toise_estimate::HomeClass;

/// Maximum deviation at which a rent counts as well predicted.
const CLOSE: f64 = 0.2;
/// Groups of homes by number of local adverts: lowest number and name of each group.
const BY_ADVERTS: [(usize, &str); 4] = [
    (0, "no advert in the commune or near"),
    (1, "1 to 4 adverts"),
    (5, "5 to 19 adverts"),
    (20, "20 adverts and more"),
];

/// The errors of a group of homes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RentErrors {
    /// The group.
    pub group: &'static str,
    /// Number of homes.
    pub homes: usize,
    /// Median absolute error, percent of the rent.
    pub error_percent: f64,
    /// Median of the errors, percent of the rent; above zero where estimates are too high.
    pub bias_percent: f64,
    /// Share of homes with an error of at most 20 %, percent.
    pub within_20_percent: f64,
    /// Share of homes whose rent is in its interval, percent; `None` if there are too few to calibrate one.
    pub coverage_percent: Option<f64>,
    /// Median width of the intervals, percent of the estimate.
    pub width_percent: Option<f64>,
    /// Median error of the map of rents alone, for homes whose commune is on it.
    pub map_error_percent: Option<f64>,
}

/// A report of errors.
#[derive(Clone, Debug, Serialize)]
pub struct RentReport {
    /// Target of the share of rents in their interval, percent.
    pub target_percent: f64,
    /// Number of homes skipped: without a commune, surface or plausible rent, or last on offer too long ago.
    pub left_out: u64,
    /// Errors of all homes, then by class, then by number of adverts near the home.
    pub groups: Vec<RentErrors>,
}

/// A held-out home and the half-width of its interval.
struct Judged<'h> {
    home: &'h HeldOut,
    half_width: Option<f64>,
}

/// Evaluates estimated rents on homes to rent. Takes as long as fitting the model five times; uses the rayon pool.
pub fn evaluate(homes: &[Rental], left_out: u64, map: &RentMap) -> RentReport {
    let all = held_out(homes, map);
    let intervals = |part: u64| {
        let others = all.iter().filter(|one| one.part != part);
        let others: Vec<_> = others.map(|one| one.error).collect();
        Intervals::calibrate(&others)
    };
    let parts = all
        .iter()
        .map(|one| one.part)
        .max()
        .map_or(0, |last| last + 1);
    let intervals: Vec<Option<Intervals>> = (0..parts).map(intervals).collect();
    let judged: Vec<Judged<'_>> = all
        .iter()
        .map(|home| Judged {
            half_width: intervals[home.part as usize]
                .as_ref()
                .map(|known| known.half_width(home.error.class, home.error.local_adverts)),
            home,
        })
        .collect();
    let mut groups = vec![errors("all", &judged, |_| true)];
    for (class, name) in [(HomeClass::Flat, "flats"), (HomeClass::House, "houses")] {
        groups.push(errors(name, &judged, |one| one.home.error.class == class));
    }
    for (place, (first, name)) in BY_ADVERTS.into_iter().enumerate() {
        let after = BY_ADVERTS
            .get(place + 1)
            .map_or(usize::MAX, |(next, _)| *next);
        let of = |one: &Judged<'_>| (first..after).contains(&one.home.error.local_adverts);
        groups.push(errors(name, &judged, of));
    }
    RentReport {
        target_percent: 100.0 * COVERAGE,
        left_out,
        groups: groups.into_iter().flatten().collect(),
    }
}

/// Returns the errors of a group; `None` for an empty one.
fn errors(
    group: &'static str,
    judged: &[Judged<'_>],
    is: impl Fn(&Judged<'_>) -> bool,
) -> Option<RentErrors> {
    let of: Vec<&Judged<'_>> = judged.iter().filter(|one| is(one)).collect();
    // Converts to estimate divided by rent, minus one.
    let deviation = |log_error: f64| (-log_error).exp() - 1.0;
    let deviations = of.iter().map(|one| deviation(one.home.error.log_error));
    let deviations: Vec<f64> = deviations.collect();
    let sizes: Vec<f64> = deviations.iter().map(|one| one.abs()).collect();
    let close = sizes.iter().filter(|size| **size <= CLOSE).count();
    let widths: Vec<f64> = of.iter().filter_map(|one| one.half_width).collect();
    let covered = of.iter().filter(|one| {
        one.half_width
            .is_some_and(|width| one.home.error.log_error.abs() <= width)
    });
    let covered = covered.count();
    let on_map = of.iter().filter_map(|one| one.home.map_log_error);
    let on_map: Vec<f64> = on_map.map(|error| deviation(error).abs()).collect();
    let percent = |value: f64| (value * 1_000.0).round() / 10.0;
    let share = |count: usize, all: usize| percent(count as f64 / all as f64);
    let is_enough = widths.len() >= ERRORS_MIN;
    Some(RentErrors {
        group,
        homes: of.len(),
        error_percent: percent(median(sizes)?),
        bias_percent: percent(median(deviations)?),
        within_20_percent: share(close, of.len()),
        coverage_percent: is_enough.then(|| share(covered, widths.len())),
        width_percent: median(widths).map(|width| percent(width.exp() - (-width).exp())),
        map_error_percent: median(on_map).map(percent),
    })
}
