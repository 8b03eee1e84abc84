//! The ledger: one row for each answered call that counts.
//!
//! Before the response is sent, a row that charges credits and a stored response are synced. The row of a free call is
//! not, so free calls do not wait for the disk. A server keeps it in a journal (`journal.rs`) and writes the rows of a
//! second together, because a transaction for each would slow down cheap calls. The row survives the end of the process,
//! but a machine failure may lose the free calls of about the last second. While the file cannot be written, free calls
//! are answered and their rows wait ([`crate::waiting`]); calls that charge credits fail.
//!
//! API calls have their own file ([`Store::ledger`]), so a response never waits while another call writes its adverts.
//! Rows that wait at the same time share a commit. The same transaction adds to the daily totals that reports and
//! quotas read, so they always agree with the rows. It also writes the stored response (see [`crate::stored`]), so a
//! call under an idempotency key is either both charged and remembered, or neither.
//!
//! The costs of deliveries are in tables of the same names in the store, because they must be written together with the
//! outcome of the delivery. Readers of totals add up both.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use rusqlite::{Connection, Transaction};
use uuid::Uuid;

pub use crate::entry::{LedgerEntry, NO_KEY};
use crate::expiry::ExpiryClock;
use crate::journal::{self, Journal};
use crate::prices::Consumption;
pub use crate::stored::StoredResponse;
use crate::stored::{self, PackedResponse, Packing, PackingError, STORED_RESPONSE_TTL};
use crate::waiting::WaitingRows;
use toise_base::clock::Clock;
use toise_store::{self as store, Database, Durability, Store};

/// Waiting rows that are written in one commit. Charged calls wait for it, so it must stay short.
const WAITING_WRITTEN_AT_ONCE: usize = 2_000;

/// The call record: all that one call writes to the ledger.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// Account of the caller.
    pub account_id: Uuid,
    /// Time of the call.
    pub at: DateTime<Utc>,
    /// The row, if the call counts.
    pub entry: Option<LedgerEntry>,
    /// The response, if the client may repeat the request.
    pub answer: Option<StoredResponse>,
}

/// The reason why a row could not be written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The maximum number of rows is already waiting.
    #[error("too many ledger rows are waiting")]
    Overloaded,
    /// The store returned an error.
    #[error("the ledger cannot be written: {0}")]
    Store(#[source] store::Error),
    /// The response cannot be compressed or sealed.
    #[error("the response cannot be stored: {0}")]
    Answer(#[source] PackingError),
}

impl From<store::Error> for LedgerError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Overloaded => Self::Overloaded,
            error => Self::Store(error),
        }
    }
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Writes call records. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {
    database: Database,
    packing: Packing,
    expiry: Arc<ExpiryClock>,
    waiting: WaitingRows,
}

impl Ledger {
    /// Creates a ledger that writes to the file of a store.
    pub fn new(store: &Store, clock: &Clock) -> Self {
        Self {
            database: store.ledger().clone(),
            packing: Packing::default(),
            expiry: Arc::new(ExpiryClock::new(clock.clone(), STORED_RESPONSE_TTL)),
            waiting: WaitingRows::default(),
        }
    }

    /// Writes a call record. On return, charged credits and stored responses are synced, and any other record is
    /// written, or waits in memory while the file cannot be written. If the caller goes away while waiting, the call
    /// may or may not be charged, but never twice.
    ///
    /// # Errors
    /// Nothing was charged, except with [`store::Error::Closed`]: then the call may or may not be charged.
    pub async fn record(&self, record: CallRecord) -> Result<(), LedgerError> {
        self.record_holding(record, ()).await
    }

