//! The one thread that writes: takes the changes that wait, applies them in one transaction, commits once.
//!
//! A commit costs one fsync however many changes it holds, so throughput grows with the callers that wait. Each change
//! runs in its own savepoint: one that fails is undone alone.

use std::sync::mpsc::{Receiver, Sender, channel};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{Error, Result};

/// Changes one commit holds at most, so that the first of them does not wait for an endless stream.
const GROUP_MAX: usize = 256;

/// A change that waits: applied once, then told how the commit went.
trait Change: Send {
    fn apply(&mut self, transaction: &Transaction<'_>);
    fn conclude(self: Box<Self>, commit: std::result::Result<(), &rusqlite::Error>);
}

struct Pending<T, F> {
    change: Option<F>,
    outcome: Option<rusqlite::Result<T>>,
    reply: Sender<Result<T>>,
}

impl<T, F> Change for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send,
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
        // A caller that went away has no use for the answer; the change stands.
        let _ = self.reply.send(answer);
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

/// Hands changes to the writing thread, which ends when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Sender<Box<dyn Change>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection) -> Self {
        let (queue, waiting) = channel();
        std::thread::spawn(move || write_all(connection, waiting));
        Self { queue }
    }

    /// Waits for a place, the change and its commit.
    pub(super) fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = channel();
        let pending = Pending {
            change: Some(change),
            outcome: None,
            reply,
        };
        self.queue
            .send(Box::new(pending))
            .map_err(|_| Error::Closed)?;
        answer.recv().map_err(|_| Error::Closed)?
    }
}

fn write_all(mut connection: Connection, waiting: Receiver<Box<dyn Change>>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP_MAX - 1));
        let commit = commit_group(&mut connection, &mut group);
        for change in group {
            change.conclude(commit.as_ref().copied());
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
