//! The writer thread: takes the waiting changes, applies them in one transaction and commits once.
//!
//! A commit costs one fsync however many changes it contains, so throughput grows with the number of waiting callers.
//! Each change runs in its own savepoint: a failed one is undone alone and its error returned unchanged. The sender is
//! notified after the commit, on this thread. At most [`QUEUE_MAX`] changes wait; further changes are rejected,
//! immediately or after [`QUEUE_WAIT_MAX`]. No change is acknowledged unless the database file and its log were still
//! at their paths after the commit.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::checkpoint::Checkpointer;
use super::connection::before_close;
use super::error::{Error, ReplacedFile, Result, Unacknowledged};
use super::files::OpenFiles;
use toise_base::supervise::{Pulse, Supervisor, Worker};

/// Maximum changes per commit, so that the first of them does not wait for an endless stream.
const GROUP_MAX: usize = 256;
/// Maximum waiting changes: sixteen commits' worth, a second or two of writing.
pub(super) const QUEUE_MAX: usize = 16 * GROUP_MAX;
/// Maximum wait of a blocking caller for room in the queue.
const QUEUE_WAIT_MAX: Duration = Duration::from_secs(10);
/// Interval between attempts during that wait: about the duration of a commit, which makes room for some hundred
/// changes.
const QUEUE_RETRY_EVERY: Duration = Duration::from_millis(2);
/// How often a writer without work checks that its files are still at their paths.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// A waiting change. It is applied once, then notified of the outcome of the commit.
trait QueuedWrite: Send {
    fn apply(&mut self, transaction: &Transaction<'_>);
    fn conclude(self: Box<Self>, commit: std::result::Result<(), &Unacknowledged>);
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

    fn conclude(self: Box<Self>, commit: std::result::Result<(), &Unacknowledged>) {
        let answer = match (self.outcome, commit) {
            (Some(Ok(_)) | None, Err(refused)) => Err(refused.to_error().into()),
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
    let execute = |sql| {
        let statement = transaction.prepare_cached(sql);
        statement
            .and_then(|mut statement| statement.execute([]))
            .map_err(Error::from)
    };
    execute("SAVEPOINT change")?;
    let outcome = change(transaction);
    if outcome.is_ok() {
        execute("RELEASE change")?;
    } else if !transaction.is_autocommit() {
        // Some failures (a full disk) have already undone the whole transaction, and the savepoint with it.
        execute("ROLLBACK TO change")?;
        execute("RELEASE change")?;
    }
    outcome
}

/// Called after a commit; must not block.
pub(super) type CommitListener = Box<dyn Fn() + Send>;

/// Whether a caller may wait for room in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueWait {
    /// It may wait, up to [`QUEUE_WAIT_MAX`].
    Allowed,
    /// It may not wait, because its thread serves others.
    Never,
}

/// Queues changes for the writer thread, which ends when this is dropped.
pub(super) struct WriteQueue {
    // Declared before the queue, so that the worker is released before its thread ends.
    _worker: Worker,
    queue: SyncSender<Box<dyn QueuedWrite>>,
    listeners: Arc<Mutex<Vec<CommitListener>>>,
    failure: LastFailure,
}

/// The reason why the last commit failed; `None` once one succeeds.
pub(super) type LastFailure = Arc<Mutex<Option<String>>>;

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
        connection: WriterConnection,
        checkpoints: Checkpointer,
    ) -> std::io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE_MAX);
        let listeners: Arc<Mutex<Vec<CommitListener>>> = Arc::default();
        let notified = Arc::clone(&listeners);
        let failure = LastFailure::default();
        let failing = Arc::clone(&failure);
        let worker = supervisor.spawn(name, move |pulse| {
            write_all(
                pulse, connection, &checkpoints, &waiting, &notified, &failing,
            );
        })?;
        Ok(Self {
            _worker: worker,
            queue,
            listeners,
            failure,
        })
    }

    /// Returns why the last commit failed, if it did.
    pub(super) fn last_failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Calls `listener` after every further commit.
    pub(super) fn listen(&self, listener: CommitListener) {
        self.listeners.lock().push(listener);
    }

    /// Queues a change and calls `done` after its commit; `done` must not block.
    ///
    /// # Errors
    /// [`Error::Overloaded`] if too many changes are waiting, [`Error::Closed`] if the thread has ended.
    pub(super) fn submit<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        wait: QueueWait,
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
            if wait == QueueWait::Never || since.elapsed() >= QUEUE_WAIT_MAX {
                return Err(Error::Overloaded);
            }
            std::thread::sleep(QUEUE_RETRY_EVERY);
        }
    }
}

