//! The tables of listings, written: what one transaction changes of them. [`crate::records::rows`] reads them.
//!
//! Every change of a property's or advert's row gives it the next number of one sequence, so that whoever keeps
//! something made from the rows finds the changed ones by number. Statements are prepared once per connection.

mod adverts;
mod properties;

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::adverts::identity::UrlDigest;
use crate::records::percolation::PercolationBuffer;
use crate::records::recent_changes::{ChangeBaseline, RecentChanges};
use crate::records::rows::{self, flx_id, last_sequence};
use toise_alerts::percolate::AdvertWritten;
use toise_contract::listings::codes::FlxId;
use toise_dedup::{BlockKey, Fingerprint};

/// Changes the tables inside a transaction.
pub(crate) struct ListingsWriter<'t> {
    transaction: &'t Transaction<'t>,
    last_sequence: i64,
    percolation: PercolationBuffer<'t>,
    /// What changed since adverts were prepared; `None` when nothing prepared counts.
    recent: Option<RecentChanges>,
    /// Adverts that came under another property, which the alerts have not looked at since.
    moved: BTreeSet<i64>,
}

impl<'t> ListingsWriter<'t> {
    /// Begins after the last change any process made; the alerts look at what is written.
    pub(crate) fn begin(
        transaction: &'t Transaction<'t>,
        percolation: PercolationBuffer<'t>,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            last_sequence: last_sequence(transaction)?,
            transaction,
            percolation,
            recent: None,
            moved: BTreeSet::new(),
        })
    }

    /// The same, with what was found out about places of adverts on the basis of a moment.
    pub(crate) fn with_baseline(mut self, basis: ChangeBaseline) -> rusqlite::Result<Self> {
        self.recent = RecentChanges::since(basis, self.transaction)?;
        Ok(self)
    }

    /// What changed since adverts were prepared; `None` when nothing prepared counts.
    pub(crate) fn recent(&self) -> Option<&RecentChanges> {
        self.recent.as_ref()
    }

    /// Whether a property is as it was when adverts were prepared.
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

    /// Ends: the alerts have looked at everything that was written.
    pub(crate) fn end(mut self) -> rusqlite::Result<()> {
        self.percolation.flush(self.transaction)
    }

    /// Hands an advert that was written to the alerts, if there are any on adverts; its record names its property.
    pub(crate) fn percolate_advert(
        &mut self,
        advert: impl FnOnce() -> AdvertWritten,
    ) -> rusqlite::Result<()> {
        self.percolation.advert(self.transaction, advert)
    }

    /// Hands the adverts that came under another property to the alerts, as changed and without an event; but for
    /// `own`, which whoever writes it hands over.
    pub(crate) fn percolate_moved(&mut self, own: Option<i64>) -> rusqlite::Result<()> {
        for advert in std::mem::take(&mut self.moved) {
            if Some(advert) != own && self.percolation.has_advert_alerts() {
                let record = rows::notified_advert(self.transaction, advert)?;
                self.percolate_advert(|| AdvertWritten {
                    advert,
                    is_new: false,
                    record,
                    events: Vec::new(),
                })?;
            }
        }
        Ok(())
    }

    /// For reading.
    pub(crate) fn connection(&self) -> &'t Connection {
        self.transaction
    }

    /// Number of the last change.
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

    /// Number and last change of the advert under an address.
    pub(crate) fn version(&self, digest: &UrlDigest) -> rusqlite::Result<Option<(i64, i64)>> {
        self.transaction
            .prepare_cached("SELECT advert, sequence FROM adverts WHERE url_digest = ?1")?
            .query_row([digest], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }

    /// The property of an advert.
    pub(crate) fn property_of_advert(&self, advert: i64) -> rusqlite::Result<i64> {
        self.transaction
            .prepare_cached("SELECT property FROM adverts WHERE advert = ?1")?
            .query_row([advert], |row| row.get(0))
    }

    /// The identifier of the property of the advert under an address.
    pub(crate) fn property_of_url(&self, digest: &UrlDigest) -> rusqlite::Result<FlxId> {
        self.transaction
            .prepare_cached(
                "SELECT property_id FROM adverts JOIN properties USING (property) WHERE url_digest = ?1",
            )?
            .query_row([digest], |row| flx_id(row, 0))
    }
}
