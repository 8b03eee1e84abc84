//! The ledger: one row for each answered call that counts, written before the response is sent.
//!
//! Before the response is sent, a row that charges credits and a stored response are synced. The row of a free call is
//! written but not synced, so free calls do not wait for the disk. The row survives the end of the process, but a
//! machine failure may lose the free calls of about the last second ([`Durability`]). While the file cannot be written,
//! free calls are answered and their rows wait in memory ([`crate::waiting`]); calls that charge credits fail.
//!
//! API calls have their own file ([`Store::ledger`]), so a response never waits while another call writes its adverts.
//! Rows that wait at the same time share a commit. The same transaction adds to the daily totals that reports and
//! quotas read, so they always agree with the rows. It also writes the stored response (see [`crate::stored`]), so a
//! call under an idempotency key is either both charged and remembered, or neither.
//!
//! The costs of deliveries are in tables of the same names in the store, because they must be written together with the
//! outcome of the delivery. Readers of totals add up both.

use std::sync::Arc;

use chrono::{DateTime, Datelike, Utc};
use rusqlite::{Connection, Transaction};
use uuid::Uuid;

pub use crate::entry::{LedgerEntry, NO_KEY};
use crate::expiry::ExpiryClock;
pub use crate::stored::StoredResponse;
use crate::stored::{self, PackedResponse, Packing, PackingError, STORED_RESPONSE_TTL};
use crate::waiting::WaitingRows;
use toise_base::clock::Clock;
use toise_store::{self as store, Database, Durability, Store};

/// Waiting rows that are written in one commit.
const WAITING_WRITTEN_AT_ONCE: usize = 1_000;

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
                self.waiting.add(entry, &error);
                Ok(())
            }
            (written, _) => written.map(drop),
        }
    }

    /// Returns the rows that wait for the file to be writable.
    pub fn waiting(&self) -> &WaitingRows {
        &self.waiting
    }

    /// Writes the rows that wait, each once. Only one thread may call this at a time. Blocks.
    ///
    /// # Errors
    /// The file still cannot be written; the rest keeps waiting.
    pub fn write_waiting(&self) -> store::Result<()> {
        loop {
            let entries = self.waiting.oldest(WAITING_WRITTEN_AT_ONCE);
            let count = entries.len();
            if count == 0 {
                return Ok(());
            }
            self.database.write(move |transaction| {
                for entry in &entries {
                    if !is_written(transaction, entry)? {
                        insert_entry(transaction, entry)?;
                    }
                }
                Ok(())
            })?;
            self.waiting.remove_oldest(count);
        }
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

/// Returns whether the row of a call is in the ledger.
fn is_written(transaction: &Transaction<'_>, entry: &LedgerEntry) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM ledger WHERE request_id = ?1)")?
        .query_row([entry.request_id.as_bytes().as_slice()], |row| row.get(0))
}

/// Inserts a row and adds to the totals, in the caller's transaction.
pub fn insert_entry(transaction: &Transaction<'_>, entry: &LedgerEntry) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO ledger (request_id, account_id, key_id, type, credits, calls, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)",
        )?
        .execute((
            entry.request_id.as_bytes().as_slice(),
            entry.account_id.as_bytes().as_slice(),
            entry.key_id.as_bytes().as_slice(),
            entry.consumption.as_str(),
            entry.credits as i64,
            entry.at.timestamp_millis(),
        ))?;
    transaction
        .prepare_cached(
            "INSERT INTO consumption (account_id, key_id, type, day, credits, calls)
             VALUES (?1, ?2, ?3, ?4, ?5, 1)
             ON CONFLICT (account_id, key_id, type, day)
             DO UPDATE SET credits = credits + excluded.credits, calls = calls + 1",
        )?
        .execute((
            entry.account_id.to_string(),
            entry.key_id.to_string(),
            entry.consumption.as_str(),
            entry.at.date_naive().to_string(),
            entry.credits as i64,
        ))?;
    Ok(())
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
