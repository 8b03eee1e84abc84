//! Computes the interval that contains four sales in five, by split conformal prediction (Vovk; Romano, Patterson and
//! Candès 2019).
//!
//! Trees predict the width of the error for each home; an error divided by that width is a score. The scores of sales
//! later than all training sales determine how many widths to use on each side. Segments (place, surface, price level)
//! correct the width by their own scores, weighted by how many they have, so that coverage is 80 % within each segment
//! and not only on average.
//!
//! The scores exclude the movement of the market (`AsOf::in_hindsight`): one year of sales shows how homes differ, but
//! is only a single sample of how a market moves in a year. Three things widen the interval: the possible drift of the
//! market after the last known sale, the distance to known sales, and the spread between departments. By how much was
//! measured on many origins, held-out towns and departments (`drift`, [`Distances`], [`Regions`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::grid::GridPosition;
use super::home::HomeClass;

/// Target coverage: share of sales inside the interval.
pub const COVERAGE: f64 = 0.8;
/// Coverage added during calibration, because errors are larger on future sales. With it, coverage is 79.8 % on average
/// over six splits within the training years of Paris, and 80.3 % over three in Toulon.
const MARGIN: f64 = 0.005;
/// Number of sales at which a segment's own scores weigh as much as the prior from all sales.
const SEGMENT_PRIOR: f64 = 150.0;
/// Rounds of fitting the segment factors in turn.
const ROUNDS: usize = 3;
/// Minimum width predicted by the trees, in log price: an eighth of a typical one.
pub const WIDTH_MIN: f64 = 0.03;
/// Upper bounds of the surface bands, square metres.
pub const SURFACE_BANDS: [f64; 5] = [25.0, 40.0, 60.0, 90.0, 130.0];
/// Number of price bands, each with the same number of sales.
const PRICE_BANDS: usize = 10;
/// Cell level of place segments: 4 km.
const CELL_LEVEL: u32 = 8;
/// The 90 % quantile of the standard normal distribution: four values in five are between plus and minus this value.
const NORMAL_90: f64 = 1.2816;
/// Standard deviation of the error of the price index for each month beyond the last known sale, in log price. Measured
/// on 96 departments with origins from 2017 to 2025 (see `price_index`), without the noise of the medians used for the
/// evaluation: 1.0 % after 2 months, 2.1 % after 5, 3.0 % after 8, 4.0 % after 11.
const DRIFT_A_MONTH: f64 = 0.0037;
/// Mean length of a month, days.
const MONTH_DAYS: f64 = 30.436_875;
/// Minimum half-width of an interval based on a fallback, in log price.
const FALLBACK_MIN: f64 = 0.4;
/// Standard deviation of the price level between departments, in log price, combined with the observed spread as if it
/// came from one department. The medians per square metre of 97 departments in 2024 deviate by 0.44 for flats and by
/// 0.47 for houses.
const REGION_SPREAD: f64 = 0.45;
const REGION_PRIOR: f64 = 1.0;
/// 90 % quantiles of Student's distribution, for 1 to 10 degrees of freedom.
const STUDENT_90: [f64; 10] = [
    3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372,
];
/// Additional half-width if comparables are far, in log price: `FAR_SCALE * ln(1 + distance / FAR_M)`. Fitted to 150
/// towns of 2024, each valued only from the sales of its neighbours: 0.12 at 300 m, 0.27 at 1 km, 0.47 at 3 km.
const FAR_SCALE: f64 = 0.25;
const FAR_M: f64 = 500.0;
/// Share of the calibration sales whose comparables are within the usual distance.
const USUAL_SHARE: f64 = 0.95;

/// The inputs that assign a home to segments.
#[derive(Clone, Copy, Debug)]
pub struct SegmentFeatures {
    /// Flat or house.
    pub class: HomeClass,
    /// Position of the home.
    pub position: GridPosition,
    /// Habitable area, square metres.
    pub surface_m2: f64,
    /// Logarithm of the estimated price.
    pub log_price: f64,
}

