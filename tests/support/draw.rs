//! Random numbers from a seed, so that a failure can be reproduced: its message contains the seed.

use toise::base::splitmix::SplitMix64;

/// Random choices of test cases.
#[derive(Clone)]
pub struct Draw(SplitMix64);

impl Draw {
    /// Draws from a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// True with probability 1 in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of a list.
    pub fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Shuffles a list.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}
