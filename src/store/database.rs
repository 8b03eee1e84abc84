//! One SQLite file: its writing thread and its readers.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction};
use tokio::sync::oneshot;

use super::checkpoint::Checkpointer;
use super::flusher::Flusher;
use super::migrations::{self, Steps};
use super::writer::{Patience, WriteQueue};
use super::{Error, Result};
use toise_base::supervise::Supervisor;

/// How long a write waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it tries meanwhile. SQLite's own pauses grow to 100 ms: against a process that writes without pause, a
/// writer that sleeps so long has no chance.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// Prepared statements each connection keeps: more than there are on any hot path.
const STATEMENTS_MAX: usize = 128;
/// Idle connections kept for reading, 2 MiB each at most: opening one costs as much as twenty reads by identifier.
const IDLE_READERS_MAX: usize = 16;

/// What a change outlasts once it is told to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The process, however it ends: it is in the file. Should the machine stop, what was changed in the last second or so
    /// may be lost.
    Written,
    /// The machine: it is on disk.
    Synced,
}

/// When commits are put on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncPolicy {
    /// Each by itself: SQLite's `synchronous=FULL`.
    Always,
    /// When a change is to outlast the machine, and soon otherwise: `synchronous=NORMAL` and a [`Flusher`].
    OnRequest,
}

/// A file of the store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Database {
    shared: Arc<DatabaseInner>,
}

#[derive(Debug)]
struct DatabaseInner {
    path: PathBuf,
    writer: WriteQueue,
    /// Where commits do not flush by themselves.
    flusher: Option<Flusher>,
    idle_readers: Mutex<Vec<Connection>>,
}

impl Database {
    /// Over a file by the connection that will write it. Its threads are called `<name>-writer`, `<name>-checkpoint`
    /// and, where it has one, `<name>-flusher`.
    pub(super) fn over(
        supervisor: &Supervisor,
        name: &str,
        (path, connection): (PathBuf, Connection),
        flushed: SyncPolicy,
    ) -> Result<Self> {
        let no_thread = |source| Error::Io {
            path: path.clone(),
            source,
        };
        let flusher = match flushed {
            SyncPolicy::Always => None,
            SyncPolicy::OnRequest => {
                connection.pragma_update(None, "synchronous", "NORMAL")?;
                let flusher = Flusher::start(supervisor, &format!("{name}-flusher"), &path);
                Some(flusher.map_err(no_thread)?)
            }
        };
        let checkpoint = format!("{name}-checkpoint");
        let checkpoints = Checkpointer::start(supervisor, &checkpoint, path.clone(), &connection)?;
        let writer = format!("{name}-writer");
        let writer = WriteQueue::start(supervisor, &writer, connection, checkpoints);
        Ok(Self {
            shared: Arc::new(DatabaseInner {
                writer: writer.map_err(no_thread)?,
                flusher,
                path,
                idle_readers: Mutex::new(Vec::new()),
            }),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Runs a reading; it sees every write that returned before. Blocks.
    pub fn read<T>(&self, reading: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
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
        Ok(outcome?)
    }

    /// Runs a reading of several statements that see the file at one moment. Many short ones cost less this way too: the
    /// file is locked once. Blocks.
    pub fn read_snapshot<T>(
        &self,
        reading: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            reading(&transaction)
        })
    }

    /// Runs a change and returns once it is on disk; one that fails leaves nothing behind. Blocks.
    ///
    /// # Errors
    /// What SQLite refuses; [`Error::Overloaded`] when the change finds no place among those that wait.
    pub fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_with(move |transaction| change(transaction).map_err(Error::from))
    }

    /// The same for a change that has errors of its own: they come back as they are.
    ///
    /// # Errors
    /// What the change ends with, and what [`Database::write`] can.
    pub fn write_with<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
    ) -> std::result::Result<T, E> {
        let (reply, answer) = sync_channel(1);
        self.submit(
            Patience::Blocks,
            Durability::Synced,
            change,
            move |outcome| {
                // A caller that went away has no use for the answer; the change stands.
                let _ = reply.send(outcome);
            },
        )?;
        answer.recv().map_err(|_| Error::Closed)?
    }

    /// The same without blocking a thread, for what is to outlast the process or the machine. A caller that goes away
    /// leaves its change in the queue: it may still be made.
    ///
    /// # Errors
    /// As [`Database::write_with`]; [`Error::Overloaded`] at once.
    pub async fn write_async<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
    ) -> std::result::Result<T, E> {
        let (reply, answer) = oneshot::channel();
        self.submit(Patience::Never, durability, change, move |outcome| {
            // Whoever went away is not told.
            let _ = reply.send(outcome);
        })?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Has a change be made, and calls `done` once it outlasts what it is to, or failed and left nothing behind. A thread
    /// of the file calls, so `done` must not block.
    fn submit<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        patience: Patience,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
        done: impl FnOnce(std::result::Result<T, E>) + Send + 'static,
    ) -> Result<()> {
        let writer = &self.shared.writer;
        let Some(flusher) = self.shared.flusher.clone() else {
            return writer.submit(patience, change, done);
        };
        writer.submit(patience, change, move |outcome| {
            match (durability, outcome) {
                (Durability::Synced, Ok(value)) => {
                    flusher.then(move |flushed| done(flushed.map(|()| value).map_err(E::from)));
                }
                (Durability::Written, Ok(value)) => {
                    done(Ok(value));
                    flusher.request();
                }
                (_, Err(error)) => done(Err(error)),
            }
        })
    }

    /// Has `listener` called after every commit of this process from now on, by the thread that writes: it must not
    /// block, nor write.
    pub fn on_commit(&self, listener: impl Fn() + Send + 'static) {
        self.shared.writer.listen(Box::new(listener));
    }

    /// A connection of the caller's own that cannot write.
    pub fn connect_reader(&self) -> Result<Connection> {
        let connection = connect(&self.shared.path)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }
}

/// A file of a data folder, made when it is not there and brought to today's schema, with a connection to it.
pub(super) fn open_writer(
    data: &Path,
    name: &str,
    steps: &Steps<'_>,
) -> Result<(PathBuf, Connection)> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    };
    std::fs::create_dir_all(data).map_err(at(data))?;
    let path = data.join(name);
    create_private(&path).map_err(at(&path))?;
    let mut connection = connect(&path)?;
    migrations::apply(&mut connection, steps)?;
    // The file and its log are there after the machine stops, not only what is in them.
    #[cfg(unix)]
    std::fs::File::open(data)
        .and_then(|folder| folder.sync_all())
        .map_err(at(data))?;
    Ok((path, connection))
}

/// Makes a file readable by its owner only, because it holds secrets, or what customers did; SQLite's side files take
/// the same mode.
pub(super) fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

pub(super) fn connect(path: &Path) -> Result<Connection> {
    let mut connection = Connection::open(path)?;
    let mut since = Instant::now();
    connection.busy_handler(Some(move |tries| {
        if tries == 0 {
            since = Instant::now();
        }
        std::thread::sleep(BUSY_PAUSE);
        since.elapsed() < BUSY_TIMEOUT
    }))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Plans do not depend on what is bound: else statements on tables with partial indexes are planned at each use.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}
