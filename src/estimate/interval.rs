//! The interval that contains four sales in five, by split conformal prediction (Vovk; Romano, Patterson and Candès
//! 2019).
//!
//! Trees predict the width of the error for each home; an error divided by that width is a score. Scores of sales later
//! than all training sales determine how many widths to take on each side. Segments (place, surface, price level)
//! correct the width by their own scores, weighted by how many they have, so that coverage is 80 % within each segment
//! and not only on average.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::grid::GridPosition;
use super::home::HomeClass;

/// Target coverage: share of sales inside the interval.
pub const COVERAGE: f64 = 0.8;
/// Coverage added during calibration, because errors grow on future sales. With it, coverage is 79.8 % on average over
/// six splits inside the training years of Paris, and 80.3 % over three in Toulon.
const MARGIN: f64 = 0.005;
/// Number of sales at which a segment's own scores weigh as much as the prior from all sales.
const SEGMENT_PRIOR: f64 = 150.0;
/// Rounds of fitting the segment factors to one another.
const ROUNDS: usize = 3;
/// Minimum width predicted by the trees, in log price: an eighth of a typical one.
pub const WIDTH_MIN: f64 = 0.03;
/// Upper bounds of the surface bands, square metres.
pub const SURFACE_BANDS: [f64; 5] = [25.0, 40.0, 60.0, 90.0, 130.0];
/// Number of price bands, each with the same number of sales.
const PRICE_BANDS: usize = 10;
/// Cell level of place segments: 4 km.
const CELL_LEVEL: u32 = 8;
/// Additional market drift per year beyond the calibration period, in log price: the 90 % quantile of a normal
/// distribution with 5 % standard deviation, as observed in French cities in recent years.
const DRIFT_A_YEAR: f64 = 1.28 * 0.05;
const YEAR_DAYS: f64 = 365.25;
/// Minimum half-width of an interval based on a fallback, in log price.
const FALLBACK_MIN: f64 = 0.4;

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
    /// Which half of the sales it belongs to, so that a half can be calibrated on the other one.
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
}

/// The calibrated interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    sides: IntervalSides,
    /// Bounds of the price bands in log price, by class.
    prices: [Vec<f64>; 2],
    segments: Segments,
    /// Errors of the department level and of the country level alone, by class.
    fallbacks: [[IntervalSides; 2]; 2],
    /// Number of sales used for calibration.
    pub sales: u64,
}

/// Number of ways homes are segmented: class, surface, price, place.
const FACTORS: usize = 4;
/// Bits of a segment code below factor and class; a 4 km cell takes 26.
const FACTOR_BITS: u32 = 40;

/// Segment codes, one for each factor.
type Codes = [u64; FACTORS];

/// Codes of the segments a home belongs to, one for each factor.
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

/// Weighted quantile with the split conformal correction: computed as if there were one value more, so that coverage
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

/// Lower and upper widths that exclude equal shares on each side and cover `coverage` in total.
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
    /// Calibrates on held-out errors, and on the errors of the level alone (department, then country, by class) for
    /// fallbacks. With few sales the segments have little influence and the interval is that of all sales.
    pub fn calibrate(scored: &[CalibrationError], fallbacks: [[Vec<f64>; 2]; 2]) -> Self {
        let fallbacks = fallbacks.map(|of_class| of_class.map(fallback));
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
            fallbacks,
            sales: scored.len() as u64,
        };
        if scored.is_empty() {
            interval.sides = interval.fallbacks[0][1];
            return interval;
        }
        let codes: Vec<Codes> = scored
            .iter()
            .map(|one| segments(&one.placed, &interval.prices))
            .collect();
        interval.segments = fit(scored, &codes, &|_| true);
        // Corrections are overfitted to their own scores, so each half is evaluated with the corrections of the other
        // half.
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

    /// Distance from the estimate to each end of the interval in log price, `horizon_days` after the last known sale.
    pub fn around(&self, placed: &SegmentFeatures, width: f64, horizon_days: f64) -> IntervalSides {
        let own = corrections(&self.segments, &segments(placed, &self.prices));
        let drift = DRIFT_A_YEAR * horizon_days / YEAR_DAYS;
        IntervalSides {
            lower: drift.hypot(width * own.lower * self.sides.lower),
            upper: drift.hypot(width * own.upper * self.sides.upper),
        }
    }

    /// Distance from the estimate to each end of the interval in log price, where the level of the department (or, if
    /// `is_national`, of the country) replaces local sales.
    pub fn for_fallback(&self, class: HomeClass, is_national: bool) -> IntervalSides {
        self.fallbacks[class as usize][usize::from(is_national)]
    }
}

impl CalibrationError {
    /// The error in widths, relative to the segment's own widths.
    fn score(&self, own: IntervalSides) -> f64 {
        let side = if self.error < 0.0 {
            own.lower
        } else {
            own.upper
        };
        self.error / (self.width * side)
    }
}

/// Fits the corrections of the segments to one another, factor by factor, on the sales for which `takes_part` is true.
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

fn fallback(errors: Vec<f64>) -> IntervalSides {
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