    /// Like [`Ledger::record`], and drops `hold` once the record is written or can no longer be written, even if the
    /// caller goes away.
    ///
    /// # Errors
    /// As [`Ledger::record`].
    pub async fn record_holding<H: Send + 'static>(
        &self,
        record: CallRecord,
        hold: H,
    ) -> Result<(), LedgerError> {
        let CallRecord {
            account_id,
            at,
            entry,
            answer,
        } = record;
        let is_charged = entry.as_ref().is_some_and(|entry| entry.credits > 0);
        let durability = if is_charged || answer.is_some() {
            Durability::Synced
        } else {
            Durability::Written
        };
        // The row of a free call can be written later: nothing is owed for it, and a repeated free call may run again.
        let deferrable = match durability {
            Durability::Written => entry.clone(),
            Durability::Synced => None,
        };
        if let Some(entry) = &deferrable
            && self.waiting.takes_rows()
        {
            self.waiting.add(entry.clone());
            return Ok(());
        }
        let packed = match answer {
            // The writer thread serves all calls, so slow work is done first.
            Some(answer) => {
                let packed = self.packing.pack(&self.database, account_id, answer).await;
                Some(packed.map_err(LedgerError::Answer)?)
            }
            None => None,
        };
        let expired = self.expiry.now() - STORED_RESPONSE_TTL;
        let change = move |transaction: &Transaction<'_>| {
            insert(transaction, entry.as_ref(), packed.as_ref(), at, expired)?;
            // Returning `hold` keeps it until the change is committed and synced.
            Ok(hold)
        };
        let written = self.database.write_async(durability, change).await;
        match (written, deferrable) {
            (Err(LedgerError::Store(error)), Some(entry)) if error.is_unwritable() => {
                self.waiting.note_failure(&error);
                self.waiting.add(entry);
                Ok(())
            }
            (written, _) => written.map(drop),
        }
    }

    /// Returns the rows that wait for the file to be writable.
    pub fn waiting(&self) -> &WaitingRows {
        &self.waiting
    }

    /// From now on, keeps the rows of free calls in a journal in a folder until [`Ledger::write_waiting`] writes them.
    /// Blocks.
    ///
    /// # Errors
    /// The journal cannot be created.
    pub fn keep_journal(&self, folder: &Path) -> io::Result<()> {
        self.waiting.keep_in(Journal::create(folder)?);
        Ok(())
    }

    /// Writes the rows that killed processes left in the journals of a folder. Processes may do so at once. Blocks.
    ///
    /// # Errors
    /// A journal cannot be read or deleted; the ledger cannot be written.
    pub fn write_leftovers(&self, folder: &Path) -> io::Result<()> {
        for leftover in journal::leftovers(folder)? {
            self.write_rows(&leftover.rows)?;
            leftover.remove()?;
        }
        Ok(())
    }

    /// Writes the rows of all journals in a folder, so that a report includes every call answered before it. A running
    /// process finds its rows in the ledger and does not write them again. Until then, at most two seconds, its quotas may
    /// count them twice. Blocks.
    ///
    /// # Errors
    /// As [`Ledger::write_leftovers`].
    pub fn write_journals(&self, folder: &Path) -> io::Result<()> {
        self.write_leftovers(folder)?;
        self.write_rows(&journal::all_rows(folder)?)
    }

    fn write_rows(&self, rows: &[LedgerEntry]) -> io::Result<()> {
        for entries in rows.chunks(WAITING_WRITTEN_AT_ONCE) {
            self.write_once(entries.to_vec())
                .map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Writes the rows that wait now, each once. Blocks.
    ///
    /// # Errors
    /// The file still cannot be written; the rest keeps waiting.
    pub fn write_waiting(&self) -> store::Result<()> {
        let (_writing, mut left) = self.waiting.begin_writing();
        while left > 0 {
            let entries = self.waiting.oldest(left.min(WAITING_WRITTEN_AT_ONCE));
            let count = entries.len();
            if let Err(error) = self.write_once(entries) {
                self.waiting.note_failure(&error);
                return Err(error);
            }
            self.waiting.remove_oldest(count);
            left = left.saturating_sub(count);
        }
        self.waiting.end_writing();
        Ok(())
    }

    /// Writes the rows that wait, and deletes the journal; it stays if rows cannot be written. Blocks.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end_journal(&self) -> store::Result<()> {
        self.write_waiting()?;
        if let Some(journal) = self.waiting.take_journal()
            && let Err(error) = journal.remove()
        {
            tracing::warn!(%error, "cannot delete the journal of free calls; its rows are in the ledger");
        }
        Ok(())
    }

    /// Writes the rows that are not in the ledger yet. Blocks.
    fn write_once(&self, entries: Vec<LedgerEntry>) -> store::Result<()> {
        self.database.write(move |transaction| {
            let mut totals = Totals::default();
            for entry in &entries {
                if insert_row(transaction, entry, "OR IGNORE")? {
                    totals.add(entry);
                }
            }
            totals.write(transaction)
        })
    }

    #[cfg(test)]
    pub(crate) fn packing(&self) -> &Packing {
        &self.packing
    }

    /// Returns the response stored under an idempotency key of an account, unless it has expired. Blocks.
    ///
    /// # Errors
    /// The ledger cannot be read, or the response is damaged.
    pub fn stored(&self, account_id: Uuid, key: &str) -> store::Result<Option<StoredResponse>> {
        let expired = self.expiry.now() - STORED_RESPONSE_TTL;
        self.database
            .read(|connection| stored::find(connection, account_id, key, expired))
    }
}