/// The error of one held-out sale.
#[derive(Clone, Copy, Debug)]
pub struct CalibrationError {
    /// The segment inputs of the sale.
    pub placed: SegmentFeatures,
    /// Log price minus estimated log price.
    pub error: f64,
    /// Error width predicted by the trees, in log price.
    pub width: f64,
    /// Weight in calibration; older sales weigh less.
    pub weight: f64,
    /// Distance within which the minimum number of comparables for a local estimate is found, metres.
    pub near_m: f64,
    /// Which half of the sales it belongs to; each half is evaluated with corrections fitted on the other.
    pub half: bool,
}

/// Widths below and above the price: multiples of the predicted width, or log price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalSides {
    /// Width below the price.
    pub lower: f64,
    /// Width above the price.
    pub upper: f64,
}

impl IntervalSides {
    const ONE: Self = Self {
        lower: 1.0,
        upper: 1.0,
    };

    /// Adds an independent error to both sides; `half` is the half-width of its interval.
    fn widened(self, half: f64) -> Self {
        Self {
            lower: half.hypot(self.lower),
            upper: half.hypot(self.upper),
        }
    }
}

/// The calibrated interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    sides: IntervalSides,
    /// Bounds of the price bands in log price, by class.
    prices: [Vec<f64>; 2],
    segments: Segments,
    /// Errors of the level of the department alone, by class.
    departments: [IntervalSides; 2],
    /// Spread of the level between departments, by class.
    regions: [Regions; 2],
    /// Distances of comparables, by class.
    distances: [Distances; 2],
    /// Number of sales used for calibration.
    pub sales: u64,
}

/// How much the price level differs between departments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regions {
    /// Number of departments with sales.
    pub departments: u32,
    /// Half-width of the interval that contains the level of four in five other departments, in log price.
    pub half_width: f64,
}

impl Regions {
    /// Computes the predictive interval of one more department from the deviations of the known ones from their mean
    /// (Student's distribution, with a prior that weighs as much as one department). With a single department, the
    /// interval spans a factor of seven on each side, because one place says almost nothing about another.
    pub fn new(deviations: &[f64]) -> Self {
        let count = deviations.len() as f64;
        let freedom = REGION_PRIOR + (count - 1.0).max(0.0);
        let squares: f64 = deviations.iter().map(|one| one * one).sum();
        let variance = (REGION_PRIOR * REGION_SPREAD * REGION_SPREAD + squares) / freedom;
        let of_mean = 1.0 + 1.0 / count.max(1.0);
        Self {
            departments: deviations.len() as u32,
            half_width: student_90(freedom) * (variance * of_mean).sqrt(),
        }
    }
}

/// Returns the 90 % quantile of Student's distribution; beyond the table the error is below 0.2 %.
fn student_90(freedom: f64) -> f64 {
    let row = (freedom.round() as usize).max(1) - 1;
    let beyond = NORMAL_90 + 0.87 / freedom.max(1.0);
    STUDENT_90.get(row).copied().unwrap_or(beyond)
}

/// Distances of comparables in the sales that the widths were learned from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// Distance within which 95 % of sales have enough comparables, metres.
    pub usual_m: f64,
}

impl Distances {
    /// Additional half-width for comparables at a distance, in log price: zero up to the usual distance.
    fn half_width(self, near_m: f64) -> f64 {
        let half = |distance_m: f64| FAR_SCALE * (distance_m / FAR_M).ln_1p();
        let (found, usual) = (half(near_m), half(self.usual_m));
        (found * found - usual * usual).max(0.0).sqrt()
    }
}

/// Returns the additional half-width for the drift of the market in a number of days after the last known sale, in log
/// price.
fn drift(horizon_days: f64) -> f64 {
    NORMAL_90 * DRIFT_A_MONTH * horizon_days / MONTH_DAYS
}

/// The level that replaces local sales as a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackLevel {
    /// The level of the home's department.
    Department,
    /// The mean of the known departments.
    Country,
}

/// Number of ways homes are segmented: class, surface, price, place.
const FACTORS: usize = 4;
/// Bits of a segment code below factor and class; a 4 km cell takes 26.
const FACTOR_BITS: u32 = 40;

/// Segment codes, one for each factor.
type Codes = [u64; FACTORS];

