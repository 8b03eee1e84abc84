//! The interval that holds four sales in five, by split conformal prediction (Vovk; Romano, Patterson and Candès 2019).
//!
//! Trees learn how wide the error is for a home like this; errors divided by that width are scores. The scores of sales
//! later than any the price was learned from say how many widths must be taken on each side. Segments (the place, the
//! surface, the level of the price) correct the width by their own scores as far as they have enough of them, so that
//! four in five holds in each and not only on average.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::home::Class;
use super::place::Position;

/// Share of sales the interval holds.
pub const COVERAGE: f64 = 0.8;
/// What the scores are asked to hold beyond that: sales to come stray more than those before them did. With it,
/// intervals hold 79.8 % on the average of six splits inside the training years of Paris, 80.3 % of three in Toulon.
const MARGIN: f64 = 0.005;
/// Sales at which a segment's own scores weigh as much as those of all.
const SEGMENT_PRIOR: f64 = 150.0;
/// Rounds in which segments are fitted to one another.
const ROUNDS: usize = 3;
/// Least width the trees may claim: an eighth of a typical one.
pub const WIDTH_MIN: f64 = 0.03;
/// Upper ends of bands of surface, square metres.
pub const SURFACE_BANDS: [f64; 5] = [25.0, 40.0, 60.0, 90.0, 130.0];
/// Bands of price, of equal numbers of sales.
const PRICE_BANDS: usize = 10;
/// Cells that are segments: 4 km.
const CELL_LEVEL: u32 = 8;
/// How far the market may drift in a year beyond what it did while the interval was calibrated, in logarithm of price:
/// the 90 % point of a normal drift of 5 %, what French cities saw in recent years.
const DRIFT_A_YEAR: f64 = 1.28 * 0.05;
const YEAR_DAYS: f64 = 365.25;
/// Least half of an interval that rests on no local sale, in logarithm of price.
const FALLBACK_MIN: f64 = 0.4;

/// What places a home in segments.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Flat or house.
    pub class: Class,
    /// Where.
    pub position: Position,
    /// Square metres.
    pub surface_m2: f64,
    /// Logarithm of the estimated price.
    pub log_price: f64,
}

/// An error of a sale the price was not learned from.
#[derive(Clone, Copy, Debug)]
pub struct Scored {
    /// What it was.
    pub placed: Placed,
    /// Logarithm of price less that of the estimate.
    pub error: f64,
    /// What the trees say of its width.
    pub width: f64,
    /// What it counts: less the longer ago.
    pub weight: f64,
    /// Which half of the sales it is of, for what must not be judged by itself.
    pub half: bool,
}

/// How many widths to each side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    /// Below the price.
    pub lower: f64,
    /// Above it.
    pub upper: f64,
}

impl Sides {
    const ONE: Self = Self {
        lower: 1.0,
        upper: 1.0,
    };
}

/// The calibrated interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    sides: Sides,
    /// Bounds of the bands of price, logarithm, by class.
    prices: [Vec<f64>; 2],
    segments: Segments,
    /// Errors of the level of a department and of the country alone, by class.
    fallbacks: [[Sides; 2]; 2],
    /// Sales it was calibrated on.
    pub sales: u64,
}

/// Ways in which homes are put in segments: class, surface, price, place.
const FACTORS: usize = 4;
/// Bits of a segment's code below its factor and class; a cell of 4 km takes 26.
const FACTOR_BITS: u32 = 40;

/// Codes of segments, one for each factor.
type Codes = [u64; FACTORS];

/// Codes of the segments a home lies in, one for each factor.
fn segments(placed: &Placed, prices: &[Vec<f64>; 2]) -> Codes {
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

/// A quantile of weighted values as split conformal prediction takes it: of one more than there are, so that new ones
/// are held too (Tibshirani and others 2019 for the weights). NaN for none.
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

/// Both sides that leave as many out and hold a share between them.
fn sides(mut scores: Vec<(f64, f64)>, coverage: f64) -> Sides {
    let inside = (1.0 + coverage) / 2.0;
    scores.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let upper = quantile(&scores, inside);
    scores.iter_mut().for_each(|(score, _)| *score = -*score);
    scores.reverse();
    Sides {
        lower: quantile(&scores, inside),
        upper,
    }
}

/// Corrections of segments, by the code [`segments`] gives them.
type Segments = BTreeMap<u64, Sides>;

impl Interval {
    /// Calibrates on errors of sales the price was not learned from, and of levels alone: department, then country, by
    /// class. Nothing is wrong with few: the interval is then that of all.
    pub fn calibrate(scored: &[Scored], fallbacks: [[Vec<f64>; 2]; 2]) -> Self {
        let fallbacks = fallbacks.map(|of_class| of_class.map(fallback));
        let prices = [Class::Flat, Class::House].map(|class| {
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
            sides: Sides::ONE,
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
        // Corrections flatter the scores they were fitted to: each half is judged by those of the other.
        let halves = [false, true].map(|half| fit(scored, &codes, &|one| one.half != half));
        let scores = scored.iter().zip(&codes).map(|(one, codes)| {
            let own = corrections(&halves[usize::from(one.half)], codes);
            (one.score(own), one.weight)
        });
        let found = sides(scores.collect(), COVERAGE + MARGIN);
        interval.sides = Sides {
            lower: found.lower.max(0.0),
            upper: found.upper.max(0.0),
        };
        interval
    }

    /// How far the interval goes to each side, in logarithm of price, so many days after the last known sale.
    pub fn around(&self, placed: &Placed, width: f64, horizon_days: f64) -> Sides {
        let own = corrections(&self.segments, &segments(placed, &self.prices));
        let drift = DRIFT_A_YEAR * horizon_days / YEAR_DAYS;
        Sides {
            lower: drift.hypot(width * own.lower * self.sides.lower),
            upper: drift.hypot(width * own.upper * self.sides.upper),
        }
    }

    /// The same where a department's level, or the country's, stands in for local sales.
    pub fn of_fallback(&self, class: Class, is_national: bool) -> Sides {
        self.fallbacks[class as usize][usize::from(is_national)]
    }
}

impl Scored {
    /// Widths between the price and the estimate, where a segment has widths of its own.
    fn score(&self, own: Sides) -> f64 {
        let side = if self.error < 0.0 {
            own.lower
        } else {
            own.upper
        };
        self.error / (self.width * side)
    }
}

/// Fits the corrections of segments to one another, factor by factor, on the sales that take part.
fn fit(scored: &[Scored], codes: &[Codes], takes_part: &dyn Fn(&Scored) -> bool) -> Segments {
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
                let segment = segments.entry(code).or_insert(Sides::ONE);
                segment.lower *= shrunk(found.lower, usual.lower);
                segment.upper *= shrunk(found.upper, usual.upper);
            }
        }
    }
    segments
}

fn corrections(segments: &Segments, codes: &Codes) -> Sides {
    let mut sides = Sides::ONE;
    for code in codes {
        if let Some(segment) = segments.get(code) {
            sides.lower *= segment.lower;
            sides.upper *= segment.upper;
        }
    }
    sides
}

fn fallback(errors: Vec<f64>) -> Sides {
    let errors = errors.into_iter().map(|error| (error, 1.0));
    let found = sides(errors.collect(), COVERAGE);
    let wide = |side: f64| {
        if side.is_nan() {
            2.0 * FALLBACK_MIN
        } else {
            side.max(FALLBACK_MIN)
        }
    };
    Sides {
        lower: wide(found.lower),
        upper: wide(found.upper),
    }
}
