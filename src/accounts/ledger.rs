//! The ledger: one row for each answered call that counts, written before the response is sent.
//!
//! Before the response is sent, a row that charges credits and a stored response are synced. The row of a free call
//! is only written: it survives the end of the process, but a machine failure may lose the free calls of about the
//! last second ([`Durability`]). Free calls therefore do not wait for the disk.
//!
//! API calls have a file of their own ([`Store::ledger`]), so a response never waits while another call writes its
//! adverts; rows that wait at the same time share a commit. The same transaction adds to the daily totals that
//! reports and quotas read, so they always agree with the rows. It also writes the stored response (see
//! [`StoredResponse`]), so a repeatable call is either charged and stored, or neither.
//!
//! The costs of deliveries are in tables of the same names in the store, because they must be written together with
//! the outcome. Readers of totals add up both.

use chrono::{DateTime, Datelike, Utc};
use rusqlite::{Connection, OptionalExtension, Transaction};
use uuid::Uuid;

use crate::prices::Consumption;
use toise_store::checksum::of_answer;
use toise_store::{self as store, Database, Durability, Store, is_intact_answer};

/// How long a stored response is replayed.
pub const STORED_RESPONSE_TTL: chrono::Duration = chrono::Duration::hours(24);

/// Maximum bytes that the stored responses of an account take, compressed. Past it the oldest are deleted: a call
/// repeated under their keys is made again. A longer response is not stored.
pub const STORED_BYTES_MAX: u64 = 64 << 20;
/// Maximum expired responses that one call deletes: more than one, so that they do not pile up.
const EXPIRED_DELETED_MAX: i64 = 64;
/// Responses deleted at once to make room.
const EVICTED_AT_ONCE: i64 = 16;
/// Place of the opened body in the query of a stored response.
const REVEALED_COLUMN: usize = 6;

/// Key id of entries without a key: deliveries are paid by an account, not requested with a key.
pub const NO_KEY: Uuid = Uuid::nil();

/// A row of the ledger.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// Identifier of the call or delivery.
    pub request_id: Uuid,
    /// Account that is charged.
    pub account_id: Uuid,
    /// Key used, or [`NO_KEY`].
    pub key_id: Uuid,
    /// Type of consumption.
    pub consumption: Consumption,
    /// Credits charged.
    pub credits: u64,
    /// Time of the call.
    pub at: DateTime<Utc>,
}

/// A response stored for a client that may repeat the request with the same `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// The client's idempotency key.
    pub idempotency_key: String,
    /// Digest of the request: method, path, query and body.
    pub request_digest: [u8; 32],
    /// HTTP status.
    pub status: u16,
    /// Media type.
    pub content_type: String,
    /// Body.
    pub body: bytes::Bytes,
}

/// The call record: what one call writes to the ledger.
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

