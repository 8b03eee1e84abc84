//! Verifies the API key of a request header; every protected request passes through here.
//!
//! A cached key costs one SHA-256 and a memory lookup. Records read from the store are cached until a key changes: at
//! most every `CHANGE_CHECK_EVERY` the store is checked for commits of any process, and then for changes of keys. A
//! revocation by another process therefore takes effect well within a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
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
    watch: Arc<Watch>,
}

/// Detects whether keys have changed since the last check.
struct Watch {
    connection: Mutex<Looking>,
    /// The count of key changes last seen.
    changes: AtomicI64,
    /// When that was, milliseconds since `began`.
    looked_at_ms: AtomicU64,
    began: Instant,
}

/// What looking takes; never held by who may not block.
struct Looking {
    connection: Connection,
    data_version: i64,
}

impl Watch {
    fn new(connection: Connection) -> rusqlite::Result<Self> {
        let watch = Self {
            connection: Mutex::new(Looking {
                connection,
                data_version: -1,
            }),
            changes: AtomicI64::new(-1),
            looked_at_ms: AtomicU64::new(0),
            began: Instant::now(),
        };
        watch.look(&mut watch.connection.lock())?;
        Ok(watch)
    }

    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// The count of key changes, if it was looked at lately. Touches memory only.
    fn seen_lately(&self) -> Option<i64> {
        // What is read first was written last: the count is at least as new as the moment says.
        let looked_at_ms = self.looked_at_ms.load(Ordering::Acquire);
        let age_ms = self.now_ms().saturating_sub(looked_at_ms);
        let is_lately = u128::from(age_ms) < CHANGE_CHECK_EVERY.as_millis();
        is_lately.then(|| self.changes.load(Ordering::Acquire))
    }

    /// The same, looked at now where it was not lately. Blocks.
    fn changes(&self) -> rusqlite::Result<i64> {
        if let Some(changes) = self.seen_lately() {
            return Ok(changes);
        }
        let mut looking = self.connection.lock();
        // Another may have looked while this one waited.
        match self.seen_lately() {
            Some(changes) => Ok(changes),
            None => self.look(&mut looking),
        }
    }

    fn look(&self, looking: &mut Looking) -> rusqlite::Result<i64> {
        let now_ms = self.now_ms();
        let connection = &looking.connection;
        let number = |sql: &str| -> rusqlite::Result<i64> {
            connection
                .prepare_cached(sql)?
                .query_row([], |row| row.get(0))
        };
        // Cheap, and unchanged if nothing was committed; the count distinguishes key changes from other commits.
        let data_version = number("PRAGMA data_version")?;
        if data_version != looking.data_version {
            let changes = number("SELECT count FROM key_changes")?;
            self.changes.store(changes, Ordering::Release);
            looking.data_version = data_version;
        }
        self.looked_at_ms.store(now_ms, Ordering::Release);
        Ok(self.changes.load(Ordering::Acquire))
    }
}

/// What is known of a key without asking the store.
#[derive(Clone, Debug)]
pub enum Recalled {
    /// The working key, or that the text names none.
    Known(Option<Arc<KeyRecord>>),
    /// The store has to be asked ([`Verifier::verify`]).
    Unknown,
}

impl Verifier {
    /// Creates a verifier for the keys of a store.
    pub fn new(store: Store, clock: Clock) -> store::Result<Self> {
        let watch = Watch::new(store.connect_reader()?)?;
        Ok(Self {
            store,
            clock,
            remembered: moka::sync::Cache::new(REMEMBERED_MAX),
            watch: Arc::new(watch),
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

    /// The working key a text names, as far as memory tells: a key seen lately costs a digest and a look-up, and most
    /// calls need no more. Does not block.
    pub fn recall(&self, text: &str) -> Recalled {
        let Some(hash) = secret::hash_of(text) else {
            return Recalled::Known(None);
        };
        let Some(changes) = self.watch.seen_lately() else {
            return Recalled::Unknown;
        };
        match self.remembered.get(&hash) {
            Some((then, record)) if then == changes => Recalled::Known(self.working(record, &hash)),
            _ => Recalled::Unknown,
        }
    }

    /// The working key a text names; `None` when it is unknown, revoked or expired.
    ///
    /// Blocks on a read of the store for a key that is not cached, and for microseconds otherwise.
    pub fn verify(&self, text: &str) -> store::Result<Option<Arc<KeyRecord>>> {
        let Some(hash) = secret::hash_of(text) else {
            return Ok(None);
        };
        // Taken before the store is read: a record read while its key was being revoked then counts as out of date.
        let changes = self.watch.changes()?;
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
        Ok(self.working(record, &hash))
    }

    fn working(&self, record: Arc<KeyRecord>, hash: &KeyHash) -> Option<Arc<KeyRecord>> {
        let same = bool::from(record.hash.ct_eq(hash));
        (same && record.works_at(self.clock.now())).then_some(record)
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
    fn a_key_that_was_verified_is_recalled_until_the_store_has_to_be_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let kind = Kind::Production;
        let new = create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        let verifier = Verifier::new(store, clock).unwrap();
        assert!(matches!(verifier.recall("no key"), Recalled::Known(None)));
        assert!(matches!(verifier.recall(&new.key), Recalled::Unknown));
        let is_recalled = (0..100).any(|_| {
            assert!(verifier.verify(&new.key).unwrap().is_some());
            matches!(verifier.recall(&new.key), Recalled::Known(Some(_)))
        });
        assert!(is_recalled);
        std::thread::sleep(CHANGE_CHECK_EVERY);
        assert!(matches!(verifier.recall(&new.key), Recalled::Unknown));
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
