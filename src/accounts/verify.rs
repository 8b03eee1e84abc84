//! Verifies the API key of a request header; every protected request passes through here.
//!
//! A cached key costs one SHA-256 and a memory lookup. Records read from the store are cached until a key changes: at
//! most every `CHANGE_CHECK_EVERY` the store is checked for commits of any process, and then for changes of keys. A
//! revocation by another process therefore takes effect well within a second.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use subtle::ConstantTimeEq;

use super::keys::{self, KeyRecord};
use super::secret::{self, KeyHash};
use toise_base::clock::Clock;
use toise_store::{self as store, Store};

/// Maximum staleness of cached keys.
const CHANGE_CHECK_EVERY: Duration = Duration::from_millis(200);
/// Maximum number of cached keys.
const REMEMBERED_MAX: u64 = 10_000;

/// Verifies keys. Cheap to clone.
#[derive(Clone)]
pub struct Verifier {
    store: Store,
    clock: Clock,
    /// Cached records, each with the key change count when it was read.
    remembered: moka::sync::Cache<KeyHash, (i64, Arc<KeyRecord>)>,
    watch: Arc<Mutex<Watch>>,
}

/// Detects whether keys have changed since the last check.
struct Watch {
    connection: Connection,
    looked_at: Instant,
    data_version: i64,
    changes: i64,
}

impl Watch {
    fn new(connection: Connection) -> rusqlite::Result<Self> {
        let mut watch = Self {
            connection,
            looked_at: Instant::now(),
            data_version: -1,
            changes: -1,
        };
        watch.look()?;
        Ok(watch)
    }

    fn look(&mut self) -> rusqlite::Result<()> {
        let number = |sql: &str| -> rusqlite::Result<i64> {
            self.connection
                .prepare_cached(sql)?
                .query_row([], |row| row.get(0))
        };
        // Cheap, and unchanged if nothing was committed; the count distinguishes key changes from other commits.
        let data_version = number("PRAGMA data_version")?;
        if data_version != self.data_version {
            self.changes = number("SELECT count FROM key_changes")?;
            self.data_version = data_version;
        }
        self.looked_at = Instant::now();
        Ok(())
    }
}

impl Verifier {
    /// Creates a verifier for the keys of a store.
    pub fn new(store: Store, clock: Clock) -> store::Result<Self> {
        let watch = Watch::new(store.connect_reader()?)?;
        Ok(Self {
            store,
            clock,
            remembered: moka::sync::Cache::new(REMEMBERED_MAX),
            watch: Arc::new(Mutex::new(watch)),
        })
    }

    /// The store that holds the keys.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The clock that decides on expiry.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the valid key with a text; `None` if it is unknown, revoked or expired.
    ///
    /// Blocks on a read of the store for a key that is not cached, and for microseconds otherwise.
    pub fn verify(&self, text: &str) -> store::Result<Option<Arc<KeyRecord>>> {
        let Some(hash) = secret::hash_of(text) else {
            return Ok(None);
        };
        // Read before the record: if the key is revoked in between, the cached record counts as out of date.
        let changes = self.key_changes()?;
        let remembered = self.remembered.get(&hash);
        let record = match remembered {
            Some((then, record)) if then == changes => record,
            _ => match self
                .store
                .read(|connection| keys::find(connection, &hash))?
            {
                Some(record) => {
                    let record = Arc::new(record);
                    self.remembered.insert(hash, (changes, Arc::clone(&record)));
                    record
                }
                None => return Ok(None),
            },
        };
        let same = bool::from(record.hash.ct_eq(&hash));
        Ok((same && record.works_at(self.clock.now())).then_some(record))
    }

    fn key_changes(&self) -> store::Result<i64> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.looked_at.elapsed() >= CHANGE_CHECK_EVERY {
            watch.look()?;
        }
        Ok(watch.changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEFAULT_ACCOUNT;
    use crate::grants::Grants;
    use crate::keys::{GrantChange, KeyChange, Kind, change, create, revoke, rotate};
    use crate::scopes::{Scope, Scopes};

    #[test]
    fn key_changes_by_another_process_apply_within_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let server = Store::open(folder.path()).unwrap();
        let command = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let verifier = Verifier::new(server, clock.clone()).unwrap();
        let kind = Kind::Production;
        let scopes = Scopes::parse("ai").unwrap();
        let new = create(&command, &clock, kind, scopes, DEFAULT_ACCOUNT).unwrap();
        let id = new.key_id.to_string();
        let verify = |key: &str| {
            std::thread::sleep(CHANGE_CHECK_EVERY * 2);
            verifier.verify(key).unwrap()
        };
        let known = verify(&new.key).unwrap();
        assert_eq!(known.key_id, new.key_id);
        assert!(!known.may(Scope::Search, "properties.search"));

        let more = Grants::parse("properties.search").unwrap();
        let changed = KeyChange {
            grants: Some(GrantChange::Add(more)),
            rate_per_s: Some(7),
            ..KeyChange::default()
        };
        change(&command, &id, changed).unwrap();
        let known = verify(&new.key).unwrap();
        assert!(known.may(Scope::Search, "properties.search"));
        assert!(!known.may(Scope::Search, "properties.count"));
        assert_eq!(known.allowance.rate_per_s, 7);

        let next = rotate(&command, &clock, &id).unwrap();
        assert_eq!(verify(&new.key), None);
        assert_eq!(verify(&next.key).unwrap().key_id, new.key_id);

        assert_eq!(revoke(&command, &clock, &id).unwrap(), Some(new.key_id));
        assert_eq!(verify(&next.key), None);
        assert_eq!(revoke(&command, &clock, "nothing").unwrap(), None);
    }

    #[test]
    fn a_test_key_works_on_its_seventh_day_and_not_on_its_eighth() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered(chrono::Utc::now());
        let verifier = Verifier::new(store.clone(), clock.clone()).unwrap();
        let kind = Kind::Test;
        let new = create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        let (minute_ms, week_ms) = (60_000, 7 * 24 * 3_600_000);
        clock.advance_ms(week_ms - minute_ms);
        assert!(verifier.verify(&new.key).unwrap().is_some());
        clock.advance_ms(minute_ms - 1);
        assert!(verifier.verify(&new.key).unwrap().is_some());
        clock.advance_ms(1);
        assert!(verifier.verify(&new.key).unwrap().is_none());
    }
}
