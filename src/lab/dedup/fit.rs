//! Estimates match weights from compared pairs, most of them unlabelled.
//!
//! Uses expectation–maximisation (Winkler, 1988). Each round computes from the weights how likely each pair is one
//! asset. It then counts how often each level occurs among pairs of one asset and of two, with pairs weighted by that
//! probability. The binary logarithm of the ratio of the two frequencies is the new weight (Fellegi and Sunter, 1969).
//! A pair that a person labelled keeps its label.
//!
//! The ratio is the right weight if fields are independent. They are not: flats of one building agree in most fields.
//! So in each round a weight stays within two bits of the one in use, and a person decides about the rest of the
//! difference.

use serde::Serialize;

use toise_dedup::Comparison;
use toise_dedup::weights::{ComparedField, FIELDS, WEIGHTS};

/// Pairs added to every count, so that unseen levels are not treated as impossible.
const SMOOTHING: f64 = 2.0;
/// Number of rounds of expectation–maximisation.
const ROUNDS: usize = 10;
/// Maximum distance of an estimate from the weight in use, bits.
const REACH_BITS: f64 = 2.0;
/// Maximum number of levels in a field.
const LEVELS_MAX: usize = 12;
/// Code of a field that was not compared.
const NOT_COMPARED: u8 = u8::MAX;

/// A compared pair of adverts.
#[derive(Clone, Copy, Debug)]
struct ComparedPair {
    levels: [u8; FIELDS],
    one_seller: bool,
    /// Probability that it is one asset: 0 or 1 if a person labelled it.
    same: f64,
    /// Whether a person labelled it.
    is_labelled: bool,
    /// Evidence that does not come from levels, bits: the prior, the rarity of equal values, lookalikes, and what
    /// other fields change in the weight of a level. It is not fitted.
    other_bits: f64,
    /// Number of pairs it counts as.
    weight: f64,
}

/// Collects compared pairs and derives weights from them.
#[derive(Clone, Debug, Default)]
pub struct WeightFitter {
    pairs: Vec<ComparedPair>,
}

/// The fitted weights of a level.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FittedLevel {
    /// Description of the level.
    pub about: &'static str,
    /// Whether it applies to adverts of one seller.
    pub one_seller: bool,
    /// Expected number of pairs of one asset at this level.
    pub same: f64,
    /// Expected number of pairs of two assets at this level.
    pub different: f64,
    /// Binary logarithm of the ratio of the two frequencies.
    pub ratio_bits: f64,
    /// The estimated weight: that ratio, limited to two bits from the weight in use.
    pub fitted_bits: f64,
    /// Weight in the current table, in bits.
    pub bits_in_use: f32,
}

/// The fitted levels of a field.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FittedField {
    /// Name of the field.
    pub field: &'static str,
    /// Levels of the field.
    pub levels: Vec<FittedLevel>,
}

/// All fitted weights.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FittedWeights {
    /// Expected number of pairs of one asset.
    pub same: f64,
    /// Expected number of pairs of two assets.
    pub different: f64,
    /// The compared fields.
    pub fields: Vec<FittedField>,
}

/// Values by field, by whether the sellers are equal, and by level.
type LevelTable<T> = [[[T; LEVELS_MAX]; 2]; FIELDS];

impl WeightFitter {
    /// Adds a pair that counts as `weight` pairs. `same` is a person's label: whether it is one asset; `None` if it has
    /// no label. Pairs that are vetoed or belong to programmes are ignored, because rules decide them and not weights.
    pub fn add(&mut self, comparison: &Comparison, same: Option<bool>, weight: f64) {
        if comparison.veto.is_some() || comparison.programme {
            return;
        }
        let one_seller = comparison.one_seller;
        let (mut levels, mut other_bits) = ([NOT_COMPARED; FIELDS], comparison.bits);
        // A text that homes of a series share has no weight.
        let counts = |field: ComparedField| field != ComparedField::Text || !comparison.is_series();
        let evidence = comparison.evidence.iter();
        for evidence in evidence.filter(|one| counts(one.field)) {
            levels[evidence.field as usize] = evidence.level;
            let levels_in_use = WEIGHTS[evidence.field as usize].levels;
            let in_use = levels_in_use[usize::from(evidence.level)].bits;
            other_bits -= in_use[usize::from(one_seller)];
        }
        self.pairs.push(ComparedPair {
            levels,
            one_seller,
            same: match same {
                Some(same) => f64::from(u8::from(same)),
                None => comparison.probability(),
            },
            is_labelled: same.is_some(),
            other_bits: f64::from(other_bits),
            weight,
        });
    }

