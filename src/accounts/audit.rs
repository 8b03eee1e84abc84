//! The audit log: two rows for each administrative act, which record who did it, from where and on what. The first is
//! written before the act, with the outcome [`BEGUN`], the second after it, with the result. If the process ends in
//! between, the first row shows that the act may have been done.
//!
//! Rows are chained: each holds a digest of its contents and of the row before it, so verification detects rows that
//! were changed or removed. Rows removed at the end are detected in two ways: SQLite stores the number of the last row
//! separately, and [`verify`] returns the digest of the last row, which can be kept elsewhere. Every call blocks.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row};
use serde_json::{Value, json};

use super::json::moment as written;
use toise_base::clock::Clock;
pub use toise_store::audit::{Act, BEGUN};
use toise_store::audit::{DONE, digest, last_number};
use toise_store::columns::moment;
use toise_store::{self as store, Store};

/// Maximum entries that one call returns.
pub const ENTRIES_MAX: usize = 1_000;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Number of the entry, from 1.
    pub number: i64,
    /// Time at which it was appended.
    pub at: DateTime<Utc>,
    /// The act.
    pub act: Act,
    digest: Vec<u8>,
}

/// State of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditState {
    /// Number of entries.
    pub entries: u64,
    /// Digest of the last entry, hexadecimal; empty without entries.
    pub head: String,
    /// Number of the first entry whose digest does not match or that follows a gap. If only entries at the end are
    /// missing, the number of the first missing one.
    pub broken_at: Option<i64>,
}

impl AuditEntry {
    /// Returns the entry as JSON, in the format of the command line and the API.
    pub fn to_json(&self) -> Value {
        let hex: String = self
            .digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let mut answer = json!({
            "entry": self.number,
            "at": written(self.at),
            "actor": self.act.actor,
            "action": self.act.action,
            "outcome": self.act.outcome,
            "digest": hex,
        });
        for (name, value) in [("origin", &self.act.origin), ("subject", &self.act.subject)] {
            if let Some(value) = value {
                answer[name] = json!(value);
            }
        }
        answer
    }
}

/// Appends an act; durable on return.
///
/// # Errors
/// The store cannot be written.
pub fn append(store: &Store, clock: &Clock, act: Act) -> store::Result<()> {
    let at_ms = clock.now().timestamp_millis();
    store.write(move |transaction| toise_store::audit::append(transaction, at_ms, act))
}

/// Performs an act on the command line, and writes one entry before it and one after it.
///
/// # Errors
/// The act fails (the log records this), or the store cannot be written.
pub fn audited<T, E: std::fmt::Display + From<store::Error>>(
    store: &Store,
    clock: &Clock,
    act: Act,
    doing: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let subject = act.subject.clone();
    audited_with_subject(store, clock, act, move |_| subject, doing)
}

/// Like [`audited`], for an act whose subject (account, key or deliveries) is only known from its result.
///
/// # Errors
/// As [`audited`].
pub fn audited_with_subject<T, E: std::fmt::Display + From<store::Error>>(
    store: &Store,
    clock: &Clock,
    begun: Act,
    subject: impl FnOnce(&T) -> Option<String>,
    doing: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    append(store, clock, begun.clone())?;
    let result = doing();
    let (subject, outcome) = match &result {
        Ok(result) => (subject(result), DONE.to_owned()),
        Err(error) => (begun.subject.clone(), format!("failed: {error}")),
    };
    append(store, clock, begun.on(subject).ended(outcome))?;
    result
}

const SELECT: &str =
    "SELECT entry, at_ms, actor, origin, action, subject, outcome, digest FROM audit";

fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry {
        number: row.get(0)?,
        at: moment(row.get(1)?),
        act: Act {
            actor: row.get(2)?,
            origin: row.get(3)?,
            action: row.get(4)?,
            subject: row.get(5)?,
            outcome: row.get(6)?,
        },
        digest: row.get(7)?,
    })
}

/// Returns the latest entries, newest first, at most [`ENTRIES_MAX`]; with `before`, only those with a lower number.
///
/// # Errors
/// The store cannot be read.
pub fn latest(store: &Store, before: Option<i64>, take: usize) -> store::Result<Vec<AuditEntry>> {
    let take = take.min(ENTRIES_MAX) as i64;
    store.read(|connection| {
        connection
            .prepare_cached(&format!(
                "{SELECT} WHERE entry < ?1 ORDER BY entry DESC LIMIT ?2"
            ))?
            .query_map((before.unwrap_or(i64::MAX), take), entry)?
            .collect()
    })
}

/// Returns the latest entry of an action on the command line that succeeded.
///
/// # Errors
/// The store cannot be read.
pub fn last_done(store: &Store, action: &str) -> store::Result<Option<AuditEntry>> {
    store.read(|connection| {
        let sql =
            format!("{SELECT} WHERE action = ?1 AND outcome = ?2 ORDER BY entry DESC LIMIT 1");
        connection
            .prepare_cached(&sql)?
            .query_row((action, DONE), entry)
            .optional()
    })
}

