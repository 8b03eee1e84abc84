//! Calibration: checks probabilities against a field that the comparison did not see.
//!
//! A store has no labels that say which adverts are one home. But a field that is hidden from the comparison is
//! evidence: two adverts of one home nearly always agree in it, two adverts of different homes only by chance. So the
//! share of pairs that agree in it shows how many pairs are one home:
//!
//! `right = (agreeing - chance) / (usual - chance)`
//!
//! `chance` is the share that agrees among pairs that are certainly two homes; `usual` is the share among pairs that
//! pictures, a reference or a telephone number identify. The probabilities are calibrated if, by this measure, nine in
//! ten pairs with a probability of 0.9 are one home.
//!
//! The same counts show how often each pair of portals shows one home ([`Listings::learn_portal_rates`]).

use std::collections::BTreeMap;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rusqlite::Connection;
use serde::Serialize;

use crate::placement::find::AdvertsAround;
use crate::records::rows;
use crate::{Listings, Result};
use toise_base::progress::Progress;
use toise_dedup::{
    Comparison, Fingerprint, LearnedRate, RateLearner, compare_among, contradictions,
};

/// Lower bounds of the probabilities of each bin.
const BOUNDS: [f64; 9] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.98, 0.995, 0.9995];
/// Probability below which pairs are certainly two homes.
const SURELY_TWO: f64 = 0.001;
/// Of the pairs that outlines rule out, one in this many is counted.
const RULED_OUT_STEP: usize = 8;
/// Maximum adverts compared, evenly spread over the store.
const ADVERTS_MAX: u64 = 30_000;
/// Maximum adverts for which all pairs are compared to estimate weights.
const FITTED_ADVERTS_MAX: u64 = 5_000;
/// Adverts compared at once.
const ADVERTS_PER_GROUP: usize = 1_000;
/// Minimum pairs of two homes for an estimate of chance that is good enough to learn rates.
const CHANCE_PAIRS_MIN: u64 = 200;
/// Minimum difference between the shares of pairs of one home and of two homes that agree in a field; below it, the
/// field is not evidence.
const SPREAD_MIN: f64 = 0.2;
/// Minimum identified pairs for taking the share that agrees from the store.
const IDENTIFIED_MIN: u64 = 100;

toise_base::named! {
    /// A field that is hidden from the comparison.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum HiddenField {
        /// The energy class.
        Energy = "energy class",
        /// The storey.
        Floor = "storey",
        /// The name of the district, between adverts of one portal.
        District = "district",
    }
}

impl HiddenField {
    /// Returns the share of pairs of one home that agree, for a store with too few identified pairs to measure it. The
    /// value was measured on the labelled pairs of `benches/adverts`.
    fn usual_agreement(self) -> f64 {
        match self {
            Self::Energy => 0.96,
            Self::Floor => 0.94,
            Self::District => 0.90,
        }
    }

    /// Returns the advert without the field; `None` if it lacks the field.
    fn hidden_from(self, advert: &Fingerprint) -> Option<Fingerprint> {
        match self {
            Self::Energy => advert.energy_class.map(|_| Fingerprint {
                energy_class: None,
                climate_class: None,
                energy_score: None,
                climate_score: None,
                ..*advert
            }),
            Self::Floor => advert.floor.map(|_| Fingerprint {
                floor: None,
                ..*advert
            }),
            Self::District => advert.district.map(|_| Fingerprint {
                district: None,
                ..*advert
            }),
        }
    }

    /// Returns whether two adverts agree; `None` if they cannot be compared in the field.
    fn agrees(self, one: &Fingerprint, other: &Fingerprint) -> Option<bool> {
        match self {
            Self::Energy => Some(one.energy_class? == other.energy_class?),
            Self::Floor => Some(one.floor? == other.floor?),
            Self::District if one.portal != other.portal => None,
            Self::District => Some(one.district? == other.district?),
        }
    }
}

/// Pairs with probabilities between two bounds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CalibrationBin {
    /// Lowest probability.
    pub from: f64,
    /// Pairs.
    pub pairs: u64,
    /// Their mean probability in the comparison without the hidden field.
    pub expected: f64,
    /// The share of them that agrees in the hidden field.
    pub agreeing: f64,
    /// The share of them that is one home by this measure, 0 to 1.
    pub right: f64,
    /// The standard error of that share.
    pub error: f64,
}

