//! Records of calls under an idempotency key, so that a call is neither executed nor charged a second time.
//!
//! Each call has a row, with the compressed response while there is room for it. If the response of a call that only
//! reads is large, or was deleted to make room, the row has no body; a repeated call is then executed again free of
//! charge. Responses of calls that change something are stored regardless of their size, and are deleted last.
//!
//! Limits per account: [`STORED_BYTES_MAX`] for bodies, [`STORED_CALLS_MAX`] for rows, about 300 bytes each with their
//! indexes. Above the limit on rows, the oldest calls are forgotten; if repeated, they are executed and charged again.
//! On disk, a body of 2 to 4 KB takes a page of 4 KiB.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, Transaction};
use tokio::sync::Semaphore;
use uuid::Uuid;

use toise_store::checksum::{CHECKSUM_BYTES, of_answer};
use toise_store::{Database, is_intact_answer};

/// Time for which a call is remembered.
pub const STORED_RESPONSE_TTL: TimeDelta = TimeDelta::hours(24);
/// Maximum compressed bytes of the stored responses of an account. Above it, the oldest responses are deleted, those of
/// calls that only read first.
pub const STORED_BYTES_MAX: u64 = 64 << 20;
/// Maximum bytes of the stored response of a call that only reads, compressed.
pub const READ_BYTES_MAX: usize = 1 << 20;
/// Maximum length of a response that is compressed if its call only reads, bytes.
const READ_PLAIN_BYTES_MAX: usize = 16 << 20;
/// Maximum calls of an account that are remembered.
pub const STORED_CALLS_MAX: u64 = 1_000_000;
/// Maximum expired rows that one call deletes. More than one, so that expired rows do not accumulate.
const EXPIRED_DELETED_MAX: i64 = 64;
/// Bodies or rows deleted at once to make room.
const EVICTED_AT_ONCE: i64 = 16;
/// Minimum length of a large response, bytes; only [`LARGE_AT_ONCE`] of these are compressed at once. Shorter responses
/// take a fraction of a millisecond and do not wait for the large ones.
const LARGE_BYTES_MIN: usize = 64 << 10;
/// Number of large responses that are compressed at once.
const LARGE_AT_ONCE: usize = 2;
/// Index of the decrypted body in the query of a stored response.
const REVEALED_COLUMN: usize = 6;

/// A response stored for a client that may repeat the request with the same `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// The client's idempotency key.
    pub idempotency_key: String,
    /// Digest of the request: method, path, query and body.
    pub request_digest: [u8; 32],
    /// Identifier of the call that was executed.
    pub request_id: Uuid,
    /// Whether the call only reads, so that it can be executed again when the body is not kept.
    pub is_repeatable: bool,
    /// HTTP status.
    pub status: u16,
    /// Media type.
    pub content_type: String,
    /// Body; `None` if only the row is kept.
    pub body: Option<Bytes>,
}

/// The reason why a response cannot be compressed or sealed.
pub(crate) type PackingError = Box<dyn std::error::Error + Send + Sync>;

/// A response ready to be written.
#[derive(Debug)]
pub(crate) struct PackedResponse {
    account_id: Uuid,
    /// The response, with its body compressed and sealed.
    answer: StoredResponse,
    /// Length of the body before compression, bytes.
    bytes: i64,
    checksum: [u8; CHECKSUM_BYTES],
}

/// Compresses and seals responses on blocking threads. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Packing(Arc<Semaphore>);

impl Default for Packing {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LARGE_AT_ONCE)))
    }
}

impl Packing {
    /// Packs a response for a ledger.
    pub(crate) async fn pack(
        &self,
        ledger: &Database,
        account_id: Uuid,
        answer: StoredResponse,
    ) -> Result<PackedResponse, PackingError> {
        let length = answer.body.as_ref().map_or(0, Bytes::len);
        let permit = if length < LARGE_BYTES_MIN {
            None
        } else {
            Some(Arc::clone(&self.0).acquire_owned().await?)
        };
        let ledger = ledger.clone();
        let packing = tokio::task::spawn_blocking(move || {
            let packed = pack(&ledger, account_id, answer);
            drop(permit);
            packed
        });
        packing.await?
    }
}

