//! What changed in the store since a moment, as far as it can change where an advert belongs.
//!
//! Where an advert belongs is looked for before its transaction, by readers on all cores; here is what the transaction
//! needs to know whether that still holds. It takes in what other transactions wrote since then and what this one
//! writes, so it never depends on which process wrote what. Reading it is a few microseconds a change, and when more
//! changed than [`CHANGES_MAX`], nothing that was found before counts.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::records::rows::{fingerprint, keys_of, last_sequence};
use toise_dedup::{BlockKey, Fingerprint};

/// Changes that are looked at, of adverts and properties together: several groups of all who write.
const CHANGES_MAX: i64 = 8_192;

/// A moment before which everything was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeBaseline {
    /// Number of the last change.
    sequence: i64,
    /// Number of the last advert.
    advert: i64,
}

impl ChangeBaseline {
    /// Now: readings that begin later see at least everything until here.
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

/// What changed since a moment.
#[derive(Debug)]
pub(crate) struct RecentChanges {
    basis: ChangeBaseline,
    properties: HashSet<i64>,
    /// The adverts with their fingerprints as they were after each change, and where their last change is.
    adverts: Vec<(i64, Fingerprint)>,
    last: HashMap<i64, usize>,
    by_key: HashMap<BlockKey, Vec<usize>>,
    /// Whether an advert changed that was there before: it may have left keys it was under.
    has_changed_adverts: bool,
}

impl RecentChanges {
    /// What changed since `basis`; `None` when it is too much. Inside a transaction that holds the write lock.
    pub fn since(basis: ChangeBaseline, connection: &Connection) -> rusqlite::Result<Option<Self>> {
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
            let keys = keys_of(row.get_ref(1)?.as_blob()?);
            recent.add_advert(row.get(0)?, &keys, &fingerprint(row, 2)?);
        }
        Ok(Some(recent))
    }

    /// A property's record or adverts changed.
    pub fn add_property(&mut self, property: i64) {
        self.properties.insert(property);
    }

    /// An advert came or changed and is under these keys now.
    pub fn add_advert(&mut self, advert: i64, keys: &[BlockKey], fingerprint: &Fingerprint) {
        self.has_changed_adverts |= advert <= self.basis.advert;
        for key in keys {
            let under_key = self.by_key.entry(*key).or_default();
            under_key.push(self.adverts.len());
        }
        self.last.insert(advert, self.adverts.len());
        self.adverts.push((advert, *fingerprint));
    }

    /// Whether a property changed.
    pub fn has_property(&self, property: i64) -> bool {
        self.properties.contains(&property)
    }

    /// Whether an advert came or changed.
    pub fn has_advert(&self, advert: i64) -> bool {
        self.last.contains_key(&advert)
    }

    /// Whether an advert changed that was there before.
    pub fn has_changed_adverts(&self) -> bool {
        self.has_changed_adverts
    }

    /// Adverts that came or changed and are under any of some keys now, each once, with their fingerprints.
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
