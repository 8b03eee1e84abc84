//! The store: what is small and must never be wrong, in one SQLite file.
//!
//! The file is in WAL mode with `synchronous=FULL`, so a write that returns is on disk. One thread per process writes
//! and groups the writes that wait into one commit; readers come from a small pool and never wait for it. Several
//! processes may open the file at once (a command beside a running server): SQLite's own lock orders them.
//! Every call here blocks its thread: asynchronous callers use a blocking thread.

mod alone;
mod backup;
pub mod document;
mod migrations;
mod writer;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, Transaction};

use writer::Writer;

/// Name of the store in the data folder.
pub const FILE_NAME: &str = "store.sqlite";
/// How long a write waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it tries meanwhile. SQLite's own pauses grow to 100 ms: against a process that writes without pause, a
/// writer that sleeps so long has no chance.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// Prepared statements each connection keeps: more than there are on any hot path.
const STATEMENTS_MAX: usize = 128;
/// Memory the writing connection keeps pages in, KiB: indexes over millions of listings are written all over.
const WRITER_CACHE_KIB: i64 = 64 * 1024;
/// Pages of the write-ahead log after which it is copied into the file: 32 MiB, so that a page that changes often is
/// copied seldom.
const CHECKPOINT_PAGES: i64 = 8_192;
/// Idle connections kept for reading.
const IDLE_READERS_MAX: usize = 4;
/// Bytes of a secret.
const SECRET_BYTES: usize = 32;

/// What the store can refuse.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite refused an operation.
    #[error("store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file or its folder cannot be created.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file was written by a newer version of this program.
    #[error("store: made by a newer version (schema {found}, this version knows {known})")]
    Newer {
        /// Schema of the file.
        found: usize,
        /// Latest schema known here.
        known: usize,
    },
    /// A copy is not what SQLite would write.
    #[error("{path}: damaged copy: {reason}; the store itself may be damaged")]
    DamagedCopy {
        /// The copy.
        path: PathBuf,
        /// What SQLite says of it.
        reason: String,
    },
    /// Another process, or another part of this one, has the file open.
    #[error("{path} is in use: stop the server, and whatever else has it open, and try again")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The commit that held this write, among others, failed.
    #[error("store: commit failed: {0}")]
    Commit(String),
    /// The writing thread is gone.
    #[error("store: closed")]
    Closed,
    /// A stored secret is not one.
    #[error("store: secret {0} is damaged")]
    DamagedSecret(String),
}

/// Result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// The store of one data folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    writer: Writer,
    idle_readers: Mutex<Vec<Connection>>,
}

impl Store {
    /// Opens the store of a data folder, making folder and file when they are not there. Blocks.
    pub fn open(data: &Path) -> Result<Self> {
        let (path, connection) = open_writer(data)?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        Ok(Self {
            shared: Arc::new(Shared {
                writer: Writer::start(connection),
                path,
                idle_readers: Mutex::new(Vec::new()),
            }),
        })
    }

    /// Opens the store of a data folder where there is one; makes nothing. Blocks.
    pub fn open_existing(data: &Path) -> Result<Option<Self>> {
        match data.join(FILE_NAME).is_file() {
            true => Self::open(data).map(Some),
            false => Ok(None),
        }
    }

    /// The data folder it lies in.
    pub fn folder(&self) -> &Path {
        self.shared.path.parent().unwrap_or(Path::new("."))
    }

    /// Runs a reading; it sees every write that returned before. Blocks.
    pub fn read<T>(&self, reading: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let idle = self.idle_readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect_reader()?,
        };
        let outcome = reading(&connection);
        let mut idle_readers = self.idle_readers();
        if idle_readers.len() < IDLE_READERS_MAX {
            idle_readers.push(connection);
        }
        Ok(outcome?)
    }

    /// Runs a reading of several statements that see the store at one moment. Many short ones cost less this way too: the
    /// file is locked once. Blocks.
    pub fn read_at_once<T>(
        &self,
        reading: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            reading(&transaction)
        })
    }

    /// Runs a change and returns once it is durable; one that fails leaves nothing behind. Blocks.
    pub fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.shared.writer.write(change)
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

    /// A secret of this installation, made at random the first time it is asked for. Blocks.
    pub fn secret(&self, name: &'static str) -> Result<[u8; SECRET_BYTES]> {
        let fresh: [u8; SECRET_BYTES] = rand::random();
        let stored: Option<Vec<u8>> = self.write(move |transaction| {
            transaction.execute(
                "INSERT INTO secrets (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                (name, fresh.as_slice()),
            )?;
            transaction
                .query_row("SELECT value FROM secrets WHERE name = ?1", [name], |row| {
                    row.get(0)
                })
                .optional()
        })?;
        stored
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| Error::DamagedSecret(name.to_owned()))
    }

    fn idle_readers(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // Nothing panics while the list is held half-changed, so a poisoned one is still sound.
        self.shared
            .idle_readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file of a data folder, made when it is not there and brought to today's schema, with a connection to it.
fn open_writer(data: &Path) -> Result<(PathBuf, Connection)> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    };
    std::fs::create_dir_all(data).map_err(at(data))?;
    let path = data.join(FILE_NAME);
    create_private(&path).map_err(at(&path))?;
    let mut connection = connect(&path)?;
    migrations::apply(&mut connection)?;
    Ok((path, connection))
}

/// Makes the file readable by its owner only, because it holds secrets; SQLite's side files take the same mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn connect(path: &Path) -> Result<Connection> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stays_the_same_for_every_process_that_opens_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let first = Store::open(folder.path()).unwrap();
        let second = Store::open(folder.path()).unwrap();
        assert_eq!(
            first.secret("cursor").unwrap(),
            second.secret("cursor").unwrap()
        );
        assert_ne!(
            first.secret("cursor").unwrap(),
            first.secret("other").unwrap()
        );
    }

    #[test]
    fn a_failed_write_leaves_nothing_and_does_not_disturb_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let insert = "INSERT INTO accounts VALUES (?1, ?1, 0)";
        let failed = store.write(move |transaction| {
            transaction.execute(insert, ["a"])?;
            transaction.execute("INSERT INTO nowhere VALUES (1)", [])
        });
        assert!(failed.is_err());
        std::thread::scope(|scope| {
            for index in 0..50 {
                let store = &store;
                scope.spawn(move || {
                    let name = format!("b{index}");
                    store
                        .write(move |transaction| transaction.execute(insert, [name]))
                        .unwrap();
                });
            }
        });
        let count: i64 = store
            .read(|connection| {
                connection.query_row("SELECT count(*) FROM accounts", [], |row| row.get(0))
            })
            .unwrap();
        assert_eq!(count, 50);
    }

    #[test]
    fn a_store_of_a_newer_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path()).unwrap());
        let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        connection
            .pragma_update(None, "user_version", 9_999)
            .unwrap();
        assert!(matches!(
            Store::open(folder.path()),
            Err(Error::Newer { found: 9_999, .. })
        ));
    }
}