/// The connection that writes, and the files it has open.
pub(super) struct WriterConnection {
    connection: Connection,
    files: Arc<OpenFiles>,
    /// The first file that was no longer at its path; from then on nothing is written.
    replaced: Option<ReplacedFile>,
}

impl WriterConnection {
    /// Wraps the connection through which the files were opened.
    pub(super) fn new(connection: Connection, files: &Arc<OpenFiles>) -> Self {
        Self {
            connection,
            files: Arc::clone(files),
            replaced: None,
        }
    }

    /// Applies changes in one transaction and commits it.
    fn commit(
        &mut self,
        pulse: &Pulse,
        group: &mut [Box<dyn QueuedWrite>],
    ) -> std::result::Result<(), Unacknowledged> {
        if let Some(file) = &self.replaced {
            return Err(file.clone().into());
        }
        // Checked before writing too: a log that was cut short looks complete again once something is written after the
        // gap.
        self.check(pulse)?;
        let committed = commit_group(&mut self.connection, group);
        // Checked after a failure too, because replaced files may have caused it.
        self.check(pulse)?;
        Ok(committed?)
    }

    /// Verifies that the files are still at their paths. If they are not, marks the worker as failed, so that the
    /// service stops.
    fn check(&mut self, pulse: &Pulse) -> std::result::Result<(), ReplacedFile> {
        let known = self.replaced.clone();
        let Some(file) = known.or_else(|| self.files.check().err()) else {
            return Ok(());
        };
        if self.replaced.replace(file.clone()).is_none() {
            self.copy_deleted_log();
            pulse.fail(&file.to_string());
        }
        Err(file)
    }

    /// Copies a deleted log into the database file, so that acknowledged changes survive this process. If there is
    /// another log, another process may have written to the file, and copying would damage it.
    fn copy_deleted_log(&self) {
        if !self.files.only_log_is_gone() {
            return;
        }
        let path = self.files.paths().path().display();
        let sql = "PRAGMA wal_checkpoint(FULL)";
        let is_busy = self
            .connection
            .query_row(sql, [], |row| row.get::<_, bool>(0));
        match is_busy {
            Ok(false) => tracing::warn!(%path, "the deleted log was copied into the file"),
            Ok(true) => tracing::error!(%path, "readers prevent the deleted log from being copied"),
            Err(error) => tracing::error!(%path, %error, "cannot copy the deleted log"),
        }
    }
}

impl Drop for WriterConnection {
    fn drop(&mut self) {
        before_close(&self.connection, &self.files);
        self.files.close();
    }
}

fn write_all(
    pulse: &Pulse,
    mut connection: WriterConnection,
    checkpoints: &Checkpointer,
    waiting: &Receiver<Box<dyn QueuedWrite>>,
    listeners: &Mutex<Vec<CommitListener>>,
    failure: &LastFailure,
) {
    loop {
        let first = match pulse.recv_within(waiting, CHECK_EVERY) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                // If the files are gone, the check marks the worker as failed, and the next caller gets the error.
                let _ = connection.check(pulse);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP_MAX - 1));
        let commit = connection.commit(pulse, &mut group);
        *failure.lock() = commit
            .as_ref()
            .err()
            .map(|refused| refused.to_error().to_string());
        for change in group {
            change.conclude(commit.as_ref().copied());
        }
        if commit.is_ok() {
            checkpoints.after_commit(&connection.connection);
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
        // Some failures (a full disk) roll back the whole transaction; further changes must not run outside one.
        if transaction.is_autocommit() {
            break;
        }
        change.apply(&transaction);
    }
    transaction.commit()
}
