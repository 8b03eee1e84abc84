//! The files of a database: the only place, besides SQLite, where this process creates, opens or examines them.
//!
//! SQLite's locks on Unix are POSIX record locks, and a process loses all its locks on a file as soon as it closes
//! any descriptor of that file. Another process that reads the file then takes itself for the only one, and as it
//! ends it deletes the log into which this process goes on writing what it acknowledges. So nobody opens a database
//! file or its shared index a second time: the file is created exclusively, before SQLite sees it; afterwards it is
//! only asked for by path (`stat`). The log carries no locks and is opened once, to be synced.
//!
//! Whoever replaces or deletes one of the files meanwhile takes the log away in the same manner, so [`OpenFiles`]
//! remembers which files a connection opened, and a write is acknowledged only while they are in their places.
//!
//! SQLite finds the log by the name of the database, so a database with two names has two logs, and a log with two names
//! is written by two databases: files that are hard-linked from elsewhere are refused.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::error::{Error, ReplacedFile, Result};
use super::master_key::SharedSealingKey;

/// Held while a file is created, so that the descriptor that creates it is closed before another thread of this
/// process can have a connection to it.
static CREATING: Mutex<()> = Mutex::new(());

/// Bits of a file's mode that let others than its owner read or write it.
#[cfg(unix)]
const OTHERS_MODE: u32 = 0o077;

/// Paths of a database file and of the files that SQLite keeps beside it. The file exists.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFiles {
    database: PathBuf,
    log: PathBuf,
    index: PathBuf,
    sealing: SharedSealingKey,
}

impl DatabaseFiles {
    /// The key that seals the secrets in it, once it is known.
    pub(super) fn sealing(&self) -> &SharedSealingKey {
        &self.sealing
    }

    /// The files of a database in a folder; creates an empty database file if there is none.
    ///
    /// # Errors
    /// The file cannot be created, or one of the three is hard-linked from elsewhere.
    pub(super) fn create(folder: &Path, name: &str) -> Result<Self> {
        let database = folder.join(name);
        ensure_created(&database).map_err(|source| Error::Io {
            path: database.clone(),
            source,
        })?;
        let beside = |suffix: &str| {
            let mut path = database.as_os_str().to_owned();
            path.push(suffix);
            PathBuf::from(path)
        };
        let files = Self {
            log: beside("-wal"),
            index: beside("-shm"),
            database,
            sealing: SharedSealingKey::default(),
        };
        files.refuse_other_names()?;
        Ok(files)
    }

    fn refuse_other_names(&self) -> Result<()> {
        for path in [&self.database, &self.log, &self.index] {
            match has_other_names(path) {
                Ok(false) => {}
                Ok(true) => {
                    return Err(Error::Linked {
                        path: path.clone(),
                        database: self.database.clone(),
                    });
                }
                // A database that nobody has open has no log.
                Err(source) if source.kind() == ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(Error::Io {
                        path: path.clone(),
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    /// Path of the database file.
    pub(super) fn path(&self) -> &Path {
        &self.database
    }

    /// Bytes on disk of the database file and its log.
    pub(super) fn bytes(&self) -> u64 {
        [&self.database, &self.log]
            .into_iter()
            .filter_map(|path| std::fs::metadata(path).ok())
            .map(|metadata| metadata.len())
            .sum()
    }

    /// Remembers the files that the caller's connection has open. It must have used the write-ahead log, and stay
    /// open until [`OpenFiles::close`]: this keeps other processes from deleting the log.
    pub(super) fn opened(self) -> Result<OpenFiles> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { path, source }
        };
        let identity = |path: &Path| FileIdentity::of(path).map_err(io(path));
        Ok(OpenFiles {
            // Opened for writing, since some systems sync only writable files.
            log: OpenOptions::new()
                .write(true)
                .open(&self.log)
                .map_err(io(&self.log))?,
            identities: [
                identity(&self.database)?,
                identity(&self.log)?,
                identity(&self.index)?,
            ],
            is_closed: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            files: self,
        })
    }
}

/// The files of a database that a connection of this process has open.
#[derive(Debug)]
pub(super) struct OpenFiles {
    files: DatabaseFiles,
    identities: [FileIdentity; 3],
    log: File,
    is_closed: AtomicBool,
    is_lost: AtomicBool,
}

impl OpenFiles {
    /// Their paths.
    pub(super) fn paths(&self) -> &DatabaseFiles {
        &self.files
    }

    /// Verifies that the files are still the ones at their paths. Costs three `stat` calls, some microseconds.
    ///
    /// # Errors
    /// Names the file that was replaced or deleted, or can no longer be examined.
    pub(super) fn check(&self) -> std::result::Result<(), ReplacedFile> {
        let paths = [&self.files.database, &self.files.log, &self.files.index];
        let displaced = paths
            .into_iter()
            .zip(&self.identities)
            .find(|(path, identity)| {
                !FileIdentity::of(path).is_ok_and(|found| found == **identity)
            });
        match displaced {
            // The last connection that closes deletes the log itself, once all of it is in the database file.
            Some(_) if self.is_closed.load(Ordering::Acquire) => Ok(()),
            Some((path, _)) => {
                self.is_lost.store(true, Ordering::Release);
                Err(ReplacedFile { path: path.clone() })
            }
            None => Ok(()),
        }
    }

    /// Whether the database file is in its place and nobody else has a log beside it.
    pub(super) fn only_log_is_gone(&self) -> bool {
        let [database, ..] = &self.identities;
        let is_in_place = FileIdentity::of(&self.files.database).is_ok_and(|it| it == *database);
        let log = std::fs::symlink_metadata(&self.files.log);
        is_in_place && log.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Whether a check has failed.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Syncs the log to disk.
    pub(super) fn sync_log(&self) -> io::Result<()> {
        self.log.sync_data()
    }

    /// Called before the connection is closed.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }
}

/// Which file a path leads to. An open file keeps its identity to itself: a new one cannot have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl FileIdentity {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Ok(Self {
                device: metadata.dev(),
                inode: metadata.ino(),
            })
        }
        // Elsewhere an open file can be neither replaced nor deleted.
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Ok(Self {})
        }
    }
}