/// The row could not be written; nothing was charged.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The maximum number of rows is already waiting.
    #[error("too many ledger rows are waiting")]
    Overloaded,
    /// The store refused it.
    #[error("the ledger cannot be written: {0}")]
    Store(#[source] store::Error),
    /// The response cannot be compressed.
    #[error("the response cannot be compressed: {0}")]
    Answer(#[source] std::io::Error),
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
pub struct Ledger(Database);

impl Ledger {
    /// The ledger of a store.
    pub fn new(store: &Store) -> Self {
        Self(store.ledger().clone())
    }

    /// Writes a call record. On return, charged credits and stored responses are synced, and any other record is
    /// written. If the caller goes away while waiting, the call may or may not be charged, but never twice.
    pub async fn record(&self, record: CallRecord) -> Result<(), LedgerError> {
        let is_charged = record.entry.as_ref().is_some_and(|entry| entry.credits > 0);
        let durability = match is_charged || record.answer.is_some() {
            true => Durability::Synced,
            false => Durability::Written,
        };
        let change = move |transaction: &Transaction<'_>| insert(transaction, &record);
        self.0.write_async(durability, change).await
    }
}

fn insert(transaction: &Transaction<'_>, record: &CallRecord) -> Result<(), LedgerError> {
    if let Some(entry) = &record.entry {
        insert_entry(transaction, entry)?;
    }
    match &record.answer {
        Some(answer) => insert_answer(transaction, record.account_id, record.at, answer),
        None => Ok(()),
    }
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

fn insert_answer(
    transaction: &Transaction<'_>,
    account_id: Uuid,
    at: DateTime<Utc>,
    answer: &StoredResponse,
) -> Result<(), LedgerError> {
    // Expired responses are deleted when new ones are stored.
    transaction
        .prepare_cached(
            "DELETE FROM stored_answers WHERE rowid IN
             (SELECT rowid FROM stored_answers WHERE stored_at_ms <= ?1 LIMIT ?2)",
        )?
        .execute((
            (at - STORED_RESPONSE_TTL).timestamp_millis(),
            EXPIRED_DELETED_MAX,
        ))?;
    // Whatever else has expired, the response under this key must make room for the new one.
    transaction
        .prepare_cached(
            "DELETE FROM stored_answers WHERE account_id = ?1 AND idempotency_key = ?2 AND stored_at_ms <= ?3",
        )?
        .execute((
            account_id.as_bytes().as_slice(),
            &answer.idempotency_key,
            (at - STORED_RESPONSE_TTL).timestamp_millis(),
        ))?;
    let body = zstd::bulk::compress(&answer.body, zstd::DEFAULT_COMPRESSION_LEVEL)
        .map_err(LedgerError::Answer)?;
    if body.len() as u64 > STORED_BYTES_MAX {
        return Ok(());
    }
    make_room(transaction, account_id, body.len() as u64)?;
    let body: Vec<u8> = transaction
        .prepare_cached("SELECT conceal(?3, 'stored_answers ' || hex(?1) || ' ' || ?2)")?
        .query_row(
            (
                account_id.as_bytes().as_slice(),
                &answer.idempotency_key,
                body,
            ),
            |row| row.get(0),
        )?;
    let bytes = answer.body.len() as i64;
    let checksum = of_answer(
        &answer.request_digest,
        answer.status,
        &answer.content_type,
        bytes,
        &body,
    );
    transaction
        .prepare_cached(
            "INSERT INTO stored_answers (account_id, idempotency_key, request_digest, status, content_type, bytes,
               body, stored_at_ms, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            account_id.as_bytes().as_slice(),
            &answer.idempotency_key,
            answer.request_digest.as_slice(),
            answer.status,
            &answer.content_type,
            bytes,
            body,
            at.timestamp_millis(),
            checksum,
        ))?;
    Ok(())
}

/// Deletes the oldest responses of an account until another of `bytes` fits.
fn make_room(transaction: &Transaction<'_>, account_id: Uuid, bytes: u64) -> rusqlite::Result<()> {
    let account = account_id.as_bytes().as_slice();
    let mut held = transaction
        .prepare_cached("SELECT bytes FROM stored_answer_bytes WHERE account_id = ?1")?;
    let mut delete = transaction.prepare_cached(
        "DELETE FROM stored_answers WHERE rowid IN
         (SELECT rowid FROM stored_answers WHERE account_id = ?1 ORDER BY stored_at_ms LIMIT ?2)",
    )?;
    loop {
        let found: Option<i64> = held.query_row([account], |row| row.get(0)).optional()?;
        let found = found.map_or(0, |held| u64::try_from(held).unwrap_or(0));
        if found + bytes <= STORED_BYTES_MAX || delete.execute((account, EVICTED_AT_ONCE))? == 0 {
            return Ok(());
        }
    }
}

/// The response stored under an idempotency key, unless it has expired. Blocks.
pub fn stored_response(
    store: &Store,
    account_id: Uuid,
    idempotency_key: &str,
    now: DateTime<Utc>,
) -> store::Result<Option<StoredResponse>> {
    let read = |connection: &Connection| stored_in(connection, account_id, idempotency_key, now);
    store.ledger().read(read)
}

fn stored_in(
    connection: &Connection,
    account_id: Uuid,
    idempotency_key: &str,
    now: DateTime<Utc>,
) -> rusqlite::Result<Option<StoredResponse>> {
    connection
        .prepare_cached(
            "SELECT request_digest, status, content_type, bytes, body, checksum,
               reveal(body, 'stored_answers ' || hex(?1) || ' ' || ?2) FROM stored_answers
             WHERE account_id = ?1 AND idempotency_key = ?2 AND stored_at_ms > ?3",
        )?
        .query_row(
            (
                account_id.as_bytes().as_slice(),
                idempotency_key,
                (now - STORED_RESPONSE_TTL).timestamp_millis(),
            ),
            |row| {
                if !is_intact_answer(row)? {
                    let what = format!("the response stored under {idempotency_key:?} is damaged");
                    return Err(conversion(what.into()));
                }
                let compressed: Vec<u8> = row.get(REVEALED_COLUMN)?;
                let bytes = usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
                let body = zstd::bulk::decompress(&compressed, bytes)
                    .map_err(|error| conversion(error.into()))?;
                Ok(StoredResponse {
                    idempotency_key: idempotency_key.to_owned(),
                    request_digest: row.get(0)?,
                    status: row.get(1)?,
                    content_type: row.get(2)?,
                    body: body.into(),
                })
            },
        )
        .optional()
}

fn conversion(error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(REVEALED_COLUMN, rusqlite::types::Type::Blob, error)
}

/// Number of counted calls of a key in the month of `now`. Blocks.
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
