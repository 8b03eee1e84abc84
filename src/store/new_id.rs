//! Identifiers of the objects that a call creates, so that a repeated call creates them only once.
//!
//! The response to a call under an idempotency key is in the ledger, and what the call created is in the store: two
//! files, two commits. If a process ends between the two, something was created but no response is stored; the same
//! happens if the client of the call disconnects. So the identifiers of what such a call creates are derived from the
//! call: when it is repeated, it finds what it created.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, ToSql, Transaction};
use uuid::{Builder, Uuid};

/// Purpose from which the identifiers of repeated calls are derived.
const PURPOSE: &str = "toise identifiers of what calls under idempotency keys make";

/// The identifier of something that is about to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewId {
    /// A random identifier, which is not in use yet.
    Random,
    /// An identifier that belongs to a call that may be repeated.
    OfCall {
        /// The identifier.
        id: Uuid,
        /// Milliseconds since the epoch. Anything created earlier was created by another call under the same
        /// idempotency key.
        made_after_ms: i64,
    },
}

/// Whether a call still has to create its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing has this identifier: create it.
    New(Uuid),
    /// An earlier attempt of the call created it, but got no response.
    Made(Uuid),
}

impl NewId {
    /// Returns the identifier of what a call creates. `call` distinguishes it from all others; calls are remembered
    /// since `made_after`.
    pub fn of_call(call: &[u8], made_after: DateTime<Utc>) -> Self {
        Self::OfCall {
            id: derived(call),
            made_after_ms: made_after.timestamp_millis(),
        }
    }

    /// Returns the identifier of the n-th of several things that a call creates.
    pub fn nth(self, place: usize) -> Self {
        match self {
            Self::Random => Self::Random,
            Self::OfCall { id, made_after_ms } => Self::OfCall {
                id: derived(&[id.as_bytes().as_slice(), &(place as u64).to_le_bytes()].concat()),
                made_after_ms,
            },
        }
    }

    /// Looks up whether the thing exists, in the transaction that creates it. `made_at_ms` is a query that returns when
    /// the one with the identifier `?1` was created; `written` converts the identifier to the form that the table has.
    ///
    /// # Errors
    /// The query fails.
    pub fn settle<I: ToSql>(
        self,
        transaction: &Transaction<'_>,
        made_at_ms: &str,
        written: impl FnOnce(Uuid) -> I,
    ) -> rusqlite::Result<Settled> {
        let Self::OfCall { id, made_after_ms } = self else {
            return Ok(Settled::New(Uuid::now_v7()));
        };
        let mut statement = transaction.prepare_cached(made_at_ms)?;
        let made_at_ms: Option<i64> = statement
            .query_row([written(id)], |row| row.get(0))
            .optional()?;
        Ok(match made_at_ms {
            None => Settled::New(id),
            Some(made_at_ms) if made_at_ms > made_after_ms => Settled::Made(id),
            Some(_) => Settled::New(Uuid::now_v7()),
        })
    }
}

fn derived(from: &[u8]) -> Uuid {
    let mut bytes = [0; 16];
    let mut hasher = blake3::Hasher::new_derive_key(PURPOSE);
    hasher.update(from).finalize_xof().fill(&mut bytes);
    Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_call_finds_what_it_made_and_another_one_does_not() {
        const YESTERDAY_MS: i64 = 1_000;
        let yesterday = DateTime::from_timestamp_millis(YESTERDAY_MS).unwrap();
        let mut connection = rusqlite::Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE things (id TEXT, made_at_ms INTEGER)")
            .unwrap();
        let transaction = connection.transaction().unwrap();
        let settled = |id: NewId| {
            let query = "SELECT made_at_ms FROM things WHERE id = ?1";
            id.settle(&transaction, query, |id| id.to_string()).unwrap()
        };
        let id = NewId::of_call(b"a call", yesterday);
        let Settled::New(made) = settled(id) else {
            panic!("{id:?}");
        };
        let made_at = |ms: i64| {
            transaction.execute("DELETE FROM things", []).unwrap();
            let sql = "INSERT INTO things VALUES (?1, ?2)";
            transaction.execute(sql, (made.to_string(), ms)).unwrap();
        };
        made_at(YESTERDAY_MS + 1);
        assert_eq!(settled(id), Settled::Made(made));
        assert!(matches!(settled(id.nth(0)), Settled::New(_)));
        // Created before the key was forgotten, so by another call.
        made_at(YESTERDAY_MS);
        assert!(matches!(settled(id), Settled::New(other) if other != made));
        assert_ne!(id, NewId::of_call(b"b call", yesterday));
        assert_ne!(id.nth(0), id.nth(1));
        assert_eq!(id.nth(1), NewId::of_call(b"a call", yesterday).nth(1));
        assert_eq!(NewId::Random.nth(1), NewId::Random);
    }
}
