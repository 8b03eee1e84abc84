//! Likely pairs: properties that may be one asset. A person decides whether to merge them or keep them apart.
//!
//! Ingestion records a pair of adverts if its probability is at least `possible_probability` but too low for a merge,
//! or if an advert of the other property contradicts. A pair is listed until its adverts are in one property, a person
//! declares them distinct, or a later sighting of the advert no longer resembles the other.

use std::collections::HashSet;

use crate::placement::explain::{Explanation, explained, explanation};
use crate::{Listings, Result};
use toise_dedup::DedupVerdict;

/// Pairs of adverts read per wanted pair of properties: several adverts of one property may resemble another.
const READ_PER_PAIR: usize = 4;

impl Listings {
    /// Returns the most likely pairs of properties that may be one asset. Each is shown by its most similar adverts,
    /// with the evidence. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn likely_pairs(&self, limit: usize) -> Result<Vec<Explanation>> {
        self.store.read_with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT l.advert, l.other FROM likely_pairs l
                 JOIN adverts a ON a.advert = l.advert JOIN adverts b ON b.advert = l.other
                 WHERE a.property <> b.property
                   AND NOT EXISTS (SELECT 1 FROM apart WHERE apart.advert = l.advert AND apart.other = l.other)
                 ORDER BY l.bits DESC, l.advert, l.other LIMIT ?1",
            )?;
            let most = i64::try_from(limit.saturating_mul(READ_PER_PAIR)).unwrap_or(i64::MAX);
            let pairs = statement.query_map([most], |row| Ok([row.get(0)?, row.get::<_, i64>(1)?]))?;
            let pairs: Vec<[i64; 2]> = pairs.collect::<rusqlite::Result<_>>()?;
            let mut seen = HashSet::new();
            let mut listed = Vec::new();
            for [advert, other] in pairs {
                let sides = (
                    explained(connection, "advert", advert)?,
                    explained(connection, "advert", other)?,
                );
                let (Some(one), Some(other)) = sides else {
                    continue;
                };
                let (first, second) = (one.property_flx_id, other.property_flx_id);
                if !seen.insert((first.min(second), first.max(second))) {
                    continue;
                }
                let pair = explanation(connection, [one, other], false, self.thresholds)?;
                // Later changes on either side may have settled the pair.
                if pair.verdict != DedupVerdict::Different {
                    listed.push(pair);
                }
                if listed.len() == limit {
                    break;
                }
            }
            Ok(listed)
        })
    }

    /// Returns the number of pairs of adverts that wait for a person's decision. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn likely_pair_count(&self) -> Result<u64> {
        let sql = "SELECT count(*) FROM likely_pairs l
             JOIN adverts a ON a.advert = l.advert JOIN adverts b ON b.advert = l.other
             WHERE a.property <> b.property
               AND NOT EXISTS (SELECT 1 FROM apart WHERE apart.advert = l.advert AND apart.other = l.other)";
        let count: i64 = self
            .store
            .read(|connection| connection.query_row(sql, [], |row| row.get(0)))?;
        Ok(count.unsigned_abs())
    }
}

#[cfg(test)]
mod tests;
