//! The audit log of SQL over the network: one row of the ledger's file per query, written before the query runs and
//! completed when it ends.
//!
//! A row that still has no outcome after a restart (shown as `running`) belongs to a query that was cut off when the
//! process ended.

use chrono::{DateTime, Duration, Utc};
use rusqlite::{Row, Transaction};
use uuid::Uuid;

use crate::text::cut;
use toise_base::clock::Clock;
use toise_store::{self as store, Durability, Store};

/// Maximum characters of a query that are kept; the digest covers the whole text.
const TEXT_CHARS_MAX: usize = 16_384;
/// Maximum characters of an error that are kept.
const ERROR_CHARS_MAX: usize = 500;
/// Maximum expired rows that are deleted when a row is added.
const DELETED_AT_ONCE: usize = 100;

toise_base::named! {
    /// The protocol through which a query arrived.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Protocol {
        /// `POST /v2/protected/sql`.
        Http = "http",
        /// Arrow Flight SQL.
        Flight = "flight",
        /// Model Context Protocol.
        Mcp = "mcp",
    }
}

/// The caller of a query.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Identifier of the call.
    pub request_id: Uuid,
    /// Account of the key.
    pub account_id: Uuid,
    /// The key.
    pub key_id: Uuid,
    /// The protocol through which it arrived.
    pub protocol: Protocol,
}

/// The end of a query, as the audit log records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryEnding {
    /// `finished`, `failed`, `refused`, `cancelled`, or `limit:` and the name of the limit.
    pub outcome: String,
    /// The error, if there was one.
    pub error: Option<String>,
    /// Rows of the result.
    pub rows: u64,
    /// Bytes of the result.
    pub bytes: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// A row of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Identifier of the call.
    pub request_id: Uuid,
    /// Account of the key.
    pub account_id: Uuid,
    /// The key.
    pub key_id: Uuid,
    /// The protocol through which it arrived.
    pub protocol: String,
    /// When the query arrived.
    pub at: DateTime<Utc>,
    /// Its text, possibly truncated.
    pub query: String,
    /// BLAKE3 of its whole text, 128 bits, hexadecimal.
    pub digest: String,
    /// The versions of the tables it read; empty if it ended before its tables were opened.
    pub snapshots: String,
    /// How it ended; `None` while it runs, or if the process ended first.
    pub ending: Option<QueryEnding>,
}

/// The audit log. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AuditLog {
    store: Store,
    clock: Clock,
    retention: Duration,
}

impl AuditLog {
    /// Creates the log of a data folder; rows are kept for `days` days.
    pub fn new(store: Store, clock: Clock, days: u64) -> Self {
        let days = i64::try_from(days).unwrap_or(i64::MAX);
        Self {
            store,
            clock,
            retention: Duration::try_days(days).unwrap_or(Duration::MAX),
        }
    }

    /// Records that a query arrived. On return the row survives the end of the process.
    ///
    /// # Errors
    /// The log cannot be written; the query must then not run.
    pub async fn begin(&self, caller: Caller, query: &str) -> store::Result<()> {
        let at = self.clock.now();
        let digest = blake3::hash(query.as_bytes()).to_hex();
        let digest = digest[..32].to_owned();
        let kept = cut(query, TEXT_CHARS_MAX);
        let oldest = at.checked_sub_signed(self.retention).unwrap_or_default();
        let insert = move |transaction: &Transaction<'_>| -> store::Result<()> {
            transaction
                .prepare_cached(
                    "DELETE FROM sql_queries WHERE rowid IN
                     (SELECT rowid FROM sql_queries WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)",
                )?
                .execute((oldest.timestamp_millis(), DELETED_AT_ONCE as i64))?;
            transaction
                .prepare_cached(
                    "INSERT INTO sql_queries (request_id, account_id, key_id, protocol, at_ms, query, digest)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute((
                    caller.request_id.as_bytes().as_slice(),
                    caller.account_id.as_bytes().as_slice(),
                    caller.key_id.as_bytes().as_slice(),
                    caller.protocol.as_str(),
                    at.timestamp_millis(),
                    kept,
                    digest,
                ))?;
            Ok(())
        };
        let ledger = self.store.ledger();
        ledger.write_async(Durability::Written, insert).await
    }

    /// Records how a query ended.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn end(
        &self,
        request_id: Uuid,
        snapshots: String,
        ending: QueryEnding,
    ) -> store::Result<()> {
        let error = ending.error.map(|error| cut(&error, ERROR_CHARS_MAX));
        let update = move |transaction: &Transaction<'_>| -> store::Result<()> {
            transaction
                .prepare_cached(
                    "UPDATE sql_queries SET outcome = ?2, error = ?3, row_count = ?4, byte_count = ?5,
                     duration_ms = ?6, snapshots = ?7 WHERE request_id = ?1",
                )?
                .execute((
                    request_id.as_bytes().as_slice(),
                    &ending.outcome,
                    &error,
                    ending.rows as i64,
                    ending.bytes as i64,
                    ending.duration_ms as i64,
                    &snapshots,
                ))?;
            Ok(())
        };
        let ledger = self.store.ledger();
        ledger.write_async(Durability::Written, update).await
    }
}

/// Returns the latest queries of the log, newest first. Blocks.
///
/// # Errors
/// The log cannot be read.
pub fn latest(store: &Store, count_max: usize) -> store::Result<Vec<AuditEntry>> {
    store.ledger().read(|connection| {
        connection
            .prepare(
                "SELECT request_id, account_id, key_id, protocol, at_ms, query, digest, snapshots, outcome, error,
                 row_count, byte_count, duration_ms FROM sql_queries ORDER BY at_ms DESC, rowid DESC LIMIT ?1",
            )?
            .query_map([count_max as i64], entry)?
            .collect()
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let uuid = |index: usize| {
        let bytes: Vec<u8> = row.get(index)?;
        Ok::<_, rusqlite::Error>(Uuid::from_slice(&bytes).unwrap_or_default())
    };
    let count = |index: usize| {
        row.get::<_, Option<i64>>(index)
            .map(|n| n.unwrap_or(0).unsigned_abs())
    };
    let outcome: Option<String> = row.get(8)?;
    let ending = match outcome {
        None => None,
        Some(outcome) => Some(QueryEnding {
            outcome,
            error: row.get(9)?,
            rows: count(10)?,
            bytes: count(11)?,
            duration_ms: count(12)?,
        }),
    };
    Ok(AuditEntry {
        request_id: uuid(0)?,
        account_id: uuid(1)?,
        key_id: uuid(2)?,
        protocol: row.get(3)?,
        at: DateTime::from_timestamp_millis(row.get(4)?).unwrap_or_default(),
        query: row.get(5)?,
        digest: row.get(6)?,
        snapshots: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
        ending,
    })
}
