//! The store: small data that must never be wrong, in two SQLite files.
//!
//! The records of API calls have a separate file, [`Store::ledger`]: a response waits until its row is on disk and must
//! not wait for the adverts of another call. Everything else is in the other file, including everything that must
//! change in one transaction.
//!
//! Both use WAL mode, and a write is on disk when it returns: in the store because its commits sync
//! (`synchronous=FULL`), in the ledger because the write waits for a flush. Per file and process, one thread writes and
//! groups the waiting writes into one commit, and another checkpoints the log into the file; readers come from a small
//! pool and wait for neither. Several processes may open the files at once, such as a command while the server is
//! running; SQLite's own lock orders their writes.
//!
//! File locks belong to the process: if any code of it closes another descriptor of a file, SQLite's locks on the file
//! are lost. All access is therefore in `files.rs`. A write is acknowledged only while the files are still at their
//! paths.
//!
//! Every call here except [`Database::write_async`] blocks its thread, so asynchronous callers use a blocking thread.
//! There is one way to read, [`Database::read`], and one to write, [`Database::write`]; the others add a snapshot,
//! the caller's error type, or waiting without blocking.

#![forbid(unsafe_code)]

pub mod audit;
mod backup;
pub mod byte_locks;
mod check;
mod checkpoint;
pub mod checksum;
mod clear_guard;
pub mod columns;
mod connection;
mod database;
pub mod document;
mod error;
pub mod exchange;
mod exclusive;
mod files;
mod flusher;
mod functions;
pub mod leader;
pub mod lease;
mod log_file;
pub mod master_key;
mod migrations;
pub mod new_id;
mod row_digests;
mod sealed_ledger;
mod sealed_store;
pub mod sealing;
mod secret;
mod sole_connection;
mod wipe;
mod writer;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::OptionalExtension;

pub use check::StoreCheck;
pub use checksum::is_intact_answer;
use database::SyncPolicy;
pub use database::{Database, Durability};
pub use error::{Error, ReplacedFile, Result};
use master_key::MasterKeys;
pub use secret::ERASED_CONTACTS_SECRET;
use secret::SECRET_BYTES;
use toise_base::supervise::Supervisor;

/// File name of the store in the data folder. Private to this crate, so that no other code opens the file.
const FILE_NAME: &str = "store.sqlite";
/// File name of the ledger in the data folder.
const LEDGER_FILE_NAME: &str = "ledger.sqlite";
/// Page cache of the connection that writes the store, KiB: indexes over millions of listings are written at random
/// positions.
const WRITER_CACHE_KIB: i64 = 256 * 1024;

/// The store of one data folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    database: Database,
    ledger: Database,
}

impl Store {
    /// Opens the store of a data folder; creates the folder and the files if they do not exist. Blocks.
    pub fn open(data: &Path) -> Result<Self> {
        Self::open_supervised(data, &Supervisor::default())
    }

    /// [`Store::open`] for a service, whose supervisor is notified if a thread of the store dies. Blocks.
    pub fn open_supervised(data: &Path, supervisor: &Supervisor) -> Result<Self> {
        Self::open_with(data, supervisor, &MasterKeys::from_environment()?)
    }

    /// [`Store::open_supervised`] with the given master keys instead of the environment's. Blocks.
    pub fn open_with(data: &Path, supervisor: &Supervisor, keys: &MasterKeys) -> Result<Self> {
        refuse_emptied(data, FILE_NAME, LEDGER_FILE_NAME)?;
        let mut store = database::open_writer(data, FILE_NAME, &migrations::STORE)?;
        if master_key::is_first(&store.1, keys)? {
            // Closed, because only a sole connection can encrypt the store.
            drop(store);
            sealed_store::encrypt(data, FILE_NAME, keys)?;
            store = database::open_writer(data, FILE_NAME, &migrations::STORE)?;
        }
        let sealing = Arc::clone(store.0.paths().sealing());
        master_key::unlock(&mut store.1, &sealing, keys)?;
        store
            .1
            .pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
        secret::ensure(&store.1, ERASED_CONTACTS_SECRET)?;
        // Keys are created only once both files exist. So if there is a key, a missing ledger was lost.
        let sql = "SELECT EXISTS (SELECT 1 FROM keys)";
        if store.1.query_row(sql, [], |row| row.get(0))? {
            refuse_emptied(data, LEDGER_FILE_NAME, FILE_NAME)?;
        }
        let mut ledger = database::open_writer(data, LEDGER_FILE_NAME, &migrations::LEDGER)?;
        if let Some(key) = sealing.get() {
            // Cannot fail: the files were just opened, so no key is set yet.
            let _ = ledger.0.paths().sealing().set(key.clone());
            sealed_ledger::seal(&mut ledger.1)?;
        }
        Ok(Self {
            database: Database::over(supervisor, "store", store, SyncPolicy::Always)?,
            ledger: Database::over(supervisor, "ledger", ledger, SyncPolicy::OnRequest)?,
        })
    }

