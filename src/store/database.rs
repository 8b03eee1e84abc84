//! One SQLite database: its writer thread and its readers.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction};
use tokio::sync::oneshot;

use super::checkpoint::Checkpointer;
use super::connection::{before_close, connect, connect_again};
use super::error::{Error, Result};
use super::files::{DatabaseFiles, OpenFiles, require_writable};
use super::flusher::Flusher;
use super::functions;
use super::master_key;
use super::migrations::{self, Steps};
use super::writer::{QueueWait, WriteQueue, WriterConnection};
use toise_base::durable::sync_folder;
use toise_base::supervise::Supervisor;

/// Idle reader connections kept open, 2 MiB each at most: opening one costs as much as twenty reads by identifier.
const IDLE_READERS_MAX: usize = 16;

/// The pragma of the schema version; SQLite writes it even if the value is the same.
const VERSION_PRAGMA: &str = "user_version";

/// Which failures a change survives once it is reported as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The change is in the file and survives the process, however it ends. If the machine fails, the changes of about
    /// the last second may be lost.
    Written,
    /// The change is on disk and survives a failure of the machine.
    Synced,
}

/// When commits are synced to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncPolicy {
    /// At each commit: SQLite's `synchronous=FULL`.
    Always,
    /// When a synced write requests it, and soon otherwise: `synchronous=NORMAL` and a [`Flusher`].
    OnRequest,
}

/// A database of the store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Database {
    shared: Arc<DatabaseInner>,
}

#[derive(Debug)]
struct DatabaseInner {
    files: Arc<OpenFiles>,
    writer: WriteQueue,
    /// Set if commits do not sync by themselves.
    flusher: Option<Flusher>,
    idle_readers: Mutex<Vec<Connection>>,
}

impl Drop for DatabaseInner {
    fn drop(&mut self) {
        for reader in self.idle_readers.get_mut() {
            before_close(reader, &self.files);
        }
    }
}

impl Database {
    /// Opens a database on the connection that will write it. Its threads are named `<name>-writer`,
    /// `<name>-checkpoint` and, if it has a flusher, `<name>-flusher`.
    pub(super) fn over(
        supervisor: &Supervisor,
        name: &str,
        (files, connection): (OpenFiles, Connection),
        flushed: SyncPolicy,
    ) -> Result<Self> {
        let files = Arc::new(files);
        let flusher = match flushed {
            SyncPolicy::Always => None,
            SyncPolicy::OnRequest => {
                connection.pragma_update(None, "synchronous", "NORMAL")?;
                let flusher = Flusher::start(supervisor, &format!("{name}-flusher"), &files);
                Some(flusher.map_err(Error::io(files.paths().path()))?)
            }
        };
        let checkpoint = format!("{name}-checkpoint");
        let checkpoints = Checkpointer::start(supervisor, &checkpoint, &files, &connection)?;
        let writer = format!("{name}-writer");
        let connection = WriterConnection::new(connection, &files);
        let writer = WriteQueue::start(supervisor, &writer, connection, checkpoints);
        Ok(Self {
            shared: Arc::new(DatabaseInner {
                writer: writer.map_err(Error::io(files.paths().path()))?,
                flusher,
                files,
                idle_readers: Mutex::new(Vec::new()),
            }),
        })
    }

    /// Returns its open files.
    pub(super) fn files(&self) -> &OpenFiles {
        &self.shared.files
    }

    /// Returns the paths of its files.
    pub(super) fn paths(&self) -> &DatabaseFiles {
        self.shared.files.paths()
    }

    /// Seals bytes for a context, as `conceal` does in statements, before they are passed to the writer. Without a
    /// master key they stay unchanged.
    ///
    /// # Errors
    /// Never for less than 64 GiB.
    pub fn conceal(&self, bytes: Vec<u8>, place: &str) -> Result<Vec<u8>> {
        let key = self.paths().sealing().get();
        master_key::conceal_bytes(key, bytes, place)
            .map_err(|error| Error::MasterKey(error.to_string()))
    }

    /// Runs a read, which sees every write that returned before. Blocks.
    pub fn read<T>(&self, reading: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.read_with(|connection| reading(connection).map_err(Error::from))
    }

