//! The ledger: one row for each call that was answered and counts, on disk before the answer leaves.
//!
//! Rows that wait at the same moment go to the store as one change, so a commit is shared by all calls in flight. The
//! same change adds to the totals by day, which reports and quotas read: they cannot drift from the rows. A stored
//! answer (see [`StoredAnswer`]) is part of it too, so a repeated call is either charged and stored, or neither.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use rusqlite::{Connection, OptionalExtension, Transaction};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::config::prices::Consumption;
use crate::store::{self, Store};

/// Rows of one change at most.
const GROUP_MAX: usize = 1_024;
/// How long a stored answer is given again.
pub const ANSWER_LIFE: chrono::Duration = chrono::Duration::hours(24);

/// Stands for the key where there is none: deliveries are paid by an account, not asked for with a key.
pub const NO_KEY: Uuid = Uuid::nil();

/// One row.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The call, or the delivery.
    pub request_id: Uuid,
    /// Who pays.
    pub account_id: Uuid,
    /// With which key, or [`NO_KEY`].
    pub key_id: Uuid,
    /// For what.
    pub consumption: Consumption,
    /// How much.
    pub credits: u64,
    /// When.
    pub at: DateTime<Utc>,
}

/// A final answer kept for a client that may ask again under the same `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The client's key.
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

/// What one call leaves behind.
#[derive(Clone, Debug)]
pub struct Record {
    /// Who asked.
    pub account_id: Uuid,
    /// When.
    pub at: DateTime<Utc>,
    /// The row, when the call counts.
    pub entry: Option<Entry>,
    /// The answer, when the client may ask again.
    pub answer: Option<StoredAnswer>,
}

/// The row was not written; nothing was charged.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the ledger cannot be written: {0}")]
pub struct LedgerError(String);

struct Waiting {
    record: Record,
    reply: oneshot::Sender<Result<(), LedgerError>>,
}

/// Writes rows. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {
    queue: Sender<Waiting>,
}

impl Ledger {
    /// Starts the thread that gathers rows; it ends with the last handle.
    pub fn start(store: Store) -> Self {
        let (queue, waiting) = channel();
        std::thread::spawn(move || gather(&store, &waiting));
        Self { queue }
    }

