//! Portal rates: how often two portals show one home, learned from a store.
//!
//! Two portals that all agencies use have most homes in common; two portals for different markets have hardly any. So
//! the odds before any comparison depend on the pair of portals. A store learns them from a field that is hidden from
//! the comparison (`toise properties rebuild`). For each pair of portals, [`RateLearner`] counts how many pairs of
//! adverts are one home according to the comparison, and how many according to the hidden field. The difference in bits
//! is the rate.

use std::collections::HashMap;

use super::inline_vec::InlineVec;

/// Maximum rate, bits. Flats of one building also share an energy class, so agreement in it alone must not make merges
/// likely.
pub(super) const RATE_BITS_MAX: f32 = 1.0;
/// Minimum rate, bits.
const RATE_BITS_MIN: f32 = -3.0;
/// Maximum rates kept per portal: those with most pairs.
pub const RATES_MAX: usize = 16;
/// Comparisons with bits in this range count for a rate. With fewer bits the homes differ; with more they are certainly
/// one.
const COUNTED_BITS: std::ops::Range<f32> = 1.0..8.0;
/// Steps per bit in which comparisons are counted.
const STEPS_PER_BIT: f32 = 4.0;
const STEPS: usize = 28;
/// Number of pairs that the usual rate counts as.
const USUAL_PAIRS: f64 = 40.0;
/// Rates within this many bits of the usual one count as the usual one.
const RATE_BITS_LEAST: f32 = 0.1;
/// Bisection steps in the search for a rate.
const HALVINGS: u32 = 24;

/// The rates of one portal with each other portal, bits; 0 for a portal that is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PortalRates(InlineVec<(u32, f32), RATES_MAX>);

impl PortalRates {
    /// Returns the rate with another portal.
    pub fn with(&self, portal: u32) -> f32 {
        let found = self.0.iter().find(|(other, _)| *other == portal);
        found.map_or(0.0, |(_, bits)| *bits)
    }
}

impl FromIterator<(u32, f32)> for PortalRates {
    /// Keeps the first [`RATES_MAX`].
    fn from_iter<I: IntoIterator<Item = (u32, f32)>>(rates: I) -> Self {
        let mut kept = InlineVec::default();
        for rate in rates {
            if !kept.push(rate) {
                break;
            }
        }
        Self(kept)
    }
}

/// Pairs at each step of bits: how many, and how many of them agree in the hidden field.
type Histogram = [(u32, u32); STEPS];

/// Learns the rates of pairs of portals.
#[derive(Clone, Debug, Default)]
pub struct RateLearner {
    counts: HashMap<(u32, u32), Histogram>,
}

impl RateLearner {
    /// Counts a comparison made without a field, and whether the adverts agree in that field. `bits` must not contain a
    /// rate. Two adverts of one portal are not counted.
    pub fn add(&mut self, portals: (u32, u32), bits: f32, agrees: bool) {
        if portals.0 == portals.1 || !COUNTED_BITS.contains(&bits) {
            return;
        }
        let pair = (portals.0.min(portals.1), portals.0.max(portals.1));
        let histogram = self.counts.entry(pair).or_insert([(0, 0); STEPS]);
        let step = ((bits - COUNTED_BITS.start) * STEPS_PER_BIT) as usize;
        let (pairs, agreeing) = &mut histogram[step.min(STEPS - 1)];
        *pairs += 1;
        *agreeing += u32::from(agrees);
    }

    /// Adds the counts of another learner.
    pub fn join(&mut self, other: Self) {
        for (pair, more) in other.counts {
            let histogram = self.counts.entry(pair).or_insert([(0, 0); STEPS]);
            for (step, more) in histogram.iter_mut().zip(more) {
                step.0 += more.0;
                step.1 += more.1;
            }
        }
    }

    /// Returns the rates of all pairs of portals, in no particular order. `chance` is the share of pairs of different
    /// homes that agree in the hidden field, `usual` that of pairs of one home, which must be greater.
    pub fn rates(
        &self,
        chance: f64,
        usual: f64,
    ) -> impl Iterator<Item = ((u32, u32), LearnedRate)> + '_ {
        let counts = self.counts.iter();
        counts.map(move |(pair, histogram)| (*pair, learned(histogram, chance, usual)))
    }
}