/// Returns the codes of the segments a home belongs to, one for each factor.
fn segments(placed: &SegmentFeatures, prices: &[Vec<f64>; 2]) -> Codes {
    let class = placed.class as usize;
    let surface = SURFACE_BANDS.partition_point(|end| *end <= placed.surface_m2);
    let price = prices[class].partition_point(|end| *end <= placed.log_price);
    let cell = placed.position.morton() >> (2 * CELL_LEVEL);
    let mut codes = [0, surface as u64, price as u64, cell];
    for (code, factor) in codes.iter_mut().zip(0..) {
        *code |= (factor * 2 + class as u64) << FACTOR_BITS;
    }
    codes
}

/// Returns the weighted quantile with the split conformal correction: as if there were one more value, so that coverage
/// holds for new values (weights after Tibshirani and others 2019). NaN for an empty slice.
fn quantile(sorted: &[(f64, f64)], share: f64) -> f64 {
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let wanted = share * total * (1.0 + 1.0 / sorted.len() as f64);
    let mut reached = 0.0;
    for (value, weight) in sorted {
        reached += weight;
        if reached >= wanted {
            return *value;
        }
    }
    sorted.last().map_or(f64::NAN, |(value, _)| *value)
}

/// Returns the lower and upper widths that exclude equal shares on each side and cover `coverage` in total.
fn sides(mut scores: Vec<(f64, f64)>, coverage: f64) -> IntervalSides {
    let inside = (1.0 + coverage) / 2.0;
    scores.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let upper = quantile(&scores, inside);
    scores.iter_mut().for_each(|(score, _)| *score = -*score);
    scores.reverse();
    IntervalSides {
        lower: quantile(&scores, inside),
        upper,
    }
}

/// Corrections by the segment codes of [`segments`].
type Segments = BTreeMap<u64, IntervalSides>;

impl Interval {
    /// Calibrates on held-out errors. Fallbacks are calibrated on the errors of the department's level alone and on the
    /// deviations of the departments from their mean, both by class. With few sales the segments have little influence,
    /// and the interval is nearly the interval of all sales.
    pub fn calibrate(
        scored: &[CalibrationError],
        departments: [Vec<f64>; 2],
        deviations: &[Vec<f64>; 2],
    ) -> Self {
        let departments = departments.map(of_department);
        let distances = [HomeClass::Flat, HomeClass::House].map(|class| {
            let of_class = scored.iter().filter(|one| one.placed.class == class);
            let mut near: Vec<(f64, f64)> = of_class.map(|one| (one.near_m, 1.0)).collect();
            near.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
            let usual_m = quantile(&near, USUAL_SHARE);
            Distances {
                usual_m: if usual_m.is_finite() { usual_m } else { 0.0 },
            }
        });
        let prices = [HomeClass::Flat, HomeClass::House].map(|class| {
            let of_class = scored.iter().filter(|one| one.placed.class == class);
            let mut prices: Vec<(f64, f64)> =
                of_class.map(|one| (one.placed.log_price, 1.0)).collect();
            prices.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
            (1..PRICE_BANDS)
                .map(|band| quantile(&prices, band as f64 / PRICE_BANDS as f64))
                .filter(|price| price.is_finite())
                .collect()
        });
        let mut interval = Self {
            sides: IntervalSides::ONE,
            prices,
            segments: Segments::new(),
            departments,
            regions: [0, 1].map(|class| Regions::new(&deviations[class])),
            distances,
            sales: scored.len() as u64,
        };
        if scored.is_empty() {
            interval.sides = interval.departments[0];
            return interval;
        }
        let codes: Vec<Codes> = scored
            .iter()
            .map(|one| segments(&one.placed, &interval.prices))
            .collect();
        interval.segments = fit(scored, &codes, &|_| true);
        // Corrections overfit the scores they are fitted on, so each half is evaluated with the corrections of the
        // other half.
        let halves = [false, true].map(|half| fit(scored, &codes, &|one| one.half != half));
        let scores = scored.iter().zip(&codes).map(|(one, codes)| {
            let own = corrections(&halves[usize::from(one.half)], codes);
            (one.score(own), one.weight)
        });
        let found = sides(scores.collect(), COVERAGE + MARGIN);
        interval.sides = IntervalSides {
            lower: found.lower.max(0.0),
            upper: found.upper.max(0.0),
        };
        interval
    }

