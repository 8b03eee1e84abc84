//! Verifies the API key in a request's header. Every protected request passes through here.
//!
//! A cached key costs one SHA-256 and a memory lookup. Triggers in the store count changes to keys. A cached record is
//! valid only while the count is the same as when the record was read, so a change to any key makes all records stale.
//! The count is polled on demand, at most once per `CHANGE_CHECK_EVERY`, so a revocation by another process takes
//! effect well within a second.
//!
//! An unknown text in the format of a key costs a read of the key table, so that a key works as soon as it is created.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::Connection;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::key::KeyHash;
use super::keys::{self, KeyRecord};
use super::secret;
use toise_base::clock::Clock;
use toise_store::{self as store, Store};

/// Maximum age of the last poll at which cached keys may still be used.
const CHANGE_CHECK_EVERY: Duration = Duration::from_millis(200);
/// Maximum number of cached keys.
const CACHED_KEYS_MAX: u64 = 10_000;
/// Maximum number of keys read from the store at the same time. One read takes tens of microseconds.
const STORE_READS_MAX: usize = 4;

/// Verifies keys. Cheap to clone.
#[derive(Clone)]
pub struct KeyVerifier {
    store: Store,
    clock: Clock,
    /// Cached records, each with the count of key changes just before it was read.
    cached: moka::sync::Cache<KeyHash, (i64, Arc<KeyRecord>)>,
    watch: Arc<KeyChangeWatch>,
    store_reads: Arc<Semaphore>,
}

/// Why a key could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The blocking read was cancelled by the shutdown of the runtime, or panicked.
    #[error("verification did not finish: the server is shutting down, or a bug made it panic")]
    Unfinished,
}

/// The count of key changes, polled from the store when it is too old.
struct KeyChangeWatch {
    reader: Mutex<ChangeReader>,
    /// The count of key changes at the last poll.
    changes: AtomicI64,
    /// Start of the last poll, in microseconds since `began`.
    polled_at_us: AtomicU64,
    began: Instant,
}

/// Reads the count from the store. Only threads that may block lock it.
struct ChangeReader {
    connection: Connection,
    /// SQLite's `data_version` at the last poll; it changes with every commit of another connection.
    data_version: i64,
}

impl KeyChangeWatch {
    fn new(connection: Connection) -> rusqlite::Result<Self> {
        let watch = Self {
            reader: Mutex::new(ChangeReader {
                connection,
                // Not a real version, so that the first poll reads the count.
                data_version: -1,
            }),
            changes: AtomicI64::new(-1),
            polled_at_us: AtomicU64::new(0),
            began: Instant::now(),
        };
        watch.poll(&mut watch.reader.lock())?;
        Ok(watch)
    }

    fn now_us(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    /// Returns the count of key changes if it was polled within `CHANGE_CHECK_EVERY`. Does not read the store.
    fn recent_changes(&self) -> Option<i64> {
        let polled_at_us = self.polled_at_us.load(Ordering::Acquire);
        let age_us = self.now_us().saturating_sub(polled_at_us);
        let is_recent = u128::from(age_us) < CHANGE_CHECK_EVERY.as_micros();
        is_recent.then(|| self.changes.load(Ordering::Acquire))
    }

    /// Returns the count of key changes; polls it unless it was polled recently. Blocks.
    fn changes(&self) -> rusqlite::Result<i64> {
        if let Some(changes) = self.recent_changes() {
            return Ok(changes);
        }
        let mut reader = self.reader.lock();
        // Another thread may have polled while this one waited for the lock.
        match self.recent_changes() {
            Some(changes) => Ok(changes),
            None => self.poll(&mut reader),
        }
    }

    /// Reads the count of key changes from the store, if anything was committed since the last poll.
    fn poll(&self, reader: &mut ChangeReader) -> rusqlite::Result<i64> {
        // Taken before the reads, so that the count is never older than its recorded time.
        let started_at_us = self.now_us();
        let connection = &reader.connection;
        let number = |sql: &str| -> rusqlite::Result<i64> {
            connection
                .prepare_cached(sql)?
                .query_row([], |row| row.get(0))
        };
        // The version is cheap to read and shows whether anything was committed; only then is the count queried.
        let data_version = number("PRAGMA data_version")?;
        if data_version != reader.data_version {
            let changes = number("SELECT count FROM key_changes")?;
            self.changes.store(changes, Ordering::Release);
            reader.data_version = data_version;
        }
        self.polled_at_us.store(started_at_us, Ordering::Release);
        Ok(self.changes.load(Ordering::Acquire))
    }
}

/// Result of looking a key up in the cache.
#[derive(Clone, Debug)]
pub enum CacheLookup {
    /// The answer from the cache: the valid key, or `None` if the text is not a key or its key is revoked or expired.
    Known(Option<Arc<KeyRecord>>),
    /// The key is not cached or the count of key changes is too old; the store must be read ([`KeyVerifier::verify`]).
    Unknown,
}

impl KeyVerifier {
    /// Creates a verifier for the keys of a store.
    pub fn new(store: Store, clock: Clock) -> store::Result<Self> {
        let watch = KeyChangeWatch::new(store.connect_reader()?)?;
        Ok(Self {
            store,
            clock,
            cached: moka::sync::Cache::new(CACHED_KEYS_MAX),
            watch: Arc::new(watch),
            store_reads: Arc::new(Semaphore::new(STORE_READS_MAX)),
        })
    }