/// A rate, and the pairs of adverts from which it was learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnedRate {
    /// The rate before it is shrunk towards the usual one, bits.
    pub bits: f32,
    /// Pairs of adverts.
    pub pairs: u32,
}

impl LearnedRate {
    /// Combines the rates from each hidden field into the rate to use: their mean weighted by pairs, shrunk towards the
    /// usual rate if there are few pairs. Returns `None` if that is the usual rate.
    pub fn joined(fields: &[Self]) -> Option<f32> {
        let pairs: f64 = fields.iter().map(|field| f64::from(field.pairs)).sum();
        let sum: f64 = fields
            .iter()
            .map(|field| f64::from(field.bits) * f64::from(field.pairs))
            .sum();
        let bits = (sum / (pairs + USUAL_PAIRS)) as f32;
        (bits.abs() >= RATE_BITS_LEAST).then_some(bits)
    }
}

/// Finds the bits that make the expected number of pairs of one home equal to the number from the hidden field.
fn learned(histogram: &Histogram, chance: f64, usual: f64) -> LearnedRate {
    let pairs: u32 = histogram.iter().map(|(pairs, _)| pairs).sum();
    let agreeing: u32 = histogram.iter().map(|(_, agreeing)| agreeing).sum();
    let of_one_home = (f64::from(agreeing) - f64::from(pairs) * chance) / (usual - chance);
    let expected = |rate: f32| -> f64 {
        let steps = histogram.iter().enumerate().map(|(step, (pairs, _))| {
            let bits = COUNTED_BITS.start + (step as f32 + 0.5) / STEPS_PER_BIT + rate;
            f64::from(*pairs) / (1.0 + f64::from(-bits).exp2())
        });
        steps.sum()
    };
    let (mut low, mut high) = (RATE_BITS_MIN, RATE_BITS_MAX);
    for _ in 0..HALVINGS {
        let middle = f32::midpoint(low, high);
        if expected(middle) < of_one_home {
            low = middle
        } else {
            high = middle
        }
    }
    LearnedRate { bits: low, pairs }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Learns the rate of pairs at 4 bits, of which a share is one home. One home agrees in nine of ten cases, others
    /// in three.
    fn rate(share_right: f64, pairs: u32) -> f32 {
        let mut learner = RateLearner::default();
        let agreeing = (f64::from(pairs) * (0.3 + 0.6 * share_right)).round() as u32;
        for number in 0..pairs {
            learner.add((2, 1), 4.0, number < agreeing);
        }
        let (pair, rate) = learner.rates(0.3, 0.9).next().unwrap();
        assert_eq!(pair, (1, 2));
        rate.bits
    }

    #[test]
    fn portals_that_share_fewer_homes_than_expected_get_a_negative_rate() {
        assert!(rate(0.94, 1_000).abs() < 0.3, "{}", rate(0.94, 1_000));
        let halved = rate(0.8, 1_000);
        assert!((-2.4..-1.6).contains(&halved), "{halved}");
        assert!(rate(1.0, 1_000) <= RATE_BITS_MAX);
        assert!(rate(0.0, 1_000) >= RATE_BITS_MIN);
    }

    #[test]
    fn few_pairs_leave_the_usual_rate() {
        let of = |pairs: u32| LearnedRate { bits: -2.0, pairs };
        assert_eq!(LearnedRate::joined(&[of(1)]), None);
        assert_eq!(LearnedRate::joined(&[of(20), of(20)]), Some(-1.0));
        assert!(LearnedRate::joined(&[of(4_000)]).is_some_and(|bits| bits < -1.9));
    }

    #[test]
    fn a_portal_without_rates_has_the_usual_one() {
        let rates: PortalRates = [(7, -1.5)].into_iter().collect();
        assert_eq!(rates.with(7), -1.5);
        assert_eq!(rates.with(8), 0.0);
    }
}
