//! Likely pairs: properties that may be one asset. A person decides whether to merge them or keep them apart.
//!
//! Ingestion records a pair of adverts if its probability is at least `possible_probability` but too low for a merge,
//! or if an advert of the other property contradicts. A pair is listed until its adverts are in one property, a person
//! declares them distinct, or a later sighting of the advert no longer resembles the other. Probabilities also depend
//! on the other adverts around, so a list compares its pairs again, and removes those that are different by now.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::placement::explain::{Explanation, explained, explanation};
use crate::{Listings, Result};
use toise_dedup::DedupVerdict;

/// Pairs of adverts compared again per wanted pair of properties: several adverts of one property may resemble another.
const COMPARED_PER_PAIR: usize = 4;
/// Minimum pairs of adverts compared again, if there are so many. A short list then has the most likely pairs, even if
/// their probabilities changed since they were recorded. A comparison takes milliseconds.
const COMPARED_MIN: usize = 200;

/// The pairs of adverts that wait for a decision: in two properties that no person declared distinct.
const WAITING: &str = "FROM likely_pairs l
     JOIN adverts a ON a.advert = l.advert JOIN adverts b ON b.advert = l.other
     WHERE a.property <> b.property
       AND NOT EXISTS (SELECT 1 FROM apart WHERE apart.advert = l.advert AND apart.other = l.other)";

/// A recorded pair: both adverts, and the bits recorded.
type RecordedPair = (i64, i64, f64);

impl Listings {
    /// Returns the most likely pairs of properties that may be one asset, by their probability now. Each is shown by
    /// its most similar adverts, with the evidence. Removes the recorded pairs that it finds to be different now.
    /// Blocks: milliseconds for each recorded pair, of which it compares 200, or four times `limit`.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn likely_pairs(&self, limit: usize) -> Result<Vec<Explanation>> {
        let most = limit.saturating_mul(COMPARED_PER_PAIR).max(COMPARED_MIN);
        let (mut likely, different) = self
            .store
            .read_with(|connection| self.compared_again(connection, most))?;
        if !different.is_empty() {
            self.remove_likely(different)?;
        }
        likely.sort_by(|one, other| other.comparison.bits.total_cmp(&one.comparison.bits));
        let mut seen = HashSet::new();
        likely.retain(|pair| {
            let [one, other] = [0, 1].map(|side: usize| pair.adverts[side].property_flx_id);
            seen.insert((one.min(other), one.max(other)))
        });
        likely.truncate(limit);
        Ok(likely)
    }

    /// Compares the recorded pairs with the most bits again. Returns those that are still likely, and the others as
    /// they were recorded.
    fn compared_again(
        &self,
        connection: &Connection,
        most: usize,
    ) -> Result<(Vec<Explanation>, Vec<RecordedPair>)> {
        let sql = format!(
            "SELECT l.advert, l.other, l.bits {WAITING} ORDER BY l.bits DESC, l.advert, l.other LIMIT ?1"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let recorded = statement.query_map([most], |row| -> rusqlite::Result<RecordedPair> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        let recorded: Vec<RecordedPair> = recorded.collect::<rusqlite::Result<_>>()?;
        let (mut likely, mut different) = (Vec::new(), Vec::new());
        for pair in recorded {
            let one = explained(connection, "advert", pair.0)?;
            let other = explained(connection, "advert", pair.1)?;
            let (Some(one), Some(other)) = (one, other) else {
                continue;
            };
            let now = explanation(connection, [one, other], false, self.thresholds)?;
            if now.verdict == DedupVerdict::Different {
                different.push(pair);
            } else {
                likely.push(now);
            }
        }
        Ok((likely, different))
    }

    /// Removes recorded pairs, except those that an ingestion has recorded with other bits since they were read.
    fn remove_likely(&self, pairs: Vec<RecordedPair>) -> Result<()> {
        self.store.write(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "DELETE FROM likely_pairs WHERE advert = ?1 AND other = ?2 AND bits = ?3",
            )?;
            for pair in pairs {
                statement.execute(pair)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Returns the number of pairs of properties that wait for a person's decision, as recorded. Right after
    /// [`Listings::likely_pairs`], it excludes those that were found to be different. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn likely_pair_count(&self) -> Result<u64> {
        let sql = format!(
            "SELECT count(*) FROM
             (SELECT DISTINCT min(a.property, b.property), max(a.property, b.property) {WAITING})"
        );
        let count: i64 = self
            .store
            .read(|connection| connection.query_row(&sql, [], |row| row.get(0)))?;
        Ok(count.unsigned_abs())
    }
}

#[cfg(test)]
mod tests;
