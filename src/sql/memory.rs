//! The memory that the queries of all keys share.
//!
//! A query waits until enough is free. If its key already has a query, it also leaves enough for the first query of
//! another key, so that one key with all its queries does not stop the others.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use uuid::Uuid;

/// Queries that all memory must suffice for before some is kept for first queries.
const QUERIES_MIN: u64 = 3;

/// The memory. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct QueryMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    /// What the further queries of a key leave free, in MiB.
    kept_mib: u64,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    free_mib: u64,
    /// The number of queries of each key that has any.
    queries: HashMap<Uuid, usize>,
}

/// The memory of one query of a key; released when dropped.
#[derive(Debug)]
pub(crate) struct MemoryShare {
    memory: QueryMemory,
    key_id: Uuid,
    mib: u64,
}

impl QueryMemory {
    /// Creates the memory of all queries, each of which takes at most `query_mib`.
    pub fn new(total_mib: u64, query_mib: u64) -> Self {
        let keeps_some = total_mib >= query_mib.saturating_mul(QUERIES_MIN);
        Self(Arc::new(Inner {
            state: Mutex::new(State {
                free_mib: total_mib,
                queries: HashMap::new(),
            }),
            kept_mib: if keeps_some { query_mib } else { 0 },
            freed: Notify::new(),
        }))
    }

    /// Waits for the memory of a query of a key.
    pub async fn acquire(&self, key_id: Uuid, mib: u64) -> MemoryShare {
        loop {
            let mut freed = pin!(self.0.freed.notified());
            // From here on, so that memory freed after the check is not missed.
            freed.as_mut().enable();
            if self.take(key_id, mib) {
                return MemoryShare {
                    memory: self.clone(),
                    key_id,
                    mib,
                };
            }
            freed.await;
        }
    }

    /// Takes memory if enough is free; returns whether it did.
    fn take(&self, key_id: Uuid, mib: u64) -> bool {
        let mut state = self.0.state.lock();
        let is_first = !state.queries.contains_key(&key_id);
        let kept_mib = if is_first { 0 } else { self.0.kept_mib };
        let is_enough = state.free_mib >= mib.saturating_add(kept_mib);
        if is_enough {
            state.free_mib -= mib;
            *state.queries.entry(key_id).or_default() += 1;
        }
        is_enough
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        {
            let mut state = self.memory.0.state.lock();
            state.free_mib += self.mib;
            if let Some(queries) = state.queries.get_mut(&self.key_id) {
                *queries -= 1;
                if *queries == 0 {
                    state.queries.remove(&self.key_id);
                }
            }
        }
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
        let [a, b, c, d] = [1, 2, 3, 4].map(Uuid::from_u128);
        let _firsts = [memory.acquire(a, 256).await, memory.acquire(b, 256).await];
        let further = memory.acquire(a, 256).await;
        let mut waiting = Box::pin(memory.acquire(b, 256));
        assert!(poll!(&mut waiting).is_pending());
        let third = memory.acquire(c, 256).await;
        let mut fourth = Box::pin(memory.acquire(d, 256));
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
        let key_id = Uuid::from_u128(1);
        let first = memory.acquire(key_id, 32).await;
        let further = memory.acquire(key_id, 32).await;
        drop((first, further));
        assert_eq!(memory.0.state.lock().free_mib, 64);
    }
}
