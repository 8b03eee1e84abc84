//! Changes in the store since a baseline that can affect the placement of an advert.
//!
//! Placements are computed before the transaction, by readers on all cores; the transaction uses this module to decide
//! whether they are still valid. The changes include those of other transactions since the baseline and those of this
//! one, so the result does not depend on which process wrote them. Reading takes a few microseconds per change. After
//! more than [`CHANGES_MAX`] changes, all prepared placements are discarded.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::Result;
use crate::records::rows::{blob, fingerprint, keys_of, last_sequence};
use toise_dedup::{BlockKey, Fingerprint};

/// Maximum changes examined, adverts and properties together: several group commits of all writers.
const CHANGES_MAX: i64 = 8_192;

/// A point in the sequence of changes; everything up to it was visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeBaseline {
    /// Sequence of the last change.
    sequence: i64,
    /// Number of the last advert.
    advert: i64,
}

impl ChangeBaseline {
    /// Returns the current point: reads that begin later see at least everything up to it.
    pub fn now(connection: &Connection) -> rusqlite::Result<Self> {
        let advert = "SELECT coalesce(max(advert), 0) FROM adverts";
        Ok(Self {
            sequence: last_sequence(connection)?,
            advert: connection
                .prepare_cached(advert)?
                .query_row([], |row| row.get(0))?,
        })
    }
}

/// The changes since a baseline.
#[derive(Debug)]
pub(crate) struct RecentChanges {
    basis: ChangeBaseline,
    properties: HashSet<i64>,
    /// The adverts with their fingerprints after each change.
    adverts: Vec<(i64, Fingerprint)>,
    /// The index in `adverts` of the last change of each advert.
    last: HashMap<i64, usize>,
    by_key: HashMap<BlockKey, Vec<usize>>,
    /// Whether an advert changed that existed at the baseline: it may no longer be under some of its previous keys.
    has_changed_adverts: bool,
}

impl RecentChanges {
    /// Reads the changes since `basis`; `None` if there are more than [`CHANGES_MAX`]. Called inside a transaction that
    /// holds the write lock.
    pub fn since(basis: ChangeBaseline, connection: &Connection) -> Result<Option<Self>> {
        if last_sequence(connection)? - basis.sequence > CHANGES_MAX {
            return Ok(None);
        }
        let mut recent = Self {
            basis,
            properties: HashSet::new(),
            adverts: Vec::new(),
            last: HashMap::new(),
            by_key: HashMap::new(),
            has_changed_adverts: false,
        };
        let mut properties =
            connection.prepare_cached("SELECT property FROM properties WHERE sequence > ?1")?;
        for property in properties.query_map([basis.sequence], |row| row.get(0))? {
            recent.properties.insert(property?);
        }
        let mut adverts = connection.prepare_cached(
            "SELECT fingerprints.advert, keys, fingerprint FROM adverts CROSS JOIN fingerprints USING (advert)
             WHERE sequence > ?1",
        )?;
        let mut rows = adverts.query([basis.sequence])?;
        while let Some(row) = rows.next()? {
            let keys = keys_of(blob(row, 1)?);
            recent.add_advert(row.get(0)?, &keys, &fingerprint(row, 2)?);
        }
        Ok(Some(recent))
    }

    /// Records that a property's record or adverts changed.
    pub fn add_property(&mut self, property: i64) {
        self.properties.insert(property);
    }

    /// Records that an advert was created or changed, and its current keys.
    pub fn add_advert(&mut self, advert: i64, keys: &[BlockKey], fingerprint: &Fingerprint) {
        self.has_changed_adverts |= advert <= self.basis.advert;
        for key in keys {
            let under_key = self.by_key.entry(*key).or_default();
            under_key.push(self.adverts.len());
        }
        self.last.insert(advert, self.adverts.len());
        self.adverts.push((advert, *fingerprint));
    }

    /// Returns whether a property changed.
    pub fn has_property(&self, property: i64) -> bool {
        self.properties.contains(&property)
    }

    /// Returns whether an advert was created or changed.
    pub fn has_advert(&self, advert: i64) -> bool {
        self.last.contains_key(&advert)
    }

    /// Returns whether an advert changed that existed at the baseline.
    pub fn has_changed_adverts(&self) -> bool {
        self.has_changed_adverts
    }

    /// Returns the adverts that were created or changed and are now under any of the keys, each once, with their
    /// fingerprints.
    pub fn under(&self, keys: &[BlockKey]) -> Vec<(i64, &Fingerprint)> {
        let mut ranks: Vec<usize> = keys
            .iter()
            .filter_map(|key| self.by_key.get(key))
            .flatten()
            .copied()
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        let changes = ranks
            .into_iter()
            .filter_map(|rank| Some((rank, self.adverts.get(rank)?)));
        changes
            .filter(|(rank, (advert, _))| self.last.get(advert) == Some(rank))
            .map(|(_, (advert, fingerprint))| (*advert, fingerprint))
            .collect()
    }
}
