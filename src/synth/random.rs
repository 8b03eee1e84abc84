//! The generator's own streams of pseudo-random numbers, and the draws from them.
//!
//! Numbers come from SplitMix64 ([`toise_base::splitmix`]), which never changes: the same seed gives the same bytes. A
//! stream per block makes the output the same with any number of threads.

use toise_base::splitmix::{SplitMix64, mix_into};
pub use toise_base::splitmix::{mix, to_unit};

/// Mixes two numbers into one.
pub fn mix2(first: u64, second: u64) -> u64 {
    mix_into(mix(first), second)
}

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Stream(SplitMix64);

impl Stream {
    /// Creates the stream of one block of one dataset.
    pub fn new(seed: u64, dataset: u64, block: u64) -> Self {
        Self(SplitMix64::new(mix2(mix2(seed, dataset), block)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number, uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// An index, uniform in [0, `bound`); 0 for an empty range.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    /// An integer, uniform from `least` to `greatest`, both inclusive.
    pub fn between(&mut self, least: i64, greatest: i64) -> i64 {
        least + self.below((greatest - least + 1).max(1) as usize) as i64
    }

    /// Approximately normal with mean 0 and standard deviation 1, within ±3.46: the sum of four uniform numbers, which
    /// is cheap and has no extreme tails.
    pub fn normal(&mut self) -> f64 {
        let bits = self.bits();
        let quarter = |shift: u32| f64::from(((bits >> shift) & 0xFFFF) as u32) / 65_536.0;
        (quarter(0) + quarter(16) + quarter(32) + quarter(48) - 2.0) * 3f64.sqrt()
    }

    /// A factor around 1 whose logarithm has the given standard deviation.
    pub fn spread(&mut self, deviation: f64) -> f64 {
        (self.normal() * deviation).exp()
    }

    /// An index, drawn in proportion to `weights`.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        weighted_at(self.unit(), weights)
    }

    /// One of `choices`, which is never empty.
    pub fn pick<T: Copy, const N: usize>(&mut self, choices: &[T; N]) -> T {
        choices[self.below(N)]
    }
}

/// Returns the index at quantile `unit` of the distribution `weights`.
pub fn weighted_at(unit: f64, weights: &[f64]) -> usize {
    let mut left = unit * weights.iter().sum::<f64>();
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return index;
        }
    }
    weights.len().saturating_sub(1)
}
