//! The one thread that writes: takes the changes that wait, applies them in one transaction, commits once.
//!
//! A commit costs one fsync however many changes it holds, so throughput grows with the callers that wait. Each change
//! runs in its own savepoint: one that fails is undone alone, and its error travels back as it is. Whoever sent it is
//! told after the commit, on this thread. At most [`QUEUE_MAX`] changes wait: who sends more is refused, at once or
//! after [`QUEUE_WAIT_MAX`].

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::checkpoint::Checkpointer;
use super::{Error, Result};
use toise_base::supervise::{Pulse, Supervisor, Worker};

/// Changes one commit holds at most, so that the first of them does not wait for an endless stream.
const GROUP_MAX: usize = 256;
/// Changes that wait at most: sixteen commits' worth, a second or two of writing.
pub(super) const QUEUE_MAX: usize = 16 * GROUP_MAX;
/// Longest a thread that may block waits for a place among them.
const QUEUE_WAIT_MAX: Duration = Duration::from_secs(10);
/// How often it looks for one meanwhile: a commit, which frees some hundred, takes about as long.
const QUEUE_LOOK_EVERY: Duration = Duration::from_millis(2);

/// A change that waits: applied once, then told how the commit went.
trait QueuedWrite: Send {
    fn apply(&mut self, transaction: &Transaction<'_>);
    fn conclude(self: Box<Self>, commit: std::result::Result<(), &rusqlite::Error>);
}

struct PendingWrite<T, E, F, D> {
    change: Option<F>,
    outcome: Option<std::result::Result<T, E>>,
    done: D,
}

impl<T, E, F, D> QueuedWrite for PendingWrite<T, E, F, D>
where
    T: Send,
    E: From<Error> + Send,
    F: FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send,
    D: FnOnce(std::result::Result<T, E>) + Send,
{
    fn apply(&mut self, transaction: &Transaction<'_>) {
        if let Some(change) = self.change.take() {
            self.outcome = Some(in_savepoint(transaction, change));
        }
    }

    fn conclude(self: Box<Self>, commit: std::result::Result<(), &rusqlite::Error>) {
        let answer = match (self.outcome, commit) {
            (Some(Ok(_)) | None, Err(error)) => Err(Error::Commit(error.to_string()).into()),
            (Some(outcome), _) => outcome,
            (None, Ok(())) => Err(Error::Closed.into()),
        };
        (self.done)(answer);
    }
}

fn in_savepoint<T, E: From<Error>>(
    transaction: &Transaction<'_>,
    change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let execute = |sql| transaction.execute_batch(sql).map_err(Error::from);
    execute("SAVEPOINT change")?;
    let outcome = change(transaction);
    execute(match outcome.is_ok() {
        true => "RELEASE change",
        false => "ROLLBACK TO change; RELEASE change",
    })?;
    outcome
}

/// What is called after a commit; it must not block.
pub(super) type CommitListener = Box<dyn Fn() + Send>;

/// Whether a thread may wait for a place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It may, [`QUEUE_WAIT_MAX`] at most.
    Blocks,
    /// It may not: it serves others.
    Never,
}

/// Hands changes to the writing thread, which ends when this is dropped.
pub(super) struct WriteQueue {
    // Before the queue, so that the end of the thread is asked for before it comes.
    _worker: Worker,
    queue: SyncSender<Box<dyn QueuedWrite>>,
    listeners: Arc<Mutex<Vec<CommitListener>>>,
}

impl fmt::Debug for WriteQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Writer")
    }
}

impl WriteQueue {
    /// Starts the thread.
    pub(super) fn start(
        supervisor: &Supervisor,
        name: &str,
        connection: Connection,
        checkpoints: Checkpointer,
    ) -> std::io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE_MAX);
        let listeners: Arc<Mutex<Vec<CommitListener>>> = Arc::default();
        let told = Arc::clone(&listeners);
        let worker = supervisor.spawn(name, move |pulse| {
            write_all(pulse, connection, &checkpoints, &waiting, &told);
        })?;
        Ok(Self {
            _worker: worker,
            queue,
            listeners,
        })
    }

    /// Has `listener` called after every commit from now on.
    pub(super) fn listen(&self, listener: CommitListener) {
        self.listeners.lock().push(listener);
    }

    /// Queues a change, and has `done` called after its commit; it must not block.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when too many wait, [`Error::Closed`] when the thread is gone.
    pub(super) fn submit<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        patience: Patience,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
        done: impl FnOnce(std::result::Result<T, E>) + Send + 'static,
    ) -> Result<()> {
        let mut pending: Box<dyn QueuedWrite> = Box::new(PendingWrite {
            change: Some(change),
            outcome: None,
            done,
        });
        let mut full_since = None;
        loop {
            pending = match self.queue.try_send(pending) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(Error::Closed),
                Err(TrySendError::Full(refused)) => refused,
            };
            let since = *full_since.get_or_insert_with(Instant::now);
            if patience == Patience::Never || since.elapsed() >= QUEUE_WAIT_MAX {
                return Err(Error::Overloaded);
            }
            std::thread::sleep(QUEUE_LOOK_EVERY);
        }
    }
}

fn write_all(
    pulse: &Pulse,
    mut connection: Connection,
    checkpoints: &Checkpointer,
    waiting: &Receiver<Box<dyn QueuedWrite>>,
    listeners: &Mutex<Vec<CommitListener>>,
) {
    while let Ok(first) = pulse.recv(waiting) {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP_MAX - 1));
        let commit = commit_group(&mut connection, &mut group);
        for change in group {
            change.conclude(commit.as_ref().copied());
        }
        if commit.is_ok() {
            checkpoints.after_commit(&connection);
            listeners.lock().iter().for_each(|listener| listener());
        }
    }
}

fn commit_group(
    connection: &mut Connection,
    group: &mut [Box<dyn QueuedWrite>],
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