fn insert(
    transaction: &Transaction<'_>,
    entry: Option<&LedgerEntry>,
    packed: Option<&PackedResponse>,
    at: DateTime<Utc>,
    expired: DateTime<Utc>,
) -> Result<(), LedgerError> {
    if let Some(entry) = entry {
        insert_entry(transaction, entry)?;
    }
    if let Some(packed) = packed {
        stored::insert(transaction, packed, at, expired)?;
    }
    Ok(())
}

/// Inserts a row and adds to the totals, in the caller's transaction.
pub fn insert_entry(transaction: &Transaction<'_>, entry: &LedgerEntry) -> rusqlite::Result<()> {
    insert_row(transaction, entry, "")?;
    let mut totals = Totals::default();
    totals.add(entry);
    totals.write(transaction)
}

/// Inserts a row; returns whether it was not there yet. `conflict` is SQL for the case that it is there.
fn insert_row(
    transaction: &Transaction<'_>,
    entry: &LedgerEntry,
    conflict: &str,
) -> rusqlite::Result<bool> {
    let inserted = transaction
        .prepare_cached(&format!(
            "INSERT {conflict} INTO ledger (request_id, account_id, key_id, type, credits, calls, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)"
        ))?
        .execute((
            entry.request_id.as_bytes().as_slice(),
            entry.account_id.as_bytes().as_slice(),
            entry.key_id.as_bytes().as_slice(),
            entry.consumption.as_str(),
            entry.credits as i64,
            entry.at.timestamp_millis(),
        ))?;
    Ok(inserted > 0)
}

/// Credits and calls of rows, by account, key, type and day.
#[derive(Default)]
struct Totals(HashMap<(Uuid, Uuid, Consumption, NaiveDate), (i64, i64)>);

impl Totals {
    fn add(&mut self, entry: &LedgerEntry) {
        let day = entry.at.date_naive();
        let key = (entry.account_id, entry.key_id, entry.consumption, day);
        let (credits, calls) = self.0.entry(key).or_default();
        *credits += entry.credits as i64;
        *calls += 1;
    }

    /// Adds these totals to those of the file.
    fn write(self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut statement = transaction.prepare_cached(
            "INSERT INTO consumption (account_id, key_id, type, day, credits, calls)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (account_id, key_id, type, day)
             DO UPDATE SET credits = credits + excluded.credits, calls = calls + excluded.calls",
        )?;
        for ((account_id, key_id, consumption, day), (credits, calls)) in self.0 {
            statement.execute((
                account_id.to_string(),
                key_id.to_string(),
                consumption.as_str(),
                day.to_string(),
                credits,
                calls,
            ))?;
        }
        Ok(())
    }
}

/// Returns the number of counted calls of a key in the month of `now`. Blocks.
pub fn calls_of_month(store: &Store, key_id: Uuid, now: DateTime<Utc>) -> store::Result<u64> {
    let month = format!("{:04}-{:02}-%", now.year(), now.month());
    let read = |connection: &Connection| {
        connection
            .prepare_cached(
                "SELECT coalesce(sum(calls), 0) FROM consumption WHERE key_id = ?1 AND day LIKE ?2",
            )?
            .query_row((key_id.to_string(), &month), |row| row.get::<_, i64>(0))
    };
    let calls = store.ledger().read(read)? + store.read(read)?;
    Ok(u64::try_from(calls).unwrap_or(0))
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