    /// [`Database::read`] for a read with its own error type, which is returned unchanged.
    ///
    /// # Errors
    /// The error of the read; the database cannot be opened.
    pub fn read_with<T, E: From<Error>>(
        &self,
        reading: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let idle = self.shared.idle_readers.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect_reader()?,
        };
        let outcome = reading(&connection);
        let mut idle_readers = self.shared.idle_readers.lock();
        if idle_readers.len() < IDLE_READERS_MAX {
            idle_readers.push(connection);
        }
        outcome
    }

    /// Runs a read whose statements all see one snapshot of the file. For many short statements this is also
    /// cheaper: the file is locked once. Blocks.
    pub fn read_snapshot<T>(
        &self,
        reading: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.read_snapshot_with(|connection| reading(connection).map_err(Error::from))
    }

    /// [`Database::read_snapshot`] for a read with its own error type, which is returned unchanged.
    ///
    /// # Errors
    /// As for [`Database::read_with`].
    pub fn read_snapshot_with<T, E: From<Error>>(
        &self,
        reading: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.read_with(|connection| {
            let transaction = connection.unchecked_transaction().map_err(Error::from)?;
            reading(&transaction)
        })
    }

    /// Runs a change and returns once it is on disk; on failure, no change is applied. Blocks.
    ///
    /// # Errors
    /// SQLite's errors; [`Error::Overloaded`] if the queue of waiting changes stays full; [`Error::Replaced`] once the
    /// files were replaced or deleted.
    pub fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_with(move |transaction| change(transaction).map_err(Error::from))
    }

    /// [`Database::write`] for a change with its own error type, which is returned unchanged.
    ///
    /// # Errors
    /// The error of the change, and the errors of [`Database::write`].
    pub fn write_with<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
    ) -> std::result::Result<T, E> {
        let (reply, answer) = sync_channel(1);
        self.submit(
            QueueWait::Allowed,
            Durability::Synced,
            change,
            move |outcome| {
                // If the caller is gone, the result is dropped; the change stands.
                let _ = reply.send(outcome);
            },
        )?;
        answer.recv().map_err(|_| Error::Closed)?
    }

    /// [`Database::write_with`] without blocking a thread, with the given durability. If the caller drops the future,
    /// its change stays in the queue and may still be applied.
    ///
    /// # Errors
    /// As for [`Database::write_with`]; [`Error::Overloaded`] is returned immediately.
    pub async fn write_async<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
    ) -> std::result::Result<T, E> {
        let (reply, answer) = oneshot::channel();
        self.submit(QueueWait::Never, durability, change, move |outcome| {
            // If the caller is gone, the result is dropped.
            let _ = reply.send(outcome);
        })?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Queues a change and calls `done` once it has the requested durability, or once it failed and was undone. A
    /// thread of the database makes the call, so `done` must not block.
    fn submit<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        wait: QueueWait,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
        done: impl FnOnce(std::result::Result<T, E>) + Send + 'static,
    ) -> Result<()> {
        let writer = &self.shared.writer;
        let Some(flusher) = self.shared.flusher.clone() else {
            return writer.submit(wait, change, done);
        };
        writer.submit(wait, change, move |outcome| match (durability, outcome) {
            (Durability::Synced, Ok(value)) => {
                flusher.then(move |flushed| done(flushed.map(|()| value).map_err(E::from)));
            }
            (Durability::Written, Ok(value)) => {
                done(Ok(value));
                flusher.request();
            }
            (_, Err(error)) => done(Err(error)),
        })
    }

    /// Returns why the last commit of this process failed, if it did: the disk is full, read-only or broken, or another
    /// process kept the file locked. `None` again once a commit succeeds.
    pub fn last_failure(&self) -> Option<String> {
        self.shared.writer.last_failure()
    }

    /// Tests whether writes succeed again: writes the file's schema version once more, which changes nothing but is
    /// synced to the disk. Blocks.
    ///
    /// # Errors
    /// Writes still fail.
    pub fn try_write(&self) -> Result<()> {
        self.write(|transaction| {
            let version: i64 =
                transaction.pragma_query_value(None, VERSION_PRAGMA, |row| row.get(0))?;
            transaction.pragma_update(None, VERSION_PRAGMA, version)
        })
    }

    /// Calls `listener` after every further commit of this process, on the writer thread: it must neither block nor
    /// write.
    pub fn on_commit(&self, listener: impl Fn() + Send + 'static) {
        self.shared.writer.listen(Box::new(listener));
    }

    /// Opens a read-only connection for the caller.
    pub fn connect_reader(&self) -> Result<Connection> {
        let connection = connect_again(&self.shared.files)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }
}

/// Opens a database of a data folder for writing. Creates it if it does not exist and migrates it to the current
/// schema.
pub(super) fn open_writer(
    data: &Path,
    name: &str,
    steps: &Steps<'_>,
) -> Result<(OpenFiles, Connection)> {
    std::fs::create_dir_all(data).map_err(Error::io(data))?;
    let files = DatabaseFiles::create(data, name)?;
    files.examine_log()?;
    let connection = match connect_migrated(&files, steps) {
        Err(error @ Error::Sqlite(_)) => {
            // SQLite names neither a folder that cannot be written nor the reason.
            require_writable(data)?;
            return Err(error);
        }
        connected => connected?,
    };
    let files = files.opened()?;
    // Makes the directory entries of the file and its log durable, not only their content.
    sync_folder(data).map_err(Error::io(data))?;
    Ok((files, connection))
}

fn connect_migrated(files: &DatabaseFiles, steps: &Steps<'_>) -> Result<Connection> {
    let mut connection = connect(files)?;
    functions::register(&connection)?;
    migrations::apply(&mut connection, steps)?;
    Ok(connection)
}
