//! The three verdicts of a comparison, and the probabilities that separate them.

use std::ops::Range;

use serde::Serialize;

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DedupVerdict {
    /// The same asset: the adverts are merged.
    Same,
    /// Perhaps the same asset: the adverts stay apart, and the pair is listed for a person to decide.
    Possible,
    /// Different assets.
    Different,
}

/// The probabilities from which two adverts are merged, or listed as possibly the same.
///
/// A wrong merge is far worse than a missed one: identifiers, price histories, alerts and market figures of two homes
/// become one. So only nearly certain pairs are merged, and merely likely pairs are shown to a person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    same_bits: f32,
    possible_bits: f32,
}

impl Thresholds {
    /// Default probability from which adverts are merged: of fifty merges at the threshold, one is wrong.
    pub const SAME_PROBABILITY: f64 = 0.98;
    /// Default probability from which a pair is listed as possibly the same.
    pub const POSSIBLE_PROBABILITY: f64 = 0.5;
    /// Minimum probability that may be set: comparisons that cannot reach it are not made.
    pub const PROBABILITY_MIN: f64 = 0.25;

    /// Probabilities that may be set: nothing is certain, so 1 is excluded.
    pub const ALLOWED: Range<f64> = Self::PROBABILITY_MIN..1.0;

    /// Creates thresholds from probabilities; `None` unless both are in [`Thresholds::ALLOWED`] and `possible <= same`.
    pub fn new(same: f64, possible: f64) -> Option<Self> {
        let are_allowed = [same, possible]
            .iter()
            .all(|one| Self::ALLOWED.contains(one));
        (are_allowed && possible <= same).then(|| Self {
            same_bits: bits(same),
            possible_bits: bits(possible),
        })
    }

    /// Returns whether a comparison of these bits leads to a merge.
    pub fn is_merge(self, bits: f32) -> bool {
        self.verdict(bits) == DedupVerdict::Same
    }

    /// Returns the verdict for a comparison of these bits.
    pub fn verdict(self, bits: f32) -> DedupVerdict {
        if bits >= self.same_bits {
            DedupVerdict::Same
        } else if bits >= self.possible_bits {
            DedupVerdict::Possible
        } else {
            DedupVerdict::Different
        }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            same_bits: bits(Self::SAME_PROBABILITY),
            possible_bits: bits(Self::POSSIBLE_PROBABILITY),
        }
    }
}

/// Returns the binary logarithm of the odds of a probability.
fn bits(probability: f64) -> f32 {
    (probability / (1.0 - probability)).log2() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_follows_from_the_probability() {
        let thresholds = Thresholds::default();
        assert_eq!(thresholds.verdict(bits(0.981)), DedupVerdict::Same);
        assert_eq!(thresholds.verdict(bits(0.979)), DedupVerdict::Possible);
        assert_eq!(thresholds.verdict(bits(0.49)), DedupVerdict::Different);
    }

    #[test]
    fn thresholds_out_of_order_are_refused() {
        assert!(Thresholds::new(0.99, 0.4).is_some());
        assert!(Thresholds::new(0.4, 0.6).is_none());
        assert!(Thresholds::new(1.0, 0.5).is_none());
        assert!(Thresholds::new(0.9, 0.01).is_none());
    }
}