/// Calibration by one hidden field.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldCalibration {
    /// The field.
    pub field: HiddenField,
    /// Share of pairs of two homes that agree in it.
    pub chance: f64,
    /// Share of pairs of one home that agree in it.
    pub usual: f64,
    /// Whether that share was measured in this store; otherwise it is the usual one.
    pub usual_is_measured: bool,
    /// Pairs by probability, the lowest first; empty bins are omitted.
    pub bins: Vec<CalibrationBin>,
    /// Pairs whose probability without the field is high enough for a merge.
    pub merges: u64,
    /// The share of such merges that is wrong.
    pub wrong_without: f64,
    /// Its standard error.
    pub wrong_error: f64,
    /// The wrong share among those that also agree in the field: the merges that are made when both adverts have the
    /// field.
    pub wrong: f64,
}

/// Calibration of a store by each field; fields that too few adverts have are missing.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CalibrationReport {
    /// Adverts that were compared.
    pub adverts: u64,
    /// The fields.
    pub fields: Vec<FieldCalibration>,
}

impl CalibrationReport {
    /// Returns the share of merges that is wrong, over all fields together; `None` if no field allows an estimate.
    pub fn wrong_share(&self) -> Option<f64> {
        let pairs: u64 = self.fields.iter().map(|field| field.merges).sum();
        let wrong = self
            .fields
            .iter()
            .map(|field| field.merges as f64 * field.wrong);
        (pairs > 0).then(|| wrong.sum::<f64>() / pairs as f64)
    }
}

/// Counts of pairs by a hidden field.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    pairs: u64,
    agreeing: u64,
    probability: f64,
}

impl Tally {
    fn add(&mut self, agrees: bool, probability: f64) {
        self.pairs += 1;
        self.agreeing += u64::from(agrees);
        self.probability += probability;
    }

    fn join(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.agreeing += other.agreeing;
        self.probability += other.probability;
    }

    fn share(&self) -> f64 {
        self.agreeing as f64 / self.pairs.max(1) as f64
    }
}

#[derive(Clone, Debug, Default)]
struct Tallies {
    bins: [Tally; BOUNDS.len()],
    two_homes: Tally,
    identified: Tally,
    merges: Tally,
    rates: RateLearner,
}

impl Tallies {
    fn join(&mut self, other: Self) {
        for (bin, more) in self.bins.iter_mut().zip(other.bins) {
            bin.join(more);
        }
        self.two_homes.join(other.two_homes);
        self.identified.join(other.identified);
        self.merges.join(other.merges);
        self.rates.join(other.rates);
    }

    /// Returns the share of pairs of two homes that agree in the field.
    fn chance(&self) -> f64 {
        self.two_homes.share()
    }

    /// Returns the share of pairs of one home that agree in the field, and whether it was measured in this store.
    fn usual(&self, field: HiddenField) -> (f64, bool) {
        if self.identified.pairs >= IDENTIFIED_MIN {
            (self.identified.share(), true)
        } else {
            (field.usual_agreement(), false)
        }
    }
}

/// The tallies of each field, in the order of [`HiddenField::ALL`], and the adverts compared.
#[derive(Clone, Debug, Default)]
struct StoreTallies {
    adverts: u64,
    fields: [Tallies; HiddenField::ALL.len()],
}

impl StoreTallies {
    fn join(mut self, other: Self) -> Self {
        self.adverts += other.adverts;
        for (field, more) in self.fields.iter_mut().zip(other.fields) {
            field.join(more);
        }
        self
    }

    fn by_field(&self) -> impl Iterator<Item = (HiddenField, &Tallies)> {
        HiddenField::ALL.into_iter().zip(&self.fields)
    }