    /// Returns the distance from the estimate to each end of the interval in log price, `horizon_days` after the last
    /// known sale and with comparables at `near_m` metres.
    pub fn around(
        &self,
        placed: &SegmentFeatures,
        width: f64,
        horizon_days: f64,
        near_m: f64,
    ) -> IntervalSides {
        let own = corrections(&self.segments, &segments(placed, &self.prices));
        let far = self.distances[placed.class as usize].half_width(near_m);
        let sides = IntervalSides {
            lower: width * own.lower * self.sides.lower,
            upper: width * own.upper * self.sides.upper,
        };
        sides.widened(drift(horizon_days).hypot(far))
    }

    /// Returns whether comparables at `near_m` metres are farther than for nearly all sales the interval was calibrated
    /// on, and farther than `FAR_M`.
    pub fn is_far(&self, class: HomeClass, near_m: f64) -> bool {
        let usual_m = self.distances[class as usize].usual_m;
        near_m > usual_m.max(FAR_M)
    }

    /// Returns the distance from the estimate to each end of the interval in log price, `horizon_days` after the last
    /// known sale, if a wider level replaces local sales.
    pub fn for_fallback(
        &self,
        class: HomeClass,
        stand_in: FallbackLevel,
        horizon_days: f64,
    ) -> IntervalSides {
        let between = match stand_in {
            FallbackLevel::Department => 0.0,
            FallbackLevel::Country => self.regions[class as usize].half_width,
        };
        self.departments[class as usize].widened(drift(horizon_days).hypot(between))
    }
}

impl CalibrationError {
    /// Returns the error as a multiple of the predicted width, relative to the segment's own widths.
    fn score(&self, own: IntervalSides) -> f64 {
        let side = if self.error < 0.0 {
            own.lower
        } else {
            own.upper
        };
        self.error / (self.width * side)
    }
}

/// Fits the corrections of the segments, factor by factor, on the sales for which `takes_part` is true.
fn fit(
    scored: &[CalibrationError],
    codes: &[Codes],
    takes_part: &dyn Fn(&CalibrationError) -> bool,
) -> Segments {
    let mut segments = Segments::new();
    for _ in 0..ROUNDS {
        for factor in 0..FACTORS {
            let mut scores: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
            let mut all = Vec::new();
            for (one, codes) in scored.iter().zip(codes) {
                if takes_part(one) {
                    let score = (one.score(corrections(&segments, codes)), one.weight);
                    scores.entry(codes[factor]).or_default().push(score);
                    all.push(score);
                }
            }
            let usual = sides(all, COVERAGE);
            for (code, scores) in scores {
                let count = scores.len() as f64;
                let found = sides(scores, COVERAGE);
                let shrunk = |found: f64, usual: f64| {
                    let ratio = (found / usual.max(1e-9)).clamp(0.25, 4.0);
                    (count * ratio + SEGMENT_PRIOR) / (count + SEGMENT_PRIOR)
                };
                let segment = segments.entry(code).or_insert(IntervalSides::ONE);
                segment.lower *= shrunk(found.lower, usual.lower);
                segment.upper *= shrunk(found.upper, usual.upper);
            }
        }
    }
    segments
}

fn corrections(segments: &Segments, codes: &Codes) -> IntervalSides {
    let mut sides = IntervalSides::ONE;
    for code in codes {
        if let Some(segment) = segments.get(code) {
            sides.lower *= segment.lower;
            sides.upper *= segment.upper;
        }
    }
    sides
}

/// Returns the sides of an interval around the level of a department, from the errors of that level.
fn of_department(errors: Vec<f64>) -> IntervalSides {
    let errors = errors.into_iter().map(|error| (error, 1.0));
    let found = sides(errors.collect(), COVERAGE);
    let wide = |side: f64| {
        if side.is_nan() {
            2.0 * FALLBACK_MIN
        } else {
            side.max(FALLBACK_MIN)
        }
    };
    IntervalSides {
        lower: wide(found.lower),
        upper: wide(found.upper),
    }
}

#[cfg(test)]
mod tests;
