//! Quality of a store's merges, measured without labels: contradicting pairs, and the share of wrong merges.
//!
//! [`MergeCounter`] counts properties and the merged pairs that contradict each other. `calibration` checks
//! probabilities against a field that the comparison did not see. [`Listings::sample_of_merges`] draws random merges
//! for a person to review.

mod calibration;

use std::collections::BinaryHeap;

use rusqlite::Connection;
use serde::Serialize;

use crate::placement::explain::{Explanation, explained, explanation};
use crate::records::rows;
use crate::{Listings, Result};
pub use calibration::{CalibrationBin, CalibrationReport, FieldCalibration, HiddenField};
use toise_base::progress::Progress;
use toise_base::splitmix::mix_into;
use toise_dedup::{Contradiction, Fingerprint, compare, contradictions, may_share};

/// Properties by the number of their adverts: 1, 2, 3, 4, 5 to 9, 10 and more.
pub const SIZES: [&str; 6] = ["1", "2", "3", "4", "5-9", "10+"];
/// Share of contradicting pairs above which the adverts or the weights are faulty.
pub const USUAL_CONTRADICTING_SHARE: f64 = 0.02;
/// Minimum merged pairs for a meaningful share.
const SHARE_PAIRS_MIN: u64 = 50;
/// Standard errors by which a store may exceed the usual share by chance.
const CHANCE_ERRORS: f64 = 2.0;
/// Properties read at once.
const PROPERTIES_PER_GROUP: usize = 1_000;

/// Properties and merged pairs of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeCounts {
    /// Adverts.
    pub adverts: u64,
    /// Properties.
    pub properties: u64,
    /// Properties by number of adverts, in the order of [`SIZES`].
    pub properties_by_size: [u64; SIZES.len()],
    /// Pairs of adverts in one property.
    pub merged_pairs: u64,
    /// Merged pairs that contradict each other in at least one field, without `forgiven_pairs`, or that a rule keeps apart.
    pub contradicting_pairs: u64,
    /// Merged pairs that a rule keeps apart: two lots of a programme, rooms, parking places or units of one page.
    pub vetoed_pairs: u64,
    /// Merged pairs with one contradiction that pictures, a reference or a shared text outweighs.
    pub forgiven_pairs: u64,
    /// Merged pairs that contradict each other in a field, by field, without `forgiven_pairs`.
    pub contradictions: Vec<ContradictionCount>,
    /// Pairs of properties that wait for a person's decision.
    pub possible_pairs: u64,
}

/// Merged pairs that contradict each other in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContradictionCount {
    /// The field.
    pub field: Contradiction,
    /// Pairs.
    pub pairs: u64,
}

impl MergeCounts {
    /// Share of merged pairs that contradict each other, 0 to 1.
    pub fn contradicting_share(&self) -> f64 {
        self.contradicting_pairs as f64 / self.merged_pairs.max(1) as f64
    }

    /// Returns whether more merged pairs contradict each other than is usual, and than chance explains.
    pub fn is_unusual(&self) -> bool {
        let usual_pairs = USUAL_CONTRADICTING_SHARE * self.merged_pairs as f64;
        let explained = usual_pairs + CHANCE_ERRORS * usual_pairs.sqrt();
        self.merged_pairs >= SHARE_PAIRS_MIN && self.contradicting_pairs as f64 > explained
    }
}

/// Returns the position of a number of adverts in [`SIZES`].
fn size(adverts: usize) -> usize {
    match adverts {
        0..=4 => adverts.saturating_sub(1),
        5..=9 => 4,
        _ => 5,
    }
}

/// Counts the merges of a store a group of properties at a time.
#[derive(Clone, Debug, Default)]
pub struct MergeCounter {
    counts: MergeCounts,
    by_field: [u64; Contradiction::ALL.len()],
    /// The sequence of the last property counted.
    last: i64,
    /// The number of the last advert at the start.
    last_advert: i64,
}

