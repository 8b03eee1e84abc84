//! SplitMix64 (Steele, Lea and Flood 2014): pseudo-random numbers that never change.
//!
//! Not from the `rand` crate: its small generators may change between versions, but here the same seed must give
//! the same bytes after any upgrade. Synthetic data, stored digests and evaluations depend on these bits, so
//! existing functions must not change. One number costs one addition and three mixes, about a nanosecond.

/// The golden ratio's fraction as 64 bits; added to the state at each step.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// Multiplies the second of two mixed numbers, to distinguish it from the first.
const SECOND_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// Mixes 64 bits so that neighbouring inputs give unrelated outputs. Equals the first number of the stream with this
/// seed.
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(GOLDEN_GAMMA);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Mixes another number into 64 bits that are already mixed.
#[inline]
pub fn mix_into(mixed: u64, number: u64) -> u64 {
    mix(mixed ^ number.wrapping_mul(SECOND_FACTOR))
}

/// Spreads small numbers over 64 bits with one multiplication. Enough to distinguish them, but not random.
#[inline]
pub fn spread(value: u64) -> u64 {
    value.wrapping_mul(GOLDEN_GAMMA)
}

/// Converts 64 mixed bits to a number in [0, 1), from the upper 53 bits.
#[inline]
pub fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns a number in [0, 1) that depends only on the key, so a key always falls into the same share.
#[inline]
pub fn hash_unit(key: u64) -> f64 {
    to_unit(mix(key))
}

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Creates the stream of a seed.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let drawn = mix(self.state);
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        drawn
    }

    /// Returns the next number, uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        to_unit(self.bits())
    }

    /// Returns the next number, uniform in [0, `bound`): the upper half of the product of the bits and the bound. 0 for
    /// an empty range.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_match_the_reference_implementation() {
        let mut stream = SplitMix64::new(1_234_567);
        let drawn: [u64; 5] = std::array::from_fn(|_| stream.bits());
        // Published with Vigna's splitmix64.c and verified by many other implementations.
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
        assert_eq!(mix(1_234_567), drawn[0]);
    }

    #[test]
    fn units_and_bounded_numbers_come_from_the_same_bits() {
        let bits = SplitMix64::new(7).bits();
        assert_eq!(SplitMix64::new(7).unit(), to_unit(bits));
        assert_eq!(hash_unit(7), to_unit(bits));
        assert_eq!(
            SplitMix64::new(7).below(10),
            (SplitMix64::new(7).unit() * 10.0) as usize
        );
        assert_eq!(SplitMix64::new(7).below(0), 0);
        assert!((0.0..1.0).contains(&to_unit(u64::MAX)));
    }
}
