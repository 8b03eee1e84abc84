//! The one thread that writes: takes the changes that wait, applies them in one transaction, commits once.
//!
//! A commit costs one fsync however many changes it holds, so throughput grows with the callers that wait. Each change
//! runs in its own savepoint: one that fails is undone alone. Whoever sent it is told after the commit, on this thread.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::checkpoint::Checkpoints;
use super::{Error, Result};

/// Changes one commit holds at most, so that the first of them does not wait for an endless stream.
const GROUP_MAX: usize = 256;

/// A change that waits: applied once, then told how the commit went.
trait Change: Send {
    fn apply(&mut self, transaction: &Transaction<'_>);
    fn conclude(self: Box<Self>, commit: std::result::Result<(), &rusqlite::Error>);
}

struct Pending<T, F, D> {
    change: Option<F>,
    outcome: Option<rusqlite::Result<T>>,
    done: D,
}

impl<T, F, D> Change for Pending<T, F, D>
where
    T: Send,
    F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send,
    D: FnOnce(Result<T>) + Send,
{
    fn apply(&mut self, transaction: &Transaction<'_>) {
        if let Some(change) = self.change.take() {
            self.outcome = Some(in_savepoint(transaction, change));
        }
    }

    fn conclude(self: Box<Self>, commit: std::result::Result<(), &rusqlite::Error>) {
        let answer = match (self.outcome, commit) {
            (Some(Ok(_)) | None, Err(error)) => Err(Error::Commit(error.to_string())),
            (Some(outcome), _) => outcome.map_err(Error::from),
            (None, Ok(())) => Err(Error::Closed),
        };
        (self.done)(answer);
    }
}

fn in_savepoint<T>(
    transaction: &Transaction<'_>,
    change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    transaction.execute_batch("SAVEPOINT change")?;
    let outcome = change(transaction);
    let end = if outcome.is_ok() {
        "RELEASE change"
    } else {
        "ROLLBACK TO change; RELEASE change"
    };
    transaction.execute_batch(end)?;
    outcome
}

/// What is called after a commit; it must not block.
pub(super) type Listener = Box<dyn Fn() + Send>;

/// Hands changes to the writing thread, which ends when the last handle is dropped.
pub(super) struct Writer {
    queue: Sender<Box<dyn Change>>,
    listeners: Arc<Mutex<Vec<Listener>>>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Writer")
    }
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection, checkpoints: Checkpoints) -> Self {
        let (queue, waiting) = channel();
        let listeners: Arc<Mutex<Vec<Listener>>> = Arc::default();
        let told = Arc::clone(&listeners);
        std::thread::spawn(move || write_all(connection, &checkpoints, waiting, &told));
        Self { queue, listeners }
    }

    /// Has `listener` called after every commit from now on.
    pub(super) fn listen(&self, listener: Listener) {
        lock(&self.listeners).push(listener);
    }

    /// Queues a change, and has `done` called after its commit; it must not block.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T>) + Send + 'static,
    ) -> Result<()> {
        let pending = Pending {
            change: Some(change),
            outcome: None,
            done,
        };
        let queued = self.queue.send(Box::new(pending));
        queued.map_err(|_| Error::Closed)
    }
}

/// Nothing panics while the list is held half-changed, so a poisoned one is still sound.
fn lock(listeners: &Mutex<Vec<Listener>>) -> MutexGuard<'_, Vec<Listener>> {
    listeners.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_all(
    mut connection: Connection,
    checkpoints: &Checkpoints,
    waiting: Receiver<Box<dyn Change>>,
    listeners: &Mutex<Vec<Listener>>,
) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP_MAX - 1));
        let commit = commit_group(&mut connection, &mut group);
        for change in group {
            change.conclude(commit.as_ref().copied());
        }
        if commit.is_ok() {
            checkpoints.after_commit(&connection);
            lock(listeners).iter().for_each(|listener| listener());
        }
    }
}

fn commit_group(
    connection: &mut Connection,
    group: &mut [Box<dyn Change>],
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for change in group {
        // Some failures (a full disk) undo the whole transaction: what follows must not run outside one.
        if transaction.is_autocommit() {
            break;
        }
        change.apply(&transaction);
    }
    transaction.commit()
}
