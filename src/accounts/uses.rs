//! Records when each key was last used: in memory at every call, and periodically in the store.
//!
//! A use does not change the key, so it is in a separate table and does not make cached keys stale. A killed process
//! loses the uses that it has not written: about half a minute.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use uuid::Uuid;

use toise_store::{self as store, Store};

/// Uses that are not written yet. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct KeyUses(Arc<Unwritten>);

#[derive(Debug, Default)]
struct Unwritten {
    uses: Mutex<HashMap<Uuid, i64>>,
    /// Held while uses are written, so that a second writer returns only when the uses of both are in the store.
    writing: Mutex<()>,
}

impl KeyUses {
    /// Records that a key is used.
    pub fn note(&self, key_id: Uuid, at: DateTime<Utc>) {
        self.0.uses.lock().insert(key_id, at.timestamp_millis());
    }

    /// Writes the recorded uses, after waiting for a write that is under way. Blocks.
    ///
    /// # Errors
    /// The store cannot be written; the uses are kept for the next call.
    pub fn write(&self, store: &Store) -> store::Result<()> {
        let _writing = self.0.writing.lock();
        let noted = std::mem::take(&mut *self.0.uses.lock());
        if noted.is_empty() {
            return Ok(());
        }
        let writing = noted.clone();
        let written = store.write(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "INSERT INTO key_uses VALUES (?1, ?2)
                 ON CONFLICT (key_id) DO UPDATE SET last_used_at_ms = max(last_used_at_ms, excluded.last_used_at_ms)",
            )?;
            for (key_id, at_ms) in &writing {
                statement.execute((key_id.to_string(), at_ms))?;
            }
            Ok(())
        });
        if written.is_err() {
            let mut uses = self.0.uses.lock();
            for (key_id, at_ms) in noted {
                uses.entry(key_id).or_insert(at_ms);
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEFAULT_ACCOUNT;
    use crate::keys::{self, KeyKind, NewKey};
    use toise_base::clock::Clock;

    fn store_with_key() -> (tempfile::TempDir, Store, Clock, NewKey) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered(DateTime::from_timestamp_millis(1_700_000_000_000).unwrap());
        let kind = KeyKind::Production;
        let new =
            keys::create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        (folder, store, clock, new)
    }

    #[test]
    fn the_last_use_of_a_key_is_written_and_changes_no_key() {
        let (_folder, store, clock, new) = store_with_key();
        let changes = || {
            let sql = "SELECT count FROM key_changes";
            store.read(|connection| connection.query_row(sql, [], |row| row.get::<_, i64>(0)))
        };
        let before = changes().unwrap();
        let uses = KeyUses::default();
        uses.note(new.key_id, clock.now());
        clock.advance_ms(5);
        uses.note(new.key_id, clock.now());
        uses.write(&store).unwrap();
        uses.write(&store).unwrap();
        let record = keys::get(&store, &new.key).unwrap();
        assert_eq!(record.last_used_at, Some(clock.now()));
        assert_eq!(changes().unwrap(), before);
        assert!(new.key.starts_with(&record.prefix));
    }

    #[test]
    fn a_write_returns_when_the_one_before_it_has_ended() {
        let (_folder, store, clock, new) = store_with_key();
        let uses = KeyUses::default();
        uses.note(new.key_id, clock.now());
        let (release, released) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            // The first write waits for the store.
            let busy = store.clone();
            let (begun, began) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                busy.write(move |_| {
                    begun.send(()).unwrap();
                    released.recv().unwrap();
                    Ok(())
                })
            });
            began.recv().unwrap();
            scope.spawn(|| uses.write(&store).unwrap());
            while !uses.0.uses.lock().is_empty() {
                std::thread::yield_now();
            }
            let second = scope.spawn(|| {
                uses.write(&store).unwrap();
                keys::get(&store, &new.key_id.to_string())
                    .unwrap()
                    .last_used_at
            });
            release.send(()).unwrap();
            assert_eq!(second.join().unwrap(), Some(clock.now()));
        });
    }
}
