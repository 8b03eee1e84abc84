//! The memory that the queries of all keys share.
//!
//! A query waits until enough is free. If its key already has a query, it also leaves enough for the first query of
//! another key, so that two keys with all their queries do not stop a third one.

use std::pin::pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Queries that all memory must suffice for before some is kept for first queries.
const QUERIES_MIN: u64 = 3;

/// The memory. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct QueryMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    free_mib: Mutex<u64>,
    /// What the further queries of a key leave free, in MiB.
    kept_mib: u64,
    freed: Notify,
}

/// The memory of one query; released when dropped.
#[derive(Debug)]
pub(crate) struct MemoryShare {
    memory: QueryMemory,
    mib: u64,
}

impl QueryMemory {
    /// Creates the memory of all queries, each of which takes at most `query_mib`.
    pub fn new(total_mib: u64, query_mib: u64) -> Self {
        let keeps_some = total_mib >= query_mib.saturating_mul(QUERIES_MIN);
        Self(Arc::new(Inner {
            free_mib: Mutex::new(total_mib),
            kept_mib: if keeps_some { query_mib } else { 0 },
            freed: Notify::new(),
        }))
    }

    /// Waits for the memory of a query. `is_first` tells that its key has no other query.
    pub async fn acquire(&self, mib: u64, is_first: bool) -> MemoryShare {
        let kept_mib = if is_first { 0 } else { self.0.kept_mib };
        loop {
            let mut freed = pin!(self.0.freed.notified());
            // From here on, so that memory freed after the check is not missed.
            freed.as_mut().enable();
            if self.take(mib, kept_mib) {
                return MemoryShare {
                    memory: self.clone(),
                    mib,
                };
            }
            freed.await;
        }
    }

    /// Takes memory if at least `kept_mib` stay free; returns whether it did.
    fn take(&self, mib: u64, kept_mib: u64) -> bool {
        let mut free_mib = self.0.free_mib.lock();
        let is_enough = *free_mib >= mib.saturating_add(kept_mib);
        if is_enough {
            *free_mib -= mib;
        }
        is_enough
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        *self.memory.0.free_mib.lock() += self.mib;
        self.memory.0.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn further_queries_of_keys_leave_enough_for_the_first_one_of_another() {
        let memory = QueryMemory::new(1_024, 256);
        let _firsts = [
            memory.acquire(256, true).await,
            memory.acquire(256, true).await,
        ];
        let further = memory.acquire(256, false).await;
        let mut waiting = Box::pin(memory.acquire(256, false));
        assert!(poll!(&mut waiting).is_pending());
        let third = memory.acquire(256, true).await;
        let mut fourth = Box::pin(memory.acquire(256, true));
        assert!(poll!(&mut fourth).is_pending());
        drop(further);
        assert!(poll!(&mut waiting).is_pending());
        let fourth = fourth.await;
        drop(third);
        assert!(poll!(&mut waiting).is_pending());
        drop(fourth);
        assert!(poll!(&mut waiting).is_ready());
    }

    #[tokio::test]
    async fn little_memory_is_used_up() {
        let memory = QueryMemory::new(64, 32);
        let first = memory.acquire(32, true).await;
        let further = memory.acquire(32, false).await;
        drop((first, further));
        assert_eq!(*memory.0.free_mib.lock(), 64);
    }
}