    /// Opens the store of a data folder if it exists; creates nothing. Blocks.
    pub fn open_existing(data: &Path) -> Result<Option<Self>> {
        if Self::exists(data) {
            Self::open(data).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns whether a data folder has a store.
    pub fn exists(data: &Path) -> bool {
        data.join(FILE_NAME).is_file()
    }

    /// If only one of the two files of the store exists in a data folder, returns the path of the missing one.
    pub fn lost_file(data: &Path) -> Option<PathBuf> {
        let [store, ledger] = [FILE_NAME, LEDGER_FILE_NAME].map(|name| data.join(name));
        match (store.is_file(), ledger.is_file()) {
            (true, false) => Some(ledger),
            (false, true) => Some(store),
            _ => None,
        }
    }

    /// Returns whether a path in a data folder names a file that only its owner may read.
    pub fn is_private(path: &str) -> bool {
        [FILE_NAME, LEDGER_FILE_NAME].contains(&path)
    }

    /// Returns the ledger of API calls.
    pub fn ledger(&self) -> &Database {
        &self.ledger
    }

    /// Returns the store and the ledger with their names.
    pub fn databases(&self) -> [(&'static str, &Database); 2] {
        [("store", &self.database), ("ledger", &self.ledger)]
    }

    /// Returns the data folder that contains the store.
    pub fn folder(&self) -> &Path {
        let path = self.database.paths().path();
        path.parent().unwrap_or(Path::new("."))
    }

    /// Returns the number of bytes on disk, including write-ahead logs and the ledger.
    pub fn bytes(&self) -> u64 {
        self.database.bytes() + self.ledger.bytes()
    }

    /// Returns a secret of this installation, generated at random on first use. Blocks.
    pub fn secret(&self, name: &'static str) -> Result<[u8; SECRET_BYTES]> {
        let stored: Option<Vec<u8>> = self.write(move |transaction| {
            secret::ensure(transaction, name)?;
            transaction
                .query_row(
                    "SELECT reveal(value, 'secrets ' || name) FROM secrets WHERE name = ?1",
                    [name],
                    |row| row.get(0),
                )
                .optional()
        })?;
        stored
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| Error::DamagedSecret(name.to_owned()))
    }
}

/// Reads and writes go to the store, not the ledger.
impl Deref for Store {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

/// Refuses to recreate one of the two files while the other one still has data.
fn refuse_emptied(data: &Path, name: &str, other: &str) -> Result<()> {
    let bytes = |name: &str| {
        let log = data.join(format!("{name}-wal"));
        let lengths = [data.join(name), log].map(|path| std::fs::metadata(path).ok());
        lengths
            .into_iter()
            .flatten()
            .map(|file| file.len())
            .sum::<u64>()
    };
    if bytes(name) > 0 || bytes(other) == 0 {
        return Ok(());
    }
    let path = data.join(name);
    Err(Error::Emptied {
        found: if path.exists() { "empty" } else { "missing" },
        path,
        other: data.join(other),
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, Transaction};

    use super::*;

    /// Closes a store; its threads end on their own, and the last connection deletes the log.
    pub(super) fn close(store: Store) {
        let folder = store.folder().to_owned();
        drop(store);
        let logs = [FILE_NAME, LEDGER_FILE_NAME].map(|name| folder.join(format!("{name}-wal")));
        while logs.iter().any(|log| log.exists()) {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    #[test]
    fn a_lost_file_is_not_recreated_while_the_other_has_data() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let sql = "INSERT INTO accounts (account_id, name, created_at_ms) VALUES ('a', 'a', 0)";
        store
            .write(|transaction| transaction.execute(sql, []))
            .unwrap();
        close(store);
        for (name, is_missing) in [
            (FILE_NAME, false),
            (FILE_NAME, true),
            (LEDGER_FILE_NAME, false),
        ] {
            let (path, aside) = (folder.path().join(name), folder.path().join("aside"));
            std::fs::rename(&path, &aside).unwrap();
            if !is_missing {
                std::fs::write(&path, "").unwrap();
            }
            let opened = Store::open(folder.path());
            let is_refused =
                matches!(&opened, Err(Error::Emptied { path: named, .. }) if *named == path);
            // Without an API key, recreating the ledger loses nothing.
            assert_eq!(is_refused, name == FILE_NAME, "{opened:?}");
            if let Ok(opened) = opened {
                close(opened);
            }
            std::fs::rename(&aside, &path).unwrap();
        }
        Store::open(folder.path()).unwrap();
    }

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
    fn a_failed_write_is_undone_and_does_not_disturb_others() {
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
    fn a_failed_commit_is_reported_until_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let [(_, database), (_, ledger)] = store.databases();
        let orphan = |transaction: &Transaction<'_>| {
            transaction.execute_batch(
                "CREATE TABLE parents (id INTEGER PRIMARY KEY);
                 CREATE TABLE children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
                 INSERT INTO children VALUES (1)",
            )
        };
        database.write(orphan).unwrap_err();
        assert!(database.last_failure().is_some());
        assert_eq!(ledger.last_failure(), None);
        database.try_write().unwrap();
        assert_eq!(database.last_failure(), None);
    }

    #[derive(Debug)]
    enum Refused {
        TooMany(usize),
        Store(Error),
    }

    impl From<Error> for Refused {
        fn from(error: Error) -> Self {
            Refused::Store(error)
        }
    }

    #[test]
    fn a_change_that_fails_is_undone_and_its_error_is_returned_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let insert = "INSERT INTO accounts VALUES ('a', 'a', 0)";
        let refused = store.write_with(move |transaction| -> std::result::Result<(), Refused> {
            let rows = transaction.execute(insert, []).map_err(Error::from)?;
            Err(Refused::TooMany(rows))
        });
        assert!(matches!(refused, Err(Refused::TooMany(1))), "{refused:?}");
        let failed = store.write_with(|transaction| -> std::result::Result<(), Refused> {
            transaction.execute_batch("nonsense").map_err(Error::from)?;
            Ok(())
        });
        assert!(
            matches!(failed, Err(Refused::Store(Error::Sqlite(_)))),
            "{failed:?}"
        );
        assert_eq!(
            store
                .write(move |transaction| transaction.execute(insert, []))
                .unwrap(),
            1
        );
    }

    #[test]
    fn a_write_that_may_not_wait_is_rejected_when_the_queue_is_full_and_waiting_ones_are_written() {
        use std::sync::mpsc::sync_channel;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (begun, has_begun) = sync_channel(1);
        let (end, ended) = sync_channel::<()>(1);
        let long = std::thread::spawn({
            let store = store.clone();
            move || {
                store.ledger().write(move |_| {
                    begun.send(()).unwrap();
                    Ok(ended.recv().is_ok())
                })
            }
        });
        has_begun.recv().unwrap();
        let nothing = |_: &Transaction<'_>| -> Result<()> { Ok(()) };
        let write = || store.ledger().write_async(Durability::Written, nothing);
        let mut waiting: Vec<_> = (0..writer::QUEUE_MAX).map(|_| Box::pin(write())).collect();
        let mut idle = std::task::Context::from_waker(std::task::Waker::noop());
        for write in &mut waiting {
            assert!(write.as_mut().poll(&mut idle).is_pending());
        }
        let refused = Box::pin(write()).as_mut().poll(&mut idle);
        assert!(
            matches!(refused, std::task::Poll::Ready(Err(Error::Overloaded))),
            "{refused:?}"
        );
        end.send(()).unwrap();
        assert!(long.join().unwrap().unwrap());
        store.ledger().write(|_| Ok(())).unwrap();
        for write in &mut waiting {
            let written = write.as_mut().poll(&mut idle);
            assert!(
                matches!(written, std::task::Poll::Ready(Ok(()))),
                "{written:?}"
            );
        }
    }

    #[test]
    fn a_change_that_panics_ends_the_writer_and_no_caller_waits_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = Supervisor::default();
        let store = Store::open_supervised(folder.path(), &supervisor).unwrap();
        let lost: Result<()> = store.write(|_| panic!("a mistake"));
        assert!(matches!(lost, Err(Error::Closed)), "{lost:?}");
        let later = store.write(|_| Ok(()));
        assert!(matches!(later, Err(Error::Closed)), "{later:?}");
        let since = std::time::Instant::now();
        while supervisor.is_well() && since.elapsed().as_secs() < 10 {
            std::thread::yield_now();
        }
        assert_eq!(supervisor.failed().unwrap().worker, "store-writer");
    }

    #[test]
    fn a_store_of_a_newer_version_is_rejected() {
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