/// Verifies the chain of all entries.
///
/// # Errors
/// The store cannot be read.
pub fn verify(store: &Store) -> store::Result<AuditState> {
    store.read_snapshot(|connection| {
        let mut statement = connection.prepare(&format!("{SELECT} ORDER BY entry"))?;
        let mut rows = statement.query([])?;
        let (mut previous, mut entries, mut broken_at) = (Vec::new(), 0, None);
        let mut number = 0;
        while let Some(row) = rows.next()? {
            let found = entry(row)?;
            let at_ms = found.at.timestamp_millis();
            let expected = digest(&previous, found.number, at_ms, &found.act);
            let fits = found.number == number + 1 && found.digest == expected;
            if !fits && broken_at.is_none() {
                broken_at = Some(found.number);
            }
            number = found.number;
            entries += 1;
            previous = found.digest;
        }
        if broken_at.is_none() && last_number(connection)? != number {
            broken_at = Some(number + 1);
        }
        Ok(AuditState {
            entries,
            head: previous.iter().map(|byte| format!("{byte:02x}")).collect(),
            broken_at,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_store::audit::TEXT_BYTES_MAX;

    fn act(action: &str) -> Act {
        Act {
            actor: "key 1".into(),
            origin: Some("192.0.2.1".into()),
            action: action.into(),
            subject: None,
            outcome: "200".into(),
        }
    }

    fn three(folder: &std::path::Path) -> Store {
        let store = Store::open(folder).unwrap();
        let clock = Clock::steered(Utc::now());
        for action in ["create", "change", "revoke"] {
            append(&store, &clock, act(action)).unwrap();
            clock.advance_ms(1);
        }
        store
    }

    /// Changes the log as somebody with write access to the file could do.
    fn tamper(store: &Store, sql: &'static str) {
        let change = move |transaction: &rusqlite::Transaction<'_>| {
            transaction.execute_batch(
                "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted;",
            )?;
            transaction.execute_batch(sql)
        };
        store.write(change).unwrap();
    }

    #[test]
    fn entries_are_read_as_they_were_appended_and_cannot_be_changed() {
        let folder = tempfile::tempdir().unwrap();
        let store = three(folder.path());
        let found = latest(&store, None, 10).unwrap();
        let actions: Vec<&str> = found.iter().map(|one| one.act.action.as_str()).collect();
        assert_eq!(actions, ["revoke", "change", "create"]);
        assert_eq!(latest(&store, Some(2), 10).unwrap(), found[2..]);
        assert_eq!(found[0].to_json()["origin"], "192.0.2.1");
        let state = verify(&store).unwrap();
        assert_eq!((state.entries, state.broken_at), (3, None));
        assert_eq!(found[0].to_json()["digest"], state.head);
        for sql in ["UPDATE audit SET actor = 'x'", "DELETE FROM audit"] {
            let refused = store.write(move |transaction| transaction.execute(sql, []));
            assert!(refused.unwrap_err().to_string().contains("only appended"));
        }
    }

    #[test]
    fn a_changed_or_removed_entry_shows() {
        for (sql, broken_at) in [
            (
                "UPDATE audit SET actor = 'somebody else' WHERE entry = 2",
                2,
            ),
            ("DELETE FROM audit WHERE entry = 1", 2),
            ("DELETE FROM audit WHERE entry = 2", 3),
            ("DELETE FROM audit WHERE entry = 3", 3),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let store = three(folder.path());
            tamper(&store, sql);
            assert_eq!(verify(&store).unwrap().broken_at, Some(broken_at), "{sql}");
            // Later entries do not hide the damage.
            append(&store, &Clock::system(), act("later")).unwrap();
            assert!(verify(&store).unwrap().broken_at.is_some(), "{sql}");
        }
    }

    #[test]
    fn a_changed_entry_with_a_digest_of_its_own_shows_at_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = three(folder.path());
        let first = latest(&store, Some(2), 1).unwrap().remove(0);
        let changed = Act {
            actor: "somebody else".into(),
            ..first.act
        };
        let digest = digest(&[], 1, first.at.timestamp_millis(), &changed);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let change = move |transaction: &rusqlite::Transaction<'_>| {
            transaction.execute_batch("DROP TRIGGER audit_is_not_changed;")?;
            let sql = format!(
                "UPDATE audit SET actor = 'somebody else', digest = x'{hex}' WHERE entry = 1"
            );
            transaction.execute(&sql, [])
        };
        assert_eq!(store.write(change).unwrap(), 1);
        assert_eq!(verify(&store).unwrap().broken_at, Some(2));
    }

    #[test]
    fn an_act_at_the_command_line_is_in_the_log_before_it_is_done_and_with_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let outcomes = || -> Vec<(String, Option<String>)> {
            let found = latest(&store, None, 10).unwrap().into_iter();
            found
                .map(|one| (one.act.outcome, one.act.subject))
                .collect()
        };
        let create = || Act::at_command_line("keys create");
        let subject = |id: &u32| Some(format!("key {id}"));
        let done = audited_with_subject(&store, &clock, create(), subject, || {
            // A process that is killed here leaves only this entry.
            assert_eq!(outcomes(), [("begun".to_owned(), None)]);
            Ok::<u32, store::Error>(7)
        });
        assert_eq!(done.unwrap(), 7);
        let of_key = ("done".to_owned(), Some("key 7".to_owned()));
        assert_eq!(outcomes()[0], of_key);
        let failing = || Err::<u32, _>(store::Error::Overloaded);
        audited_with_subject(&store, &clock, create(), subject, failing).unwrap_err();
        assert!(outcomes()[0].0.starts_with("failed: "), "{:?}", outcomes());
        assert_eq!(outcomes().len(), 4);
        let revoke = Act::at_command_line("keys revoke").on("key 7".to_owned());
        audited(&store, &clock, revoke, failing).unwrap_err();
        let on_key = outcomes().into_iter().take(2).map(|(_, subject)| subject);
        assert!(on_key.eq([Some("key 7".to_owned()), Some("key 7".to_owned())]));
    }

    #[test]
    fn an_empty_log_is_intact_and_long_texts_are_cut() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(verify(&store).unwrap().broken_at, None);
        append(&store, &Clock::system(), act(&"é".repeat(5_000))).unwrap();
        let found = latest(&store, None, 1).unwrap();
        assert_eq!(found[0].act.action.len(), TEXT_BYTES_MAX);
        assert_eq!(verify(&store).unwrap().broken_at, None);
    }
}
