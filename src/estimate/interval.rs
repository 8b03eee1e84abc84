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
}

/// How many widths to each side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    /// Below the price.
    pub lower: f64,
    /// Above it.
    pub upper: f64,
}

/// The calibrated interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    sides: Sides,
    /// Bounds of the bands of price, logarithm, by class.
    prices: [Vec<f64>; 2],
    /// Corrections of segments, by the code [`segments`] gives them.
    segments: BTreeMap<u64, Sides>,
    /// Errors of the level of a department and of the country alone, by class.
    fallbacks: [[Sides; 2]; 2],
    /// Sales it was calibrated on.
    pub sales: u64,
}

/// Ways in which homes are put in segments: class, surface, price, place.
const FACTORS: usize = 4;
/// Bits of a segment's code below its factor and class; a cell of 4 km takes 26.
const FACTOR_BITS: u32 = 40;

/// Codes of the segments a home lies in, one for each factor.
fn segments(placed: &Placed, prices: &[Vec<f64>; 2]) -> [u64; FACTORS] {
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

/// A quantile as split conformal prediction takes it: of one more than there are, so that new ones are held too.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let rank = share * (sorted.len() + 1) as f64 - 1.0;
    let place = rank.clamp(0.0, last as f64);
    let before = place as usize;
    let after = (before + 1).min(last);
    sorted[before] + (place - before as f64) * (sorted[after] - sorted[before])
}

/// Both sides that leave a tenth out each.
fn sides(mut scores: Vec<f64>) -> Sides {
    scores.sort_unstable_by(f64::total_cmp);
    let out = (1.0 - COVERAGE) / 2.0;
    let upper = quantile(&scores, 1.0 - out);
    scores.iter_mut().for_each(|score| *score = -*score);
    scores.reverse();
    let lower = quantile(&scores, 1.0 - out);
    Sides { lower, upper }
}

impl Interval {
    /// Calibrates on errors of sales the price was not learned from, and of levels alone: department, then country, by
    /// class. Nothing is wrong with few: the interval is then that of all.
    pub fn calibrate(scored: &[Scored], fallbacks: [[Vec<f64>; 2]; 2]) -> Self {
        let fallbacks = fallbacks.map(|of_class| of_class.map(fallback));
        let prices = [Class::Flat, Class::House].map(|class| {
            let mut prices: Vec<f64> = scored
                .iter()
                .filter(|one| one.placed.class == class)
                .map(|one| one.placed.log_price)
                .collect();
            prices.sort_unstable_by(f64::total_cmp);
            (1..PRICE_BANDS)
                .map(|band| quantile(&prices, band as f64 / PRICE_BANDS as f64))
                .filter(|price| price.is_finite())
                .collect()
        });
        let mut interval = Self {
            sides: Sides {
                lower: 1.0,
                upper: 1.0,
            },
            prices,
            segments: BTreeMap::new(),
            fallbacks,
            sales: scored.len() as u64,
        };
        if scored.is_empty() {
            interval.sides = interval.fallbacks[0][1];
            return interval;
        }
        let named: Vec<[u64; FACTORS]> = scored
            .iter()
            .map(|one| segments(&one.placed, &interval.prices))
            .collect();
        for _ in 0..ROUNDS {
            interval.fit_all(scored, &named);
            for factor in 0..FACTORS {
                interval.fit_segments(scored, &named, factor);
            }
        }
        interval.fit_all(scored, &named);
        interval
    }

    fn fit_all(&mut self, scored: &[Scored], named: &[[u64; FACTORS]]) {
        let scores = scored.iter().zip(named).map(|(one, names)| {
            let own = self.corrections(names);
            let side = if one.error < 0.0 {
                own.lower
            } else {
                own.upper
            };
            one.error / (one.width * side)
        });
        let found = sides(scores.collect());
        self.sides = Sides {
            lower: found.lower.max(0.0),
            upper: found.upper.max(0.0),
        };
    }

    fn fit_segments(&mut self, scored: &[Scored], named: &[[u64; FACTORS]], factor: usize) {
        let mut scores: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (one, names) in scored.iter().zip(named) {
            let own = self.corrections(names);
            let side = if one.error < 0.0 {
                own.lower * self.sides.lower
            } else {
                own.upper * self.sides.upper
            };
            let score = one.error / (one.width * side).max(1e-9);
            scores.entry(names[factor]).or_default().push(score);
        }
        for (name, scores) in scores {
            let count = scores.len() as f64;
            let found = sides(scores);
            let shrunk = |ratio: f64| {
                (count * ratio.clamp(0.25, 4.0) + SEGMENT_PRIOR) / (count + SEGMENT_PRIOR)
            };
            let segment = self.segments.entry(name).or_insert(Sides {
                lower: 1.0,
                upper: 1.0,
            });
            segment.lower *= shrunk(found.lower);
            segment.upper *= shrunk(found.upper);
        }
    }

    fn corrections(&self, names: &[u64; FACTORS]) -> Sides {
        let mut sides = Sides {
            lower: 1.0,
            upper: 1.0,
        };
        for name in names {
            if let Some(segment) = self.segments.get(name) {
                sides.lower *= segment.lower;
                sides.upper *= segment.upper;
            }
        }
        sides
    }

    /// How far the interval goes to each side, in logarithm of price.
    pub fn around(&self, placed: &Placed, width: f64) -> Sides {
        let own = self.corrections(&segments(placed, &self.prices));
        Sides {
            lower: width * own.lower * self.sides.lower,
            upper: width * own.upper * self.sides.upper,
        }
    }

    /// The same where a department's level, or the country's, stands in for local sales.
    pub fn of_fallback(&self, class: Class, is_national: bool) -> Sides {
        self.fallbacks[class as usize][usize::from(is_national)]
    }
}

fn fallback(errors: Vec<f64>) -> Sides {
    let found = sides(errors);
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
