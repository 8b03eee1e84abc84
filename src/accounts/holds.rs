//! Locks that let only one call at a time run under an idempotency key of an account, across all servers of a data
//! folder.
//!
//! Work that a call has started continues if the call is cut off. That work shares the hold on the key, so a repeated
//! call waits until the work has ended. If the repeated call ran earlier, it would undo the work, for example replace
//! the text of a new API key.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;

use toise_store::byte_locks::{ByteLock, ByteLocks};

/// Interval at which a waiting call checks whether another server has released the key.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An account and its idempotency key.
type HoldKey = (Uuid, String);

/// The keys under which calls are running. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CallHolds {
    /// Locks of the calls of this process, by key.
    running: Arc<Mutex<HashMap<HoldKey, Arc<tokio::sync::Mutex<()>>>>>,
    /// Locks that the servers of a data folder share.
    locks: Option<ByteLocks>,
}

/// Lock on a key that excludes all other calls until it is dropped.
#[derive(Debug)]
pub struct CallHold {
    holds: CallHolds,
    name: HoldKey,
    guard: Option<OwnedMutexGuard<()>>,
    /// Prevents other servers of the data folder from running the call.
    lock: Option<ByteLock>,
}

impl CallHolds {
    /// Creates holds that apply to all servers of a data folder if `locks` is given; see [`ByteLocks::open`].
    pub fn new(locks: Option<ByteLocks>) -> Self {
        Self {
            running: Arc::default(),
            locks,
        }
    }

    /// Waits until no other call of the account holds the key.
    ///
    /// # Errors
    /// The file system fails.
    pub async fn hold(&self, account_id: Uuid, key: String) -> io::Result<CallHold> {
        let name = (account_id, key);
        let mutex = Arc::clone(self.running.lock().entry(name.clone()).or_default());
        // Created before any wait: if the wait is cancelled, dropping it cleans up.
        let mut hold = CallHold {
            holds: self.clone(),
            name,
            guard: None,
            lock: None,
        };
        hold.guard = Some(mutex.lock_owned().await);
        if let Some(locks) = &self.locks {
            let name = hold.digest();
            hold.lock = loop {
                match locks.try_hold(&name)? {
                    None => tokio::time::sleep(POLL_INTERVAL).await,
                    held => break held,
                }
            };
        }
        Ok(hold)
    }
}

impl CallHold {
    /// Returns the account.
    pub fn account_id(&self) -> Uuid {
        self.name.0
    }

    /// Returns the idempotency key.
    pub fn key(&self) -> &str {
        &self.name.1
    }

    /// Returns the digest of account and key.
    fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.account_id().as_bytes());
        *hasher.update(self.key().as_bytes()).finalize().as_bytes()
    }
}

impl Drop for CallHold {
    fn drop(&mut self) {
        // Released before the next call of this process proceeds. That call would otherwise share the lock, and lose it
        // here.
        self.lock = None;
        let mut running = self.holds.running.lock();
        self.guard = None;
        // Waiting calls also hold the mutex. If none is left, only the map holds it.
        let is_last = |mutex: &Arc<_>| Arc::strong_count(mutex) == 1;
        if running.get(&self.name).is_some_and(is_last) {
            running.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_call_at_a_time_holds_a_key_and_the_last_one_removes_it() {
        let holds = CallHolds::default();
        let account = Uuid::now_v7();
        let hold = |account| {
            let holds = holds.clone();
            async move { holds.hold(account, "k".into()).await.unwrap() }
        };
        let first = hold(account).await;
        let mut second = Box::pin(hold(account));
        assert!(futures::poll!(&mut second).is_pending());
        let mut cancelled = Box::pin(hold(account));
        assert!(futures::poll!(&mut cancelled).is_pending());
        drop(cancelled);
        let other = hold(Uuid::now_v7()).await;
        drop(first);
        let second = second.await;
        drop((second, other));
        assert!(holds.running.lock().is_empty());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_key_is_held_by_one_server_of_a_data_folder_at_a_time() {
        let data = tempfile::tempdir().unwrap();
        let server = || CallHolds::new(ByteLocks::open(data.path()).unwrap());
        let (here, there) = (server(), server());
        let account = Uuid::now_v7();
        let hold = |holds: &CallHolds, account| {
            let holds = holds.clone();
            async move { holds.hold(account, "k".into()).await.unwrap() }
        };
        let first = hold(&here, account).await;
        let mut next = Box::pin(hold(&here, account));
        let mut last = Box::pin(hold(&there, account));
        assert!(futures::poll!(&mut next).is_pending());
        assert!(futures::poll!(&mut last).is_pending());
        drop(hold(&there, Uuid::now_v7()).await);
        drop(first);
        let next = next.await;
        tokio::time::sleep(2 * POLL_INTERVAL).await;
        assert!(futures::poll!(&mut last).is_pending());
        drop(next);
        drop(last.await);
        assert!(here.running.lock().is_empty() && there.running.lock().is_empty());
    }
}
