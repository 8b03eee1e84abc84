//! Slots of keys for queries: each key runs a few queries at once, and a few more wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::SqlError;

/// Maximum queries of one key that wait for a slot.
const WAITING_MAX: usize = 8;
/// Maximum wait for a slot, or for memory.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);
/// Number of remembered keys above which those without queries are forgotten.
const KEYS_MAX: usize = 10_000;

/// The slots of one key, and how many it may have.
#[derive(Clone, Debug)]
struct KeyLimits {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    running_max: usize,
}

/// The slots of all keys.
#[derive(Debug, Default)]
pub(crate) struct KeySlots(Mutex<HashMap<Uuid, KeyLimits>>);

/// A slot for a running query; released when dropped.
#[derive(Debug)]
pub(crate) struct QuerySlot {
    _running: OwnedSemaphorePermit,
    _admitted: OwnedSemaphorePermit,
}

impl KeySlots {
    /// Waits for a slot of a key that runs at most `running_max` queries at once.
    ///
    /// # Errors
    /// Too many queries of the key are waiting, or this one has waited too long.
    pub async fn acquire(&self, key_id: Uuid, running_max: usize) -> Result<QuerySlot, SqlError> {
        let limits = self.of(key_id, running_max);
        let admitted = limits.admitted.try_acquire_owned();
        let admitted = admitted.map_err(|_| SqlError::TooManyAtOnce)?;
        let running = tokio::time::timeout(WAIT_MAX, limits.running.acquire_owned());
        match running.await {
            Ok(Ok(running)) => Ok(QuerySlot {
                _running: running,
                _admitted: admitted,
            }),
            _ => Err(SqlError::TooManyAtOnce),
        }
    }

    fn of(&self, key_id: Uuid, running_max: usize) -> KeyLimits {
        let mut keys = self.0.lock();
        if keys.len() >= KEYS_MAX {
            keys.retain(|_, limits| Arc::strong_count(&limits.admitted) > 1);
        }
        let made = || KeyLimits {
            running: Arc::new(Semaphore::new(running_max)),
            admitted: Arc::new(Semaphore::new(running_max + WAITING_MAX)),
            running_max,
        };
        let limits = keys.entry(key_id).or_insert_with(made);
        if limits.running_max != running_max {
            *limits = made();
        }
        limits.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_has_its_own_slots_and_waits_for_no_other() {
        let slots = KeySlots::default();
        let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
        let held = slots.acquire(one, 1).await.unwrap();
        assert!(slots.acquire(other, 1).await.is_ok());
        let mut waiting: Vec<_> = (0..WAITING_MAX)
            .map(|_| Box::pin(slots.acquire(one, 1)))
            .collect();
        for slot in &mut waiting {
            assert!(futures::poll!(slot).is_pending());
        }
        let refused = slots.acquire(one, 1).await;
        assert!(matches!(refused, Err(SqlError::TooManyAtOnce)));
        drop(held);
        assert!(futures::poll!(&mut waiting[0]).is_ready());
    }
}