fn pack(
    ledger: &Database,
    account_id: Uuid,
    mut answer: StoredResponse,
) -> Result<PackedResponse, PackingError> {
    let is_given = answer.body.is_some();
    let plain = answer.body.take().unwrap_or_default();
    if is_given && (!answer.is_repeatable || plain.len() <= READ_PLAIN_BYTES_MAX) {
        let packed = zstd::bulk::compress(&plain, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        if !answer.is_repeatable || packed.len() <= READ_BYTES_MAX {
            // Must equal the context in the query of `find`.
            let place = format!(
                "stored_answers {:X} {}",
                account_id.simple(),
                answer.idempotency_key
            );
            answer.body = Some(ledger.conceal(packed, &place)?.into());
        }
    }
    let bytes = plain.len() as i64;
    let checksum = of_answer(
        &answer.request_digest,
        answer.status,
        &answer.content_type,
        bytes,
        answer.body.as_deref().unwrap_or_default(),
    );
    Ok(PackedResponse {
        account_id,
        answer,
        bytes,
        checksum,
    })
}

/// Stores a response. Also deletes some rows that were stored at or before `expired`.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    packed: &PackedResponse,
    at: DateTime<Utc>,
    expired: DateTime<Utc>,
) -> rusqlite::Result<()> {
    let PackedResponse {
        account_id, answer, ..
    } = packed;
    let account = account_id.as_bytes().as_slice();
    transaction
        .prepare_cached(
            "DELETE FROM stored_answers WHERE rowid IN
             (SELECT rowid FROM stored_answers WHERE stored_at_ms <= ?1 LIMIT ?2)",
        )?
        .execute((expired.timestamp_millis(), EXPIRED_DELETED_MAX))?;
    // An expired response under this key must be deleted in any case, to make room for the new one.
    transaction
        .prepare_cached(
            "DELETE FROM stored_answers WHERE account_id = ?1 AND idempotency_key = ?2 AND stored_at_ms <= ?3",
        )?
        .execute((account, &answer.idempotency_key, expired.timestamp_millis()))?;
    forget_oldest(transaction, account)?;
    transaction
        .prepare_cached(
            "INSERT INTO stored_answers (account_id, idempotency_key, request_digest, request_id, status, content_type,
               is_repeatable, bytes, body, stored_at_ms, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute((
            account,
            &answer.idempotency_key,
            answer.request_digest.as_slice(),
            answer.request_id.into_bytes(),
            answer.status,
            &answer.content_type,
            answer.is_repeatable,
            packed.bytes,
            answer.body.as_deref(),
            at.timestamp_millis(),
            packed.checksum.as_slice(),
        ))?;
    make_room(transaction, account)
}

/// Returns the number of rows of an account, and the bytes that their bodies take.
fn stored_totals(transaction: &Transaction<'_>, account: &[u8]) -> rusqlite::Result<(u64, u64)> {
    let found = transaction
        .prepare_cached("SELECT answers, bytes FROM stored_answer_totals WHERE account_id = ?1")?
        .query_row([account], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?;
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(found.map_or((0, 0), |(rows, bytes)| (unsigned(rows), unsigned(bytes))))
}

/// Deletes a few of the oldest calls of an account if there is no room for another row.
fn forget_oldest(transaction: &Transaction<'_>, account: &[u8]) -> rusqlite::Result<()> {
    if stored_totals(transaction, account)?.0 < STORED_CALLS_MAX {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "DELETE FROM stored_answers WHERE rowid IN
             (SELECT rowid FROM stored_answers WHERE account_id = ?1 ORDER BY stored_at_ms LIMIT ?2)",
        )?
        .execute((account, EVICTED_AT_ONCE))?;
    Ok(())
}

/// Deletes bodies of an account until the rest fits, and keeps their rows. Bodies of calls that only read go first, the
/// oldest of them before newer ones.
fn make_room(transaction: &Transaction<'_>, account: &[u8]) -> rusqlite::Result<()> {
    let mut drop_bodies = transaction.prepare_cached(
        "UPDATE stored_answers
         SET body = NULL, checksum = answer_checksum(request_digest, status, content_type, bytes, x'')
         WHERE rowid IN
           (SELECT rowid FROM stored_answers WHERE account_id = ?1 AND body IS NOT NULL
            ORDER BY is_repeatable DESC, stored_at_ms LIMIT ?2)",
    )?;
    while stored_totals(transaction, account)?.1 > STORED_BYTES_MAX {
        if drop_bodies.execute((account, EVICTED_AT_ONCE))? == 0 {
            break;
        }
    }
    Ok(())
}

/// Returns the response stored under an idempotency key of an account later than `expired`.
pub(crate) fn find(
    connection: &Connection,
    account_id: Uuid,
    idempotency_key: &str,
    expired: DateTime<Utc>,
) -> rusqlite::Result<Option<StoredResponse>> {
    connection
        .prepare_cached(
            "SELECT request_digest, status, content_type, bytes, body, checksum,
               reveal(body, 'stored_answers ' || hex(?1) || ' ' || ?2), request_id, is_repeatable FROM stored_answers
             WHERE account_id = ?1 AND idempotency_key = ?2 AND stored_at_ms > ?3",
        )?
        .query_row(
            (
                account_id.as_bytes().as_slice(),
                idempotency_key,
                expired.timestamp_millis(),
            ),
            |row| {
                if !is_intact_answer(row)? {
                    let what = format!("the response stored under {idempotency_key:?} is damaged");
                    return Err(conversion(what.into()));
                }
                let packed: Option<Vec<u8>> = row.get(REVEALED_COLUMN)?;
                let bytes = usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
                let body = packed.map(|packed| zstd::bulk::decompress(&packed, bytes));
                let body = body.transpose().map_err(|error| conversion(error.into()))?;
                Ok(StoredResponse {
                    idempotency_key: idempotency_key.to_owned(),
                    request_digest: row.get(0)?,
                    request_id: Uuid::from_bytes(row.get(7)?),
                    is_repeatable: row.get(8)?,
                    status: row.get(1)?,
                    content_type: row.get(2)?,
                    body: body.map(Bytes::from),
                })
            },
        )
        .optional()
}

fn conversion(error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(REVEALED_COLUMN, rusqlite::types::Type::Blob, error)
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
