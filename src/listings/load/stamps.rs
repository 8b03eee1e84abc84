//! Dates the sightings that arrive without a time.
//!
//! The times come from a hybrid clock ([`HybridClock`]), which starts from the latest one in the store. So a sighting
//! that arrives later gets a later time, in all processes, even if the machine's clock was set back a little in
//! between. If the clock was set back by more than the bound of the hybrid clock, it had been ahead. The adverts dated
//! while it was ahead then get the current time before anything else is ingested; otherwise the next sighting would be
//! older than the stored one. Ingestion checks for times in the future before each group, and a server every second; a
//! check costs one index lookup.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::adverts::identity::UrlDigest;
use crate::adverts::prepare::restamp;
use crate::records::percolation::PercolationBuffer;
use crate::records::rows;
use crate::records::tables::ListingsWriter;
use crate::{Listings, Result};
use toise_base::clock::AHEAD_MAX;
use toise_contract::listings::codes::Timestamp;
use toise_store::audit::{self, Act, DONE};

/// Adverts that are corrected in one transaction.
const GROUP_MAX: usize = 128;
/// Actor of the entry in the audit log.
const ACTOR: &str = "clock";
/// Action of the entry in the audit log.
const ACTION: &str = "adverts.restamp";

impl Listings {
    /// Returns the time for a sighting that arrives now without one. First corrects stored times that are in the
    /// future.
    pub(crate) fn stamp(&self) -> Result<DateTime<Utc>> {
        self.correct_stamps()?;
        let latest_ms = self.store.read(latest_ms)?;
        Ok(self.stamps.now_after(latest_ms.unwrap_or(i64::MIN)))
    }

    /// Sets the time of the last sighting to now for adverts that were dated by a clock that was ahead. Returns their
    /// number. Adds an entry to the audit log if there are any. Returns once durable. Blocks.
    ///
    /// # Errors
    /// The store fails. Earlier corrections stay.
    pub fn correct_stamps(&self) -> Result<u64> {
        let is_ahead = |latest_ms: i64, now: DateTime<Utc>| {
            latest_ms > now.timestamp_millis() + AHEAD_MAX.as_millis() as i64
        };
        let latest = self.store.read(latest_ms)?;
        if !latest.is_some_and(|latest_ms| is_ahead(latest_ms, self.clock.now())) {
            return Ok(0);
        }
        let mut corrected = 0;
        loop {
            let now = Timestamp::new(self.clock.now());
            let places = self.places()?;
            let group = self.store.write_with(move |transaction| -> Result<usize> {
                let urls = stamped_after(transaction, now)?;
                let mut tables = ListingsWriter::begin(transaction, PercolationBuffer::none())?;
                for url in &urls {
                    let Some(stored) = rows::by_url(transaction, url)? else {
                        continue;
                    };
                    let draft = restamp(&stored, now, places.sources())?;
                    tables.replace(stored.advert, &draft, None)?;
                    transaction
                        .prepare_cached(
                            "UPDATE advert_events SET occurred_at_ms = ?2 WHERE advert = ?1 AND occurred_at_ms > ?2",
                        )?
                        .execute((stored.advert, now.get().timestamp_millis()))?;
                }
                tables.end()?;
                Ok(urls.len())
            })?;
            corrected += group as u64;
            if group < GROUP_MAX {
                break;
            }
        }
        if corrected > 0 {
            self.note_correction(corrected)?;
        }
        Ok(corrected)
    }

    fn note_correction(&self, adverts: u64) -> Result<()> {
        tracing::warn!(
            adverts,
            "the clock was ahead and was set right; adverts seen in the meantime are dated now"
        );
        let act = Act {
            actor: ACTOR.to_owned(),
            origin: None,
            action: ACTION.to_owned(),
            subject: Some(format!("{adverts} adverts")),
            outcome: DONE.to_owned(),
        };
        let at_ms = self.clock.now().timestamp_millis();
        self.store
            .write(move |transaction| audit::append(transaction, at_ms, act))?;
        Ok(())
    }
}

/// Returns the latest time assigned to a sighting in the store, Unix milliseconds.
fn latest_ms(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT observed_at_ms FROM adverts WHERE is_stamped = 1 ORDER BY observed_at_ms DESC LIMIT 1",
        )?
        .query_row([], |row| row.get(0))
        .optional()
}

/// Returns some adverts whose last sighting was assigned a time after `now`.
fn stamped_after(
    transaction: &Transaction<'_>,
    now: Timestamp,
) -> rusqlite::Result<Vec<UrlDigest>> {
    transaction
        .prepare_cached(
            "SELECT url_digest FROM adverts WHERE is_stamped = 1 AND observed_at_ms > ?1 LIMIT ?2",
        )?
        .query_map((now.get().timestamp_millis(), GROUP_MAX as i64), |row| {
            row.get(0)
        })?
        .collect()
}