    /// Writes what a call leaves; durable on return. A caller that goes away while it waits may be charged or not, but
    /// never twice.
    pub async fn record(&self, record: Record) -> Result<(), LedgerError> {
        let closed = || LedgerError("the writing thread is gone".into());
        let (reply, answer) = oneshot::channel();
        self.queue
            .send(Waiting { record, reply })
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

fn gather(store: &Store, waiting: &Receiver<Waiting>) {
    while let Ok(first) = waiting.recv() {
        let mut records = vec![first.record];
        let mut replies = vec![first.reply];
        for next in waiting.try_iter().take(GROUP_MAX - 1) {
            records.push(next.record);
            replies.push(next.reply);
        }
        let outcome = store
            .write(move |transaction| insert_all(transaction, &records))
            .map_err(|error| LedgerError(error.to_string()));
        for reply in replies {
            // Whoever went away is not told.
            let _ = reply.send(outcome.clone());
        }
    }
}

/// Inserts rows and stored answers and adds to the totals, in the caller's transaction.
pub fn insert_all(transaction: &Transaction<'_>, records: &[Record]) -> rusqlite::Result<()> {
    let mut totals: BTreeMap<(Uuid, Uuid, Consumption, NaiveDate), (u64, u64)> = BTreeMap::new();
    {
        let mut insert = transaction.prepare_cached(
            "INSERT INTO ledger (request_id, account_id, key_id, type, credits, calls, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)",
        )?;
        for entry in records.iter().filter_map(|record| record.entry.as_ref()) {
            insert.execute((
                entry.request_id.as_bytes().as_slice(),
                entry.account_id.as_bytes().as_slice(),
                entry.key_id.as_bytes().as_slice(),
                entry.consumption.as_str(),
                entry.credits as i64,
                entry.at.timestamp_millis(),
            ))?;
            let day = entry.at.date_naive();
            let (credits, calls) = totals
                .entry((entry.account_id, entry.key_id, entry.consumption, day))
                .or_default();
            *credits += entry.credits;
            *calls += 1;
        }
    }
    let mut add = transaction.prepare_cached(
        "INSERT INTO consumption (account_id, key_id, type, day, credits, calls)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (account_id, key_id, type, day)
         DO UPDATE SET credits = credits + excluded.credits, calls = calls + excluded.calls",
    )?;
    for ((account_id, key_id, consumption, day), (credits, calls)) in totals {
        add.execute((
            account_id.to_string(),
            key_id.to_string(),
            consumption.as_str(),
            day.to_string(),
            credits as i64,
            calls as i64,
        ))?;
    }
    for record in records {
        if let Some(answer) = &record.answer {
            insert_answer(transaction, record.account_id, record.at, answer)?;
        }
    }
    Ok(())
}

fn insert_answer(
    transaction: &Transaction<'_>,
    account_id: Uuid,
    at: DateTime<Utc>,
    answer: &StoredAnswer,
) -> rusqlite::Result<()> {
    // Answers past their life leave as new ones come.
    transaction
        .prepare_cached("DELETE FROM stored_answers WHERE stored_at_ms <= ?1")?
        .execute([(at - ANSWER_LIFE).timestamp_millis()])?;
    let body = zstd::bulk::compress(&answer.body, zstd::DEFAULT_COMPRESSION_LEVEL)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    transaction
        .prepare_cached(
            "INSERT INTO stored_answers
             (account_id, idempotency_key, request_digest, status, content_type, bytes, body, stored_at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            account_id.as_bytes().as_slice(),
            &answer.idempotency_key,
            answer.request_digest.as_slice(),
            answer.status,
            &answer.content_type,
            answer.body.len() as i64,
            body,
            at.timestamp_millis(),
        ))?;
    Ok(())
}

/// The answer stored under a client's key, when it is not past its life.
pub fn stored_answer(
    connection: &Connection,
    account_id: Uuid,
    idempotency_key: &str,
    now: DateTime<Utc>,
) -> rusqlite::Result<Option<StoredAnswer>> {
    connection
        .prepare_cached(
            "SELECT request_digest, status, content_type, bytes, body FROM stored_answers
             WHERE account_id = ?1 AND idempotency_key = ?2 AND stored_at_ms > ?3",
        )?
        .query_row(
            (
                account_id.as_bytes().as_slice(),
                idempotency_key,
                (now - ANSWER_LIFE).timestamp_millis(),
            ),
            |row| {
                let compressed: Vec<u8> = row.get(4)?;
                let bytes = usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
                let body = zstd::bulk::decompress(&compressed, bytes).map_err(|error| {
                    rusqlite::Error::FromSqlConversionFailure(
                        4,
                        rusqlite::types::Type::Blob,
                        Box::new(error),
                    )
                })?;
                Ok(StoredAnswer {
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

/// Calls a key made in the month of a moment.
pub fn calls_of_month(store: &Store, key_id: Uuid, now: DateTime<Utc>) -> store::Result<u64> {
    let month = format!("{:04}-{:02}-%", now.year(), now.month());
    let calls: i64 = store.read(|connection| {
        connection
            .prepare_cached(
                "SELECT coalesce(sum(calls), 0) FROM consumption WHERE key_id = ?1 AND day LIKE ?2",
            )?
            .query_row((key_id.to_string(), month), |row| row.get(0))
    })?;
    Ok(u64::try_from(calls).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::DEFAULT_ACCOUNT;
    use crate::accounts::keys::{self, Kind};
    use crate::clock::Clock;

    fn record(account_id: Uuid, key_id: Uuid, at: DateTime<Utc>, credits: u64) -> Record {
        Record {
            account_id,
            at,
            entry: Some(Entry {
                request_id: Uuid::now_v7(),
                account_id,
                key_id,
                consumption: Consumption::OpendataDpeMatch,
                credits,
                at,
            }),
            answer: None,
        }
    }

    #[tokio::test]
    async fn rows_and_totals_of_concurrent_calls_agree() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered(Utc::now());
        let kind = Kind::Production;
        let key =
            keys::create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        let ledger = Ledger::start(store.clone());
        let calls = (0..200).map(|number| {
            ledger.record(record(key.account_id, key.key_id, clock.now(), number % 3))
        });
        for outcome in futures::future::join_all(calls).await {
            outcome.unwrap();
        }
        let sums = |sql: &'static str| {
            store
                .read(|connection| {
                    connection.query_row(sql, [], |row| {
                        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
                    })
                })
                .unwrap()
        };
        let expected = ((0..200).map(|number| number % 3).sum::<i64>(), 200);
        assert_eq!(
            sums("SELECT sum(credits), sum(calls) FROM ledger"),
            expected
        );
        assert_eq!(
            sums("SELECT sum(credits), sum(calls) FROM consumption"),
            expected
        );
        assert_eq!(
            calls_of_month(&store, key.key_id, clock.now()).unwrap(),
            200
        );
        let next_month = clock.now() + chrono::Duration::days(32);
        assert_eq!(calls_of_month(&store, key.key_id, next_month).unwrap(), 0);
    }

    #[tokio::test]
    async fn a_stored_answer_is_found_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let ledger = Ledger::start(store.clone());
        let (account_id, at) = (Uuid::now_v7(), Utc::now());
        let answer = StoredAnswer {
            idempotency_key: "order 7".into(),
            request_digest: [7; 32],
            status: 200,
            content_type: "application/json".into(),
            body: "{\"data\":[]}".into(),
        };
        let stored = Record {
            account_id,
            at,
            entry: None,
            answer: Some(answer.clone()),
        };
        ledger.record(stored).await.unwrap();
        let found = |account_id: Uuid, now: DateTime<Utc>| {
            store
                .read(|connection| stored_answer(connection, account_id, "order 7", now))
                .unwrap()
        };
        let almost = ANSWER_LIFE - chrono::Duration::seconds(1);
        assert_eq!(found(account_id, at + almost), Some(answer));
        assert_eq!(found(account_id, at + ANSWER_LIFE), None);
        assert_eq!(found(Uuid::now_v7(), at), None);
    }
}
