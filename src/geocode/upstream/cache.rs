//! The cache of the upstream service's answers, in the store. Every call here blocks.
//!
//! An error of the cache never fails a query: an answer that cannot be read is requested again, and an answer that
//! cannot be written is logged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::OptionalExtension;

use super::answer::Found;
use toise_base::clock::Clock;
use toise_store::{Store, document};

/// Maximum number of cached answers, about 100 MB.
pub const ENTRIES_MAX: i64 = 100_000;
/// Expired and excess answers are deleted each time this many were cached.
pub const PURGE_EVERY: u64 = 256;
/// Time for which an empty answer is cached.
pub const NOTHING_AGE_MAX: Duration = Duration::from_secs(86_400);

/// The cached answers.
pub struct Cache {
    store: Store,
    clock: Clock,
    age_max: Duration,
    entries_max: i64,
    kept: AtomicU64,
}

impl Cache {
    /// Creates a cache in a store that keeps answers for at most `age_max`; zero keeps none.
    pub fn new(store: Store, clock: Clock, age_max: Duration) -> Self {
        Self {
            store,
            clock,
            age_max,
            entries_max: ENTRIES_MAX,
            kept: AtomicU64::new(0),
        }
    }

    /// Returns a cached answer that has not expired.
    pub fn get(&self, digest: [u8; 32]) -> Option<Vec<Found>> {
        if self.age_max.is_zero() {
            return None;
        }
        let sql = "SELECT answer, answered_at_ms FROM geocoding_upstream
                   WHERE digest = ?1 AND answered_at_ms > ?2";
        let kept = self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let row = statement.query_row((digest, self.expired_ms(self.age_max)), |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?))
            });
            row.optional()
        });
        let (answer, answered_at_ms) = kept.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read cached answers of the upstream geocoding service");
            None
        })?;
        let text = document::decode(&answer).ok()?;
        let found: Vec<Found> = serde_json::from_slice(&text).ok()?;
        let is_fresh = !found.is_empty() || answered_at_ms > self.expired_ms(NOTHING_AGE_MAX);
        is_fresh.then_some(found)
    }

    /// Caches an answer.
    pub fn put(&self, digest: [u8; 32], found: &[Found]) {
        if self.age_max.is_zero() {
            return;
        }
        let Ok(answer) = document::encode(&found) else {
            return;
        };
        let now_ms = self.clock.now().timestamp_millis();
        let expired_ms = self.expired_ms(self.age_max);
        // The first answer that a process caches also purges, because the settings may have changed since the last run.
        let is_to_purge = self
            .kept
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(PURGE_EVERY);
        let entries_max = self.entries_max;
        let kept = self.store.write(move |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO geocoding_upstream VALUES (?1, ?2, ?3)",
                (digest, answer, now_ms),
            )?;
            if is_to_purge {
                let sql = "DELETE FROM geocoding_upstream WHERE answered_at_ms <= ?1";
                transaction.execute(sql, [expired_ms])?;
                let sql = "DELETE FROM geocoding_upstream WHERE digest IN
                           (SELECT digest FROM geocoding_upstream
                            ORDER BY answered_at_ms DESC LIMIT -1 OFFSET ?1)";
                transaction.execute(sql, [entries_max])?;
            }
            Ok(())
        });
        if let Err(error) = kept {
            tracing::warn!(%error, "cannot cache an answer of the upstream geocoding service");
        }
    }

    /// Returns the time at or before which answers have expired, in Unix milliseconds.
    fn expired_ms(&self, age_max: Duration) -> i64 {
        let age_ms = i64::try_from(age_max.as_millis()).unwrap_or(i64::MAX);
        self.clock.now().timestamp_millis().saturating_sub(age_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_make_room_for_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered("2026-01-01T00:00:00Z".parse().unwrap());
        let age_max = Duration::from_secs(10 * 86_400);
        let mut cache = Cache::new(store.clone(), clock.clone(), age_max);
        cache.entries_max = 10;
        let digest = |number: u64| *blake3::hash(&number.to_le_bytes()).as_bytes();
        for number in 0..=PURGE_EVERY {
            clock.advance_ms(1);
            cache.put(digest(number), &[]);
        }
        let count = "SELECT count(*) FROM geocoding_upstream";
        let count: i64 = store
            .read(|connection| connection.query_row(count, [], |row| row.get(0)))
            .unwrap();
        assert_eq!(count, 10);
        assert!(cache.get(digest(PURGE_EVERY)).is_some());
        assert!(cache.get(digest(0)).is_none());
    }

    #[test]
    fn a_damaged_entry_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let cache = Cache::new(store.clone(), Clock::system(), Duration::from_secs(60));
        cache.put([7; 32], &[]);
        assert!(cache.get([7; 32]).is_some());
        let damage = "UPDATE geocoding_upstream SET answer = x'00'";
        store
            .write(move |transaction| transaction.execute(damage, []))
            .unwrap();
        assert!(cache.get([7; 32]).is_none());
    }
}