    /// Returns the store that holds the keys.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the clock that decides when keys expire.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Verifies a key from the cache alone, with one digest and one lookup. Does not block.
    pub fn look_up(&self, text: &str) -> CacheLookup {
        let Some(hash) = secret::hash_of(text) else {
            return CacheLookup::Known(None);
        };
        let Some(changes) = self.watch.recent_changes() else {
            return CacheLookup::Unknown;
        };
        match self.cached.get(&hash) {
            Some((then, record)) if then == changes => {
                CacheLookup::Known(self.if_valid(record, &hash))
            }
            _ => CacheLookup::Unknown,
        }
    }

    /// Returns the valid key with this text; `None` if it is unknown, revoked or expired. The caller checks
    /// [`KeyRecord::is_allowed_from`].
    ///
    /// If [`Self::look_up`] knows the answer, the key is verified without switching threads. For others, the store is
    /// read on a blocking thread, at most `STORE_READS_MAX` at a time, so that a flood of unknown keys cannot occupy
    /// every blocking thread.
    ///
    /// # Errors
    /// The store cannot be read, or the runtime is shutting down.
    pub async fn verify(&self, text: &str) -> Result<Option<Arc<KeyRecord>>, VerifyError> {
        if let CacheLookup::Known(key) = self.look_up(text) {
            return Ok(key);
        }
        let permit = Arc::clone(&self.store_reads)
            .acquire_owned()
            .await
            .map_err(|_| VerifyError::Unfinished)?;
        // While this call waited, another one may have polled the changes or read the same key.
        if let CacheLookup::Known(key) = self.look_up(text) {
            return Ok(key);
        }
        let (verifier, text) = (self.clone(), text.to_owned());
        let verified = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            verifier.verify_blocking(&text)
        });
        Ok(verified.await.map_err(|_| VerifyError::Unfinished)??)
    }

    /// Like [`Self::verify`], on the calling thread. Blocks while it polls the key changes and, if the key is not
    /// cached, reads it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn verify_blocking(&self, text: &str) -> store::Result<Option<Arc<KeyRecord>>> {
        let Some(hash) = secret::hash_of(text) else {
            return Ok(None);
        };
        // Read before the record: if the key is revoked in between, the record is cached under the older count and is
        // read again.
        let changes = self.watch.changes()?;
        let cached = self.cached.get(&hash);
        let record = match cached {
            Some((then, record)) if then == changes => record,
            _ => match self
                .store
                .read(|connection| keys::find(connection, &hash))?
            {
                Some(record) => {
                    let record = Arc::new(record);
                    self.cached.insert(hash, (changes, Arc::clone(&record)));
                    record
                }
                None => return Ok(None),
            },
        };
        Ok(self.if_valid(record, &hash))
    }

    /// Returns the record if its key is neither revoked nor expired. The record was found by its hash. The whole hash
    /// is compared again in constant time, so that access does not depend on the lookup in the cache or the index.
    fn if_valid(&self, record: Arc<KeyRecord>, hash: &KeyHash) -> Option<Arc<KeyRecord>> {
        let same = bool::from(record.hash.ct_eq(hash));
        (same && record.is_valid_at(self.clock.now())).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEFAULT_ACCOUNT;
    use crate::grants::Grants;
    use crate::keys::{GrantChange, KeyChange, KeyKind, change, create, revoke, rotate};
    use crate::scopes::{Scope, Scopes};

    #[test]
    fn key_changes_by_another_process_apply_within_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let server = Store::open(folder.path()).unwrap();
        let command = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let verifier = KeyVerifier::new(server, clock.clone()).unwrap();
        let kind = KeyKind::Production;
        let scopes: Scopes = [Scope::Ai].into_iter().collect();
        let new = create(&command, &clock, kind, scopes, DEFAULT_ACCOUNT).unwrap();
        let id = new.key_id.to_string();
        let verify = |key: &str| {
            std::thread::sleep(CHANGE_CHECK_EVERY * 2);
            verifier.verify_blocking(key).unwrap()
        };
        let known = verify(&new.key).unwrap();
        assert_eq!(known.key_id, new.key_id);
        assert!(!known.allows(Scope::Search, "properties.search"));

        let more = Grants::parse("properties.search").unwrap();
        let changed = KeyChange {
            grants: Some(GrantChange::Add(more)),
            rate_per_s: Some(7),
            ..KeyChange::default()
        };
        change(&command, &id, changed).unwrap();
        let known = verify(&new.key).unwrap();
        assert!(known.allows(Scope::Search, "properties.search"));
        assert!(!known.allows(Scope::Search, "properties.count"));
        assert_eq!(known.allowance.rate_per_s, 7);

        let next = rotate(&command, &clock, &id).unwrap();
        assert_eq!(verify(&new.key), None);
        assert_eq!(verify(&next.key).unwrap().key_id, new.key_id);

        assert_eq!(revoke(&command, &clock, &id).unwrap(), Some(new.key_id));
        assert_eq!(verify(&next.key), None);
        assert_eq!(revoke(&command, &clock, "nothing").unwrap(), None);
    }

    #[test]
    fn a_verified_key_is_recalled_until_changes_have_to_be_polled() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let kind = KeyKind::Production;
        let new = create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        let verifier = KeyVerifier::new(store, clock).unwrap();
        assert!(matches!(
            verifier.look_up("no key"),
            CacheLookup::Known(None)
        ));
        assert!(matches!(verifier.look_up(&new.key), CacheLookup::Unknown));
        let is_recalled = (0..100).any(|_| {
            assert!(verifier.verify_blocking(&new.key).unwrap().is_some());
            matches!(verifier.look_up(&new.key), CacheLookup::Known(Some(_)))
        });
        assert!(is_recalled);
        std::thread::sleep(CHANGE_CHECK_EVERY);
        assert!(matches!(verifier.look_up(&new.key), CacheLookup::Unknown));
    }

    #[test]
    fn a_key_made_after_its_text_was_refused_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let verifier = KeyVerifier::new(store.clone(), clock.clone()).unwrap();
        let (forged, hash) = secret::generate_with_hash(KeyKind::Production);
        assert!(verifier.verify_blocking(&forged).unwrap().is_none());
        let kind = KeyKind::Production;
        let new = create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        // Simulates that the key with the forged text was created in the meantime.
        let id = new.key_id.to_string();
        store
            .write(move |transaction| {
                let sql = "UPDATE keys SET sha256 = ?2 WHERE key_id = ?1";
                transaction.execute(sql, (id, hash.as_slice()))
            })
            .unwrap();
        assert!(verifier.verify_blocking(&forged).unwrap().is_some());
    }

    #[tokio::test]
    async fn a_key_for_some_addresses_is_taken_from_those_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let kind = KeyKind::Production;
        let new = create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        let networks = toise_base::networks::Networks::parse("192.0.2.0/24").ok();
        let only = KeyChange {
            allowed_from: Some(networks),
            ..KeyChange::default()
        };
        change(&store, &new.key, only).unwrap();
        let verifier = KeyVerifier::new(store, clock).unwrap();
        let key = verifier.verify(&new.key).await.unwrap().unwrap();
        let comes = |text: &str| key.is_allowed_from(text.parse().ok());
        assert!(comes("192.0.2.9") && !comes("198.51.100.1"));
        assert!(key.is_allowed_from(None), "a call of this process itself");
    }

    #[tokio::test]
    async fn a_flood_of_unknown_keys_leaves_blocking_threads_free() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let verifier = KeyVerifier::new(store, Clock::system()).unwrap();
        // Take every permit, as the maximum number of running reads would.
        let mut held = Vec::new();
        for _ in 0..STORE_READS_MAX {
            held.push(
                Arc::clone(&verifier.store_reads)
                    .acquire_owned()
                    .await
                    .unwrap(),
            );
        }
        let (unknown, _) = secret::generate_with_hash(KeyKind::Production);
        let waiting = tokio::spawn({
            let verifier = verifier.clone();
            async move { verifier.verify(&unknown).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        held.clear();
        assert!(waiting.await.unwrap().unwrap().is_none());
    }

    #[test]
    fn a_test_key_works_on_its_seventh_day_and_not_on_its_eighth() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered(chrono::Utc::now());
        let verifier = KeyVerifier::new(store.clone(), clock.clone()).unwrap();
        let kind = KeyKind::Test;
        let new = create(&store, &clock, kind, kind.default_scopes(), DEFAULT_ACCOUNT).unwrap();
        let (minute_ms, week_ms) = (60_000, 7 * 24 * 3_600_000);
        clock.advance_ms(week_ms - minute_ms);
        assert!(verifier.verify_blocking(&new.key).unwrap().is_some());
        clock.advance_ms(minute_ms - 1);
        assert!(verifier.verify_blocking(&new.key).unwrap().is_some());
        clock.advance_ms(1);
        assert!(verifier.verify_blocking(&new.key).unwrap().is_none());
    }
}
