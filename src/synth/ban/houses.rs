//! The house numbers of a street: odd ones on one side and even ones on the other, with gaps, suffixes and positions
//! along a bent line.

use std::f64::consts::TAU;

use super::communes::offset;
use super::streets::BanStreet;
use crate::random::Stream;

/// Distinguishes these streams of random numbers from others.
const DATASET: u64 = 0xBA5;
/// Share of the numbers that are followed by a bis, and of these that are followed by a ter, and so on.
const BIS: f64 = 0.028;
const AFTER_BIS: f64 = 0.16;
/// Share of the numbers that are followed by letters, and of the letters that are followed by the next.
const LETTERS: f64 = 0.009;
const AFTER_LETTER: f64 = 0.5;
/// Share of the streets whose numbers are provisional: from 5001 upwards.
const PROVISIONAL: f64 = 0.002;
/// Share of the streets that are built up on one side only.
const ONE_SIDED: f64 = 0.08;

/// Suffixes of a number, in their two orders.
const REPEATED: [&str; 3] = ["bis", "ter", "quater"];
const LETTERED: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// An address of a street.
#[derive(Clone, Copy, Debug)]
pub struct House {
    /// Number.
    pub number: u32,
    /// Suffix; empty for most.
    pub suffix: &'static str,
    /// Latitude and longitude, degrees.
    pub position: (f64, f64),
}

/// Calls `each` with the addresses of a street in the order of their numbers, and with the stream from which the rest
/// of each address is drawn.
pub fn lay_out(street: &BanStreet, mut each: impl FnMut(House, &mut Stream)) {
    let mut stream = Stream::new(street.seed, DATASET, 0);
    let mut line = Line::new(street, &mut stream);
    let mut left = street.houses;
    while left > 0 {
        line.advance(&mut stream);
        let house = |suffix, stream: &mut Stream| House {
            number: line.number,
            suffix,
            position: line.position(suffix, stream),
        };
        each(house("", &mut stream), &mut stream);
        left -= 1;
        let (suffixes, next): (&[&'static str], f64) = match stream.unit() {
            unit if unit < BIS => (&REPEATED, AFTER_BIS),
            unit if unit < BIS + LETTERS => (&LETTERED, AFTER_LETTER),
            _ => continue,
        };
        for suffix in suffixes {
            if left == 0 {
                break;
            }
            each(house(suffix, &mut stream), &mut stream);
            left -= 1;
            if !stream.chance(next) {
                break;
            }
        }
    }
}

/// The current position on a street.
struct Line {
    number: u32,
    step: u32,
    is_metric: bool,
    /// Share of the numbers that exist.
    kept: f64,
    /// Metres from one number to the next.
    metres: f64,
    heading: f64,
    bend: f64,
    at: (f64, f64),
    /// Distance of the houses from the middle of the street, metres.
    width: f64,
}

impl Line {
    fn new(street: &BanStreet, stream: &mut Stream) -> Self {
        let one_sided = !street.is_metric && stream.chance(ONE_SIDED);
        let first = if stream.chance(PROVISIONAL) {
            5_000
        } else if one_sided {
            stream.below(2) as u32
        } else {
            0
        };
        let kept = 0.6 + 0.38 * stream.unit();
        let (step, metres) = match (street.is_metric, one_sided) {
            (true, _) => (1, 1.0),
            (false, true) => (2, 9.0),
            (false, false) => (1, 9.0),
        };
        let metres = metres * stream.spread(0.3);
        let heading = stream.unit() * TAU;
        let length = if street.is_metric {
            street.houses as f64 * 32.0
        } else {
            street.houses as f64 / kept * metres
        };
        let (north, east) = heading.sin_cos();
        let back = length / 2.0;
        Self {
            // The first step leads to 1, or to the first number of its side.
            number: first,
            step,
            is_metric: street.is_metric,
            kept,
            metres: if street.is_metric { 1.0 } else { metres },
            heading,
            bend: stream.normal() * 0.012,
            at: offset(street.middle, -back * north, -back * east),
            width: 6.0 + 8.0 * stream.unit(),
        }
    }

    /// Advances to the next number that exists.
    fn advance(&mut self, stream: &mut Stream) {
        let mut steps = 1;
        if self.is_metric {
            steps = stream.between(4, 60) as u32;
        } else {
            while !stream.chance(self.kept) {
                steps += 1;
            }
        }
        self.number += steps * self.step;
        // On a street with only even numbers the first one is 2.
        self.number = self.number.max(1);
        let length = f64::from(steps) * self.metres;
        let (north, east) = self.heading.sin_cos();
        self.at = offset(self.at, length * north, length * east);
        self.heading += self.bend;
    }

    fn position(&self, suffix: &str, stream: &mut Stream) -> (f64, f64) {
        let side = if self.number.is_multiple_of(2) {
            self.width
        } else {
            -self.width
        };
        let beyond = if suffix.is_empty() { 0.0 } else { 4.0 };
        let (north, east) = self.heading.sin_cos();
        let along = beyond + stream.unit() * 3.0;
        offset(
            self.at,
            along * north - side * east,
            along * east + side * north,
        )
    }
}
