//! Writes of the tables of listings inside one transaction. [`crate::records::rows`] reads them.
//!
//! Every change of a property's or advert's row gives it the next number of one sequence, by which derived tables and
//! indexes find the changed rows. Statements are prepared once per connection.

mod adverts;
mod properties;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::Result;
use crate::adverts::identity::UrlDigest;
use crate::records::percolation::PercolationBuffer;
use crate::records::recent_changes::{ChangeBaseline, RecentChanges};
use crate::records::rows::{self, flx_id, last_sequence};
use toise_alerts::percolate::{AdvertTrigger, AdvertWritten, FormerRecord};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::deliveries::AdvertEvent;
use toise_dedup::{BlockKey, Fingerprint, Thresholds};

/// Writes to the tables inside a transaction.
pub(crate) struct ListingsWriter<'t> {
    transaction: &'t Transaction<'t>,
    last_sequence: i64,
    thresholds: Thresholds,
    percolation: PercolationBuffer<'t>,
    /// The changes since adverts were prepared; `None` if the prepared results cannot be used.
    recent: Option<RecentChanges>,
    /// Adverts that moved to another property and have not been percolated since.
    moved: BTreeSet<i64>,
    /// The previous records of adverts that were written in this transaction and not percolated yet; empty without an
    /// active alert on adverts.
    former_adverts: BTreeMap<i64, FormerRecord>,
    /// The records of properties that were joined to another, by that property's number, until its record is rebuilt;
    /// empty without an active alert on properties.
    joined: BTreeMap<i64, Vec<FormerRecord>>,
}

impl<'t> ListingsWriter<'t> {
    /// Starts after the last change of any process; written records go to `percolation`.
    pub(crate) fn begin(
        transaction: &'t Transaction<'t>,
        percolation: PercolationBuffer<'t>,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            last_sequence: last_sequence(transaction)?,
            thresholds: Thresholds::default(),
            transaction,
            percolation,
            recent: None,
            moved: BTreeSet::new(),
            former_adverts: BTreeMap::new(),
            joined: BTreeMap::new(),
        })
    }

    /// Sets the probabilities from which adverts are merged.
    pub(crate) fn with_thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }

    /// Returns the probabilities from which adverts are merged.
    pub(crate) fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    /// Reads the changes since `basis`, so that placements prepared at that baseline can be used while they are valid.
    pub(crate) fn with_baseline(mut self, basis: ChangeBaseline) -> Result<Self> {
        self.recent = RecentChanges::since(basis, self.transaction)?;
        Ok(self)
    }

    /// Returns the changes since adverts were prepared; `None` if the prepared results cannot be used.
    pub(crate) fn recent(&self) -> Option<&RecentChanges> {
        self.recent.as_ref()
    }

    /// Returns whether a property is unchanged since adverts were prepared.
    pub(crate) fn is_unchanged(&self, property: i64) -> bool {
        let recent = self.recent.as_ref();
        recent.is_some_and(|recent| !recent.has_property(property))
    }

    fn note_property(&mut self, property: i64) {
        if let Some(recent) = &mut self.recent {
            recent.add_property(property);
        }
    }

    fn note_advert(&mut self, advert: i64, keys: &[BlockKey], fingerprint: &Fingerprint) {
        if let Some(recent) = &mut self.recent {
            recent.add_advert(advert, keys, fingerprint);
        }
    }

    /// Finishes the writes by percolating everything that is still buffered.
    pub(crate) fn end(mut self) -> Result<()> {
        self.percolation.flush(self.transaction)
    }

    /// Passes a written advert to percolation if an alert needs it; the record contains the identifier of its property.
    pub(crate) fn percolate_advert(
        &mut self,
        advert: i64,
        trigger: AdvertTrigger,
        events: Vec<AdvertEvent>,
        record: impl FnOnce() -> Advert,
    ) -> Result<()> {
        let former = self.former_adverts.remove(&advert);
        if trigger == AdvertTrigger::Sighted && !self.percolation.needs_advert_sightings() {
            return Ok(());
        }
        self.percolation.advert(self.transaction, || AdvertWritten {
            advert,
            trigger,
            former,
            record: record(),
            events,
        })
    }

    /// Keeps the record of an advert for percolation, before the first write to it.
    fn keep_former_advert(&mut self, advert: i64) -> Result<()> {
        if self.percolation.has_advert_alerts() && !self.former_adverts.contains_key(&advert) {
            let former = rows::former_advert(self.transaction, advert)?;
            self.former_adverts.insert(advert, former);
        }
        Ok(())
    }

    /// Passes the adverts that moved to another property to percolation, as changed and without an event. Skips `own`,
    /// which the caller passes itself.
    pub(crate) fn percolate_moved(&mut self, own: Option<i64>) -> Result<()> {
        for advert in std::mem::take(&mut self.moved) {
            if Some(advert) != own && self.percolation.has_advert_alerts() {
                let record = rows::notified_advert(self.transaction, advert)?;
                self.percolate_advert(advert, AdvertTrigger::Changed, Vec::new(), || record)?;
            }
        }
        Ok(())
    }

    /// Returns the transaction's connection, for reads.
    pub(crate) fn connection(&self) -> &'t Connection {
        self.transaction
    }

    /// Returns the sequence of the last change.
    pub(crate) fn last_sequence(&self) -> i64 {
        self.last_sequence
    }

    fn next_sequence(&mut self) -> i64 {
        self.last_sequence += 1;
        self.last_sequence
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<usize> {
        self.transaction.prepare_cached(sql)?.execute(parameters)
    }

    /// Returns the number and last sequence of the advert with a URL digest.
    pub(crate) fn version(&self, digest: &UrlDigest) -> rusqlite::Result<Option<(i64, i64)>> {
        self.transaction
            .prepare_cached("SELECT advert, sequence FROM adverts WHERE url_digest = ?1")?
            .query_row([digest], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }

    /// Returns the property of an advert.
    pub(crate) fn property_of_advert(&self, advert: i64) -> rusqlite::Result<i64> {
        self.transaction
            .prepare_cached("SELECT property FROM adverts WHERE advert = ?1")?
            .query_row([advert], |row| row.get(0))
    }

    /// Returns the identifier of the property of the advert with a URL digest.
    pub(crate) fn property_of_url(&self, digest: &UrlDigest) -> rusqlite::Result<FlxId> {
        self.transaction
            .prepare_cached(
                "SELECT property_id FROM adverts JOIN properties USING (property) WHERE url_digest = ?1",
            )?
            .query_row([digest], |row| flx_id(row, 0))
    }
}