    /// Returns the rates of pairs of portals that differ from the usual one, bits, with the number of pairs of adverts
    /// from which each was learned.
    fn portal_rates(&self) -> Vec<((u32, u32), f32, u32)> {
        let mut learned: BTreeMap<(u32, u32), Vec<LearnedRate>> = BTreeMap::new();
        for (field, tallies) in self.by_field() {
            let (chance, (usual, _)) = (tallies.chance(), tallies.usual(field));
            if tallies.two_homes.pairs < CHANCE_PAIRS_MIN || usual - chance < SPREAD_MIN {
                continue;
            }
            for (portals, rate) in tallies.rates.rates(chance, usual) {
                learned.entry(portals).or_default().push(rate);
            }
        }
        let rates = learned.into_iter().filter_map(|(portals, fields)| {
            let pairs = fields.iter().map(|field| field.pairs).sum();
            Some((portals, LearnedRate::joined(&fields)?, pairs))
        });
        rates.collect()
    }
}

impl Listings {
    /// Checks the probabilities of this store against hidden fields. At most 30,000 adverts are compared, which takes
    /// about a minute. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn calibration(&self, progress: Progress) -> Result<CalibrationReport> {
        let counted = self.tallies("checking probabilities", progress)?;
        let fields = counted.by_field();
        let fields = fields.filter(|(_, tallies)| tallies.merges.pairs > 0);
        Ok(CalibrationReport {
            adverts: counted.adverts,
            fields: fields
                .map(|(field, tallies)| calibration(field, tallies))
                .collect(),
        })
    }

    /// Learns how often each pair of portals shows one home, and stores it for all later comparisons. Returns once
    /// durable. Blocks: a minute.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) fn learn_portal_rates(&self, progress: Progress) -> Result<()> {
        let rates = self.tallies("comparing portals", progress)?.portal_rates();
        self.store.write_with(move |transaction| -> Result<()> {
            transaction.execute("DELETE FROM portal_rates", [])?;
            let mut insert = transaction.prepare_cached(
                "INSERT OR IGNORE INTO portal_rates (portal, other, bits, pairs) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for ((one, other), bits, pairs) in rates {
                insert.execute((one, other, bits, pairs))?;
                insert.execute((other, one, bits, pairs))?;
            }
            Ok(())
        })
    }

    /// Compares adverts without each field and counts the pairs.
    fn tallies(&self, name: &str, progress: Progress) -> Result<StoreTallies> {
        let mut total = StoreTallies::default();
        self.for_each_sample(ADVERTS_MAX, name, progress, |sample| {
            let counted = sample.into_par_iter().map(|(advert, fingerprint)| {
                self.store.read_with(|connection| {
                    let mut counted = StoreTallies {
                        adverts: 1,
                        ..StoreTallies::default()
                    };
                    for (field, tallies) in HiddenField::ALL.into_iter().zip(&mut counted.fields) {
                        if let Some(hidden) = field.hidden_from(&fingerprint) {
                            let pair = (advert, &fingerprint, &hidden);
                            self.compare_hidden(connection, field, pair, tallies)?;
                        }
                    }
                    Ok(counted)
                })
            });
            let joined = counted.try_reduce(StoreTallies::default, |one, other| {
                Result::Ok(one.join(other))
            })?;
            total = std::mem::take(&mut total).join(joined);
            Ok(())
        })?;
        Ok(total)
    }

    /// Calls `each` with the comparison of every pair around adverts that are evenly spread over the store. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn for_each_pair_around(
        &self,
        progress: Progress,
        mut each: impl FnMut(&Comparison),
    ) -> Result<()> {
        self.for_each_sample(
            FITTED_ADVERTS_MAX,
            "comparing adverts",
            progress,
            |sample| {
                let compared = sample.into_par_iter().map(|(advert, fingerprint)| {
                    self.store.read_with(|connection| {
                        let around = AdvertsAround::find(connection, &fingerprint, advert)?;
                        let others = around.near.iter().chain(&around.ruled_out);
                        let others = others.filter(|other| **other < advert);
                        others
                            .map(|other| {
                                let other = rows::fingerprint_of(connection, *other)?;
                                let (compared, common) = (&around.compared, &around.surroundings);
                                Ok(compare_among(compared, &other, common))
                            })
                            .collect::<Result<Vec<_>>>()
                    })
                });
                for comparison in compared.collect::<Result<Vec<_>>>()?.iter().flatten() {
                    each(comparison);
                }
                Ok(())
            },
        )
    }

    /// Calls `each` with groups of adverts that are evenly spread over the store, about `most` in all.
    fn for_each_sample(
        &self,
        most: u64,
        name: &str,
        progress: Progress,
        mut each: impl FnMut(Vec<(i64, Fingerprint)>) -> Result<()>,
    ) -> Result<()> {
        let total = self.store.read(rows::last_advert)?.unsigned_abs();
        let step = total.div_ceil(most).max(1);
        let bar = progress.rows(name, total);
        let mut last = 0;
        loop {
            let mut group = self.store.read_with(|connection| {
                rows::fingerprints_after(connection, last, ADVERTS_PER_GROUP)
            })?;
            let Some((end, _)) = group.last() else {
                break;
            };
            bar.inc((end - last).unsigned_abs());
            last = *end;
            group.retain(|(advert, _)| advert.unsigned_abs().is_multiple_of(step));
            each(group)?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Compares an advert, without a field, with the earlier ones around it, and counts how they agree in the field.
    fn compare_hidden(
        &self,
        connection: &Connection,
        field: HiddenField,
        (advert, whole, hidden): (i64, &Fingerprint, &Fingerprint),
        tallies: &mut Tallies,
    ) -> Result<()> {
        let AdvertsAround {
            compared,
            near,
            ruled_out,
            surroundings,
        } = AdvertsAround::find(connection, hidden, advert)?;
        for other in ruled_out.into_iter().step_by(RULED_OUT_STEP) {
            let other = rows::fingerprint_of(connection, other)?;
            if let Some(agrees) = field.agrees(whole, &other) {
                tallies.two_homes.add(agrees, 0.0);
            }
        }
        for other in near.into_iter().filter(|other| *other < advert) {
            let other = rows::fingerprint_of(connection, other)?;
            let Some(agrees) = field.agrees(whole, &other) else {
                continue;
            };
            let comparison = compare_among(&compared, &other, &surroundings);
            let is_contradicted = contradictions(hidden, &other).next().is_some();
            let probability = comparison.probability();
            if comparison.veto.is_some() || is_contradicted {
                continue;
            }
            let usual_bits = comparison.bits - surroundings.portal_bits(&other);
            let portals = (hidden.portal, other.portal);
            tallies.rates.add(portals, usual_bits, agrees);
            if probability < SURELY_TWO {
                tallies.two_homes.add(agrees, probability);
                continue;
            }
            let bin = BOUNDS.iter().rposition(|bound| probability >= *bound);
            tallies.bins[bin.unwrap_or_default()].add(agrees, probability);
            if self.thresholds.is_merge(comparison.bits) {
                tallies.merges.add(agrees, probability);
                if comparison.is_identified() {
                    tallies.identified.add(agrees, probability);
                }
            }
        }
        Ok(())
    }
}

fn calibration(field: HiddenField, tallies: &Tallies) -> FieldCalibration {
    let (usual, usual_is_measured) = tallies.usual(field);
    let chance = tallies.chance();
    let spread = (usual - chance).max(f64::EPSILON);
    let right = |tally: &Tally| ((tally.share() - chance) / spread).clamp(0.0, 1.0);
    let error = |tally: &Tally| {
        let share = tally.share();
        (share * (1.0 - share) / tally.pairs.max(1) as f64).sqrt() / spread
    };
    let bins = BOUNDS.into_iter().zip(&tallies.bins);
    let bins = bins.filter(|(_, tally)| tally.pairs > 0);
    let bins = bins.map(|(from, tally)| CalibrationBin {
        from,
        pairs: tally.pairs,
        expected: tally.probability / tally.pairs as f64,
        agreeing: tally.share(),
        right: right(tally),
        error: error(tally),
    });
    let wrong_without = 1.0 - right(&tallies.merges);
    let (wrong_agreeing, right_agreeing) = (wrong_without * chance, (1.0 - wrong_without) * usual);
    FieldCalibration {
        field,
        chance,
        usual,
        usual_is_measured,
        bins: bins.collect(),
        merges: tallies.merges.pairs,
        wrong_without,
        wrong_error: error(&tallies.merges),
        wrong: wrong_agreeing / (wrong_agreeing + right_agreeing).max(f64::EPSILON),
    }
}