/// Creates a file that only its owner can read, because it contains secrets or customers' data; SQLite's side files
/// get the same mode. It must not exist. No connection to it may be open in this process when the result is dropped.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Reads a file that is none of the store's: a block of rows that came from a publication.
pub(super) fn read_block(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })
}

/// Makes the names in a folder durable.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Folders cannot be synced here.
#[cfg(not(unix))]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a database file unless it exists. One that exists is not opened.
fn ensure_created(path: &Path) -> io::Result<()> {
    let _creating = CREATING.lock();
    match create_private(path) {
        Ok(created) => {
            drop(created);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => warn_if_readable(path),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn has_other_names(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata(path)?.nlink() > 1)
}

/// Not known here.
#[cfg(not(unix))]
fn has_other_names(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn warn_if_readable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & OTHERS_MODE != 0 {
        let path = path.display();
        tracing::warn!(%path, "holds secrets, and others than its owner may open it; chmod 600 it");
    }
    Ok(())
}

#[cfg(not(unix))]
fn warn_if_readable(path: &Path) -> io::Result<()> {
    std::fs::metadata(path).map(drop)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::process::Command;

    use rusqlite::Connection;
    use rustix::fs::{FlockOperation, fcntl_lock};
    use toise_base::supervise::Supervisor;

    use super::super::{FILE_NAME, LEDGER_FILE_NAME, Store};
    use super::*;

    /// Names the file that this test program reads if it runs as another process.
    const READ: &str = "TOISE_TEST_READ";
    const INSERT: &str = "INSERT INTO accounts VALUES (?1, ?1, 0)";

    fn insert(store: &Store, name: &str) -> Result<usize> {
        let name = name.to_owned();
        store.write(move |transaction| transaction.execute(INSERT, [name]))
    }

    fn names(data: &Path) -> Vec<String> {
        let reading = |connection: &Connection| {
            let mut statement = connection.prepare("SELECT name FROM accounts ORDER BY name")?;
            let names = statement.query_map([], |row| row.get(0))?;
            names.collect()
        };
        Store::open(data).unwrap().read(reading).unwrap()
    }

    #[test]
    fn another_process() {
        let Ok(path) = std::env::var(READ) else {
            return;
        };
        let connection = Connection::open(&path).unwrap();
        let sql = "SELECT count(*) FROM sqlite_master";
        let tables: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert!(tables > 0);
        drop(connection);
        // Whoever gets this lock deletes the log. The SQLite of this program asks for more; that of others does not.
        let file = OpenOptions::new().write(true).open(path).unwrap();
        let exclusive = FlockOperation::NonBlockingLockExclusive;
        assert!(fcntl_lock(&file, exclusive).is_err(), "not locked");
    }

    #[test]
    fn a_reader_in_another_process_leaves_the_log_of_a_store_that_was_opened_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (data, killed) = (folder.path().join("data"), folder.path().join("killed"));
        let store = Store::open(&data).unwrap();
        drop(Store::open(&data).unwrap());
        let backup = folder.path().join("backup");
        std::fs::create_dir(&backup).unwrap();
        store.backup(&backup).unwrap();
        insert(&store, "before").unwrap();
        assert!(store.bytes() > 0);
        let reader = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "files::tests::another_process"])
            .env(READ, data.join(FILE_NAME))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&reader.stdout);
        assert!(
            reader.status.success() && said.contains("1 passed"),
            "{said}"
        );
        insert(&store, "after").unwrap();
        // What is on disk now is what a killed process would leave; `cp` drops no locks of this process.
        let copied = Command::new("cp").arg("-a").args([&data, &killed]).status();
        assert!(copied.unwrap().success());
        assert_eq!(names(&killed), ["after", "before"]);
    }

    #[test]
    fn a_write_is_refused_by_name_once_the_log_is_deleted_and_earlier_ones_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let supervisor = Supervisor::default();
        let store = Store::open_supervised(data, &supervisor).unwrap();
        insert(&store, "before").unwrap();
        let log = data.join("store.sqlite-wal");
        std::fs::remove_file(&log).unwrap();
        for _ in 0..2 {
            let refused = insert(&store, "after");
            assert!(
                matches!(&refused, Err(Error::Replaced(file)) if file.path == log),
                "{refused:?}"
            );
            // What other programs leave there later changes nothing.
            std::fs::write(&log, "").unwrap();
        }
        std::fs::remove_file(&log).unwrap();
        let failed = supervisor.failed().unwrap();
        assert_eq!(failed.worker, "store-writer");
        assert!(failed.reason.contains("store.sqlite-wal was replaced"));
        let refused = store.connect_reader();
        assert!(matches!(refused, Err(Error::Replaced(_))), "{refused:?}");
        // The file alone holds what was acknowledged, also if this process is killed.
        let killed = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .arg(data.join(FILE_NAME))
            .arg(killed.path())
            .status();
        assert!(copied.unwrap().success());
        assert!(names(killed.path()).contains(&"before".to_owned()));
    }

    #[test]
    fn a_replaced_database_file_is_noticed_without_a_write() {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = Supervisor::default();
        let store = Store::open_supervised(folder.path(), &supervisor).unwrap();
        let file = folder.path().join(FILE_NAME);
        std::fs::rename(&file, folder.path().join("aside")).unwrap();
        std::fs::write(&file, "").unwrap();
        let since = std::time::Instant::now();
        while supervisor.is_well() && since.elapsed().as_secs() < 30 {
            std::thread::yield_now();
        }
        let reason = supervisor.failed().unwrap().reason;
        assert!(reason.contains("store.sqlite was replaced"), "{reason}");
        assert!(insert(&store, "late").is_err());
        // It is neither written nor taken for a database.
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
    }

    #[test]
    fn files_with_two_names_are_refused_until_each_folder_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
        let store = Store::open(&data).unwrap();
        insert(&store, "before").unwrap();
        let linked = Command::new("cp").arg("-al").args([&data, &copy]).status();
        assert!(linked.unwrap().success());
        let refused = || {
            for folder in [&copy, &data] {
                let refused = Store::open(folder);
                assert!(matches!(refused, Err(Error::Linked { .. })), "{refused:?}");
            }
        };
        refused();
        insert(&store, "after").unwrap();
        for name in [FILE_NAME, LEDGER_FILE_NAME] {
            give_its_own(&copy.join(name));
        }
        // The logs are still one.
        refused();
        for name in [FILE_NAME, LEDGER_FILE_NAME] {
            for suffix in ["-wal", "-shm"] {
                give_its_own(&copy.join(format!("{name}{suffix}")));
            }
        }
        insert(&Store::open(&copy).unwrap(), "elsewhere").unwrap();
        insert(&store, "here").unwrap();
        drop(store);
        assert_eq!(names(&data), ["after", "before", "here"]);
        assert_eq!(names(&copy), ["after", "before", "elsewhere"]);
    }

    /// Gives a path a copy of its file.
    fn give_its_own(path: &Path) {
        let own = path.with_extension("own");
        std::fs::copy(path, &own).unwrap();
        std::fs::rename(&own, path).unwrap();
    }

    #[test]
    fn an_existing_file_is_never_opened_to_create_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        drop(create_private(&path).unwrap());
        let again = create_private(&path);
        assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
        ensure_created(&path).unwrap();
    }
}