    /// Estimates the weights. CPU-bound, on the calling thread.
    pub fn fit(mut self) -> FittedWeights {
        let mut fitted = weights_in_use();
        let mut counted = LevelCounts::of(&self.pairs);
        for _ in 0..ROUNDS {
            fitted = counted.bounded_ratios();
            for pair in self.pairs.iter_mut().filter(|pair| !pair.is_labelled) {
                pair.same = pair.probability(&fitted);
            }
            counted = LevelCounts::of(&self.pairs);
        }
        let LevelCounts { counts, totals } = &counted;
        let ratios = counted.ratios();
        let fields = WEIGHTS
            .iter()
            .enumerate()
            .map(|(field, weights)| FittedField {
                field: name(field),
                levels: (0..2)
                    .flat_map(|sellers| {
                        weights
                            .levels
                            .iter()
                            .enumerate()
                            .map(move |one| (sellers, one))
                    })
                    .map(|(sellers, (level, entry))| FittedLevel {
                        about: entry.about,
                        one_seller: sellers == 1,
                        same: counts[field][sellers][level][1],
                        different: counts[field][sellers][level][0],
                        ratio_bits: ratios[field][sellers][level],
                        fitted_bits: fitted[field][sellers][level],
                        bits_in_use: entry.bits[sellers],
                    })
                    .collect(),
            });
        FittedWeights {
            same: totals[1],
            different: totals[0],
            fields: fields.collect(),
        }
    }
}

/// Frequencies of each level among pairs of two assets and of one.
struct LevelCounts {
    counts: LevelTable<[f64; 2]>,
    totals: [f64; 2],
}

impl LevelCounts {
    fn of(pairs: &[ComparedPair]) -> Self {
        let mut counts: LevelTable<[f64; 2]> = [[[[0.0; 2]; LEVELS_MAX]; 2]; FIELDS];
        let mut totals = [0.0; 2];
        for pair in pairs {
            let shares = [1.0 - pair.same, pair.same].map(|share| pair.weight * share);
            for (total, share) in totals.iter_mut().zip(shares) {
                *total += share;
            }
            for (field, level) in pair.present() {
                let counted = &mut counts[field][usize::from(pair.one_seller)][level];
                for (count, share) in counted.iter_mut().zip(shares) {
                    *count += share;
                }
            }
        }
        Self { counts, totals }
    }

    /// Returns the binary logarithm of the ratio of the two frequencies of each level.
    fn ratios(&self) -> LevelTable<f64> {
        let mut ratios: LevelTable<f64> = [[[0.0; LEVELS_MAX]; 2]; FIELDS];
        for (field, weights) in WEIGHTS.iter().enumerate() {
            for (sellers, counted) in self.counts[field].iter().enumerate() {
                let known = |same: usize| {
                    let all: f64 = counted.iter().map(|level| level[same]).sum();
                    all + SMOOTHING * weights.levels.len() as f64
                };
                for (level, counted) in counted.iter().enumerate().take(weights.levels.len()) {
                    let share = |same: usize| (counted[same] + SMOOTHING) / known(same);
                    ratios[field][sellers][level] = (share(1) / share(0)).log2();
                }
            }
        }
        ratios
    }

    /// Returns the ratios, limited to [`REACH_BITS`] from the weights in use; levels that do not occur keep those.
    fn bounded_ratios(&self) -> LevelTable<f64> {
        let (in_use, mut bits) = (weights_in_use(), self.ratios());
        for (field, sellers) in bits.iter_mut().enumerate() {
            for (seller, levels) in sellers.iter_mut().enumerate() {
                for (level, bits) in levels.iter_mut().enumerate() {
                    let near = in_use[field][seller][level];
                    let is_seen = self.counts[field][seller][level].iter().sum::<f64>() >= 1.0;
                    *bits = if is_seen {
                        bits.clamp(near - REACH_BITS, near + REACH_BITS)
                    } else {
                        near
                    };
                }
            }
        }
        bits
    }
}

impl ComparedPair {
    /// Iterates over the compared fields with their levels.
    fn present(&self) -> impl Iterator<Item = (usize, usize)> {
        let levels = self.levels.iter().enumerate();
        let present = levels.filter(|(_, level)| **level != NOT_COMPARED);
        present.map(|(field, level)| (field, usize::from(*level)))
    }

    /// Returns the probability that it is one asset, by these weights.
    fn probability(&self, bits: &LevelTable<f64>) -> f64 {
        let of_seller = usize::from(self.one_seller);
        let sum: f64 = self
            .present()
            .map(|(field, level)| bits[field][of_seller][level])
            .sum();
        1.0 / (1.0 + (-(sum + self.other_bits)).exp2())
    }
}

fn weights_in_use() -> LevelTable<f64> {
    let mut bits: LevelTable<f64> = [[[0.0; LEVELS_MAX]; 2]; FIELDS];
    for (field, weights) in WEIGHTS.iter().enumerate() {
        for (level, entry) in weights.levels.iter().enumerate() {
            for (sellers, in_use) in entry.bits.iter().enumerate() {
                bits[field][sellers][level] = f64::from(*in_use);
            }
        }
    }
    bits
}

fn name(field: usize) -> &'static str {
    const NAMES: [&str; FIELDS] = [
        "place", "address", "surface", "land", "rooms", "bedrooms", "floor", "building", "price",
        "energy", "amenities", "text", "title", "figures", "photos", "seller", "reference",
        "portal", "identifier", "condominium", "district", "kind", "previous price",
    ];
    NAMES[field]
}