impl MergeCounter {
    /// Creates a counter of the properties that change from now on.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn from_now(listings: &Listings) -> Result<Self> {
        Ok(Self {
            last: listings.store.read(rows::last_sequence)?,
            last_advert: listings.store.read(rows::last_advert)?,
            ..Self::default()
        })
    }

    /// Returns the number of adverts in the store when the count began.
    pub fn adverts_before(&self) -> u64 {
        self.last_advert.unsigned_abs()
    }

    /// Counts the next properties; returns the counts when there are no more. Blocks: milliseconds.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn step(&mut self, listings: &Listings) -> Result<Option<MergeCounts>> {
        let properties = listings.store.read(|connection| {
            rows::properties_after(connection, self.last, PROPERTIES_PER_GROUP)
        })?;
        let Some((end, _, _)) = properties.last() else {
            let counts = std::mem::take(self);
            let fields = Contradiction::ALL.into_iter().zip(counts.by_field);
            return Ok(Some(MergeCounts {
                possible_pairs: listings.likely_pair_count()?,
                contradictions: fields
                    .map(|(field, pairs)| ContradictionCount { field, pairs })
                    .collect(),
                ..counts.counts
            }));
        };
        self.last = *end;
        listings.store.read_with(|connection| -> Result<()> {
            for (_, property, adverts) in properties {
                let counts = &mut self.counts;
                counts.adverts += adverts as u64;
                counts.properties += 1;
                counts.properties_by_size[size(adverts)] += 1;
                if adverts > 1 {
                    self.add_pairs(connection, &rows::fingerprints_of(connection, property)?)?;
                }
            }
            Ok(())
        })?;
        Ok(None)
    }

    fn add_pairs(&mut self, connection: &Connection, members: &[(i64, Fingerprint)]) -> Result<()> {
        for (position, (_, one)) in members.iter().enumerate() {
            for (_, other) in &members[..position] {
                self.counts.merged_pairs += 1;
                let mut found = contradictions(one, other).peekable();
                if compare(one, other).veto.is_some() {
                    self.counts.vetoed_pairs += 1;
                    self.counts.contradicting_pairs += 1;
                    continue;
                }
                if found.peek().is_none() {
                    continue;
                }
                // Only what is still compared excuses a contradiction.
                let one = rows::without_common_marks(connection, one)?;
                let other = rows::without_common_marks(connection, other)?;
                if may_share(&one, &other) {
                    self.counts.forgiven_pairs += 1;
                    continue;
                }
                self.counts.contradicting_pairs += 1;
                for field in found {
                    self.by_field[field as usize] += 1;
                }
            }
        }
        Ok(())
    }
}

impl Listings {
    /// Counts properties, merged pairs and their contradictions. Blocks: seconds for a million adverts.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn merge_counts(&self, progress: Progress) -> Result<MergeCounts> {
        let total = self.store.read(rows::last_sequence)?.unsigned_abs();
        let bar = progress.rows("reading properties", total);
        let mut counter = MergeCounter::default();
        loop {
            if let Some(counts) = counter.step(self)? {
                bar.finish_and_clear();
                return Ok(counts);
            }
            bar.set_position(counter.last.unsigned_abs());
        }
    }

    /// Finishes a count that began with [`MergeCounter::from_now`]. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn merge_counts_since(&self, mut counter: MergeCounter) -> Result<MergeCounts> {
        loop {
            if let Some(counts) = counter.step(self)? {
                return Ok(counts);
            }
        }
    }

    /// Draws random pairs of merged adverts, with their evidence; the same seed draws the same pairs. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sample_of_merges(&self, pairs: usize, seed: u64) -> Result<Vec<Explanation>> {
        // The pairs with the lowest digests of seed and adverts.
        let mut drawn: BinaryHeap<(u64, i64, i64)> = BinaryHeap::new();
        let mut last = 0;
        loop {
            let properties = self.store.read(|connection| {
                rows::properties_after(connection, last, PROPERTIES_PER_GROUP)
            })?;
            let Some((end, _, _)) = properties.last() else {
                break;
            };
            last = *end;
            self.store.read(|connection| {
                for (_, property, _) in properties
                    .into_iter()
                    .filter(|(_, _, adverts)| *adverts > 1)
                {
                    let members = rows::adverts_of(connection, property)?;
                    for (position, one) in members.iter().enumerate() {
                        for other in &members[..position] {
                            drawn.push((digest(seed, *one, *other), *other, *one));
                            if drawn.len() > pairs {
                                drawn.pop();
                            }
                        }
                    }
                }
                Ok(())
            })?;
        }
        self.store.read_with(|connection| {
            let mut sample = Vec::with_capacity(drawn.len());
            for (_, one, other) in drawn.into_sorted_vec() {
                let one = explained(connection, "advert", one)?;
                let other = explained(connection, "advert", other)?;
                if let (Some(one), Some(other)) = (one, other) {
                    sample.push(explanation(
                        connection,
                        [one, other],
                        false,
                        self.thresholds,
                    )?);
                }
            }
            Ok(sample)
        })
    }
}

/// Returns a number that orders pairs at random.
fn digest(seed: u64, one: i64, other: i64) -> u64 {
    mix_into(mix_into(seed, one.unsigned_abs()), other.unsigned_abs())
}

#[cfg(test)]
mod tests;
