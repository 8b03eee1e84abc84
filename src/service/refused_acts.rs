//! Limits how many audit log entries one valid key can cause by calling operators' endpoints that it may not use, so
//! that no key floods the log. Further attempts are counted, and the next entry of the key states their number.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use uuid::Uuid;

/// Maximum refused attempts of a key that become entries per [`REFUSALS_EVERY`]; further ones are only counted.
const REFUSALS_MAX: u32 = 20;
/// Time after which refused attempts of a key become entries again.
const REFUSALS_EVERY: Duration = Duration::from_secs(3_600);
/// Maximum keys that are counted separately; the attempts of all other keys are counted together, as if from one key.
const KEYS_MAX: usize = 10_000;

/// The counts of refused attempts, by key. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RefusedActs(Arc<Mutex<HashMap<Uuid, Refusals>>>);

/// The refused attempts of one key.
#[derive(Clone, Copy, Debug)]
struct Refusals {
    /// When the current period began, monotonic time.
    since: Duration,
    listed: u32,
    unlisted: u64,
}

impl RefusedActs {
    /// Counts an attempt at `now`, a monotonic time. If the attempt becomes an entry, returns how many attempts since
    /// the last entry did not.
    pub fn count(&self, key_id: Uuid, now: Duration) -> Option<u64> {
        let mut keys = self.0.lock();
        let is_full = keys.len() >= KEYS_MAX && !keys.contains_key(&key_id);
        let key_id = if is_full { Uuid::nil() } else { key_id };
        let of_key = keys.entry(key_id).or_insert(Refusals {
            since: now,
            listed: 0,
            unlisted: 0,
        });
        if now.saturating_sub(of_key.since) >= REFUSALS_EVERY {
            (of_key.since, of_key.listed) = (now, 0);
        }
        if of_key.listed >= REFUSALS_MAX {
            of_key.unlisted += 1;
            return None;
        }
        of_key.listed += 1;
        Some(std::mem::take(&mut of_key.unlisted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_a_key_are_listed_up_to_a_bound_and_then_counted() {
        let refused = RefusedActs::default();
        let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
        let now = Duration::from_secs(1_000);
        for _ in 0..REFUSALS_MAX {
            assert_eq!(refused.count(one, now), Some(0));
        }
        for _ in 0..5 {
            assert_eq!(refused.count(one, now), None);
        }
        assert_eq!(refused.count(other, now), Some(0));
        assert_eq!(refused.count(one, now + REFUSALS_EVERY), Some(5));
        assert_eq!(refused.count(one, now + REFUSALS_EVERY), Some(0));
    }
}
