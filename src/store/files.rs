//! The files of a database. Apart from SQLite, only this module creates, opens or examines them.
//!
//! SQLite's locks on Unix are POSIX record locks, and a process loses all its locks on a file as soon as it closes any
//! descriptor of that file. Another process that reads the file then believes that it is the only one. When it ends, it
//! deletes the log, while this process still writes acknowledged changes into it. So no code opens a database file or
//! its shared-memory index a second time: the file is created exclusively, before SQLite opens it, and later only
//! examined by path (`stat`). The log carries no locks and is opened once, to be synced.
//!
//! Acknowledged changes are lost in the same way if a program replaces or deletes one of the files. So [`OpenFiles`]
//! remembers which files a connection opened, and a write is acknowledged only while those files are still at their
//! paths.
//!
//! SQLite finds the log by the name of the database. A database with two names therefore has two logs, and a log with
//! two names is written by two databases. Files that are hard-linked from elsewhere are refused.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::error::{Error, ReplacedFile, Result};
use super::log_file::{self, Header, LogState};
use super::master_key::SharedSealingKey;
use toise_base::missing::optional;

/// Name of the file that shows whether a folder can be written.
const TRIAL_FILE: &str = ".opened";

/// Held while a file is created, so that the descriptor that creates it is closed before another thread of this
/// process can have a connection to it.
static CREATING: Mutex<()> = Mutex::new(());

/// How often a log header with a wrong checksum is read before it counts as damaged, and the pause between two reads.
const HEADER_READS: u32 = 3;
const HEADER_PAUSE: Duration = Duration::from_millis(1);

/// Mode bits that let users other than the owner read or write a file.
const OTHERS_MODE: u32 = 0o077;

/// Paths of a database file and of the files that SQLite keeps next to it. The database file exists.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFiles {
    database: PathBuf,
    log: PathBuf,
    index: PathBuf,
    sealing: SharedSealingKey,
}

impl DatabaseFiles {
    /// Returns the key that seals the secrets in the database, once it is known.
    pub(super) fn sealing(&self) -> &SharedSealingKey {
        &self.sealing
    }

    /// Returns the files of a database in a folder. Creates an empty database file if there is none.
    ///
    /// # Errors
    /// The file cannot be created, or one of the three is hard-linked from elsewhere.
    pub(super) fn create(folder: &Path, name: &str) -> Result<Self> {
        let database = folder.join(name);
        ensure_created(&database).map_err(Error::io(&database))?;
        let sibling = |suffix: &str| {
            let mut path = database.as_os_str().to_owned();
            path.push(suffix);
            PathBuf::from(path)
        };
        let files = Self {
            log: sibling("-wal"),
            index: sibling("-shm"),
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
                // A database that is not open has no log.
                Err(source) if source.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(Error::io(path)(source)),
            }
        }
        Ok(())
    }

    /// Returns the path of the database file.
    pub(super) fn path(&self) -> &Path {
        &self.database
    }

    /// Returns the number of bytes on disk of the database file and its log.
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
        let identity = |path: &Path| FileIdentity::of(path).map_err(Error::io(path));
        OpenFiles {
            // Opened for writing, since some systems sync only writable files.
            log: OpenOptions::new()
                .read(true)
                .write(true)
                .open(&self.log)
                .map_err(Error::io(&self.log))?,
            identities: [
                identity(&self.database)?,
                identity(&self.log)?,
                identity(&self.index)?,
            ],
            seen: Mutex::new(None),
            is_closed: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            files: self,
        }
        .with_log_as_found()
    }

    /// Examines the log for damage that SQLite would not report. Called before SQLite reads the log.
    ///
    /// # Errors
    /// The log cannot be read, or its header is damaged, so that SQLite would read nothing in it.
    pub(super) fn examine_log(&self) -> Result<()> {
        // The last process to close a database deletes its log.
        let open = || optional(File::open(&self.log));
        match log_file::examine(open).map_err(Error::io(&self.log))? {
            LogState::Whole => Ok(()),
            LogState::NoHeader => Err(Error::DamagedLog {
                path: self.log.clone(),
            }),
            LogState::Broken { frame } => {
                let path = self.log.display();
                tracing::error!(%path, frame, "a frame of the log is damaged; what was written after it is lost");
                Ok(())
            }
        }
    }
}

/// The header and length of the log when it was last read.
#[derive(Clone, Copy, Debug)]
struct SeenLog {
    header: Header,
    bytes: u64,
}

/// The files of a database that a connection of this process has open.
#[derive(Debug)]
pub(super) struct OpenFiles {
    files: DatabaseFiles,
    identities: [FileIdentity; 3],
    log: File,
    seen: Mutex<Option<SeenLog>>,
    is_closed: AtomicBool,
    is_lost: AtomicBool,
}

impl OpenFiles {
    /// Returns the paths of the files.
    pub(super) fn paths(&self) -> &DatabaseFiles {
        &self.files
    }

    /// Verifies that the files are still the ones at their paths. Costs three `stat` calls, some microseconds.
    ///
    /// # Errors
    /// A file was replaced, deleted or cut short, or can no longer be examined; the error names it.
    pub(super) fn check(&self) -> std::result::Result<(), ReplacedFile> {
        let paths = [&self.files.database, &self.files.log, &self.files.index];
        let displaced = paths
            .into_iter()
            .zip(&self.identities)
            .find(|(path, identity)| {
                !FileIdentity::of(path).is_ok_and(|found| found == **identity)
            });
        match displaced {
            // The last connection to close deletes the log itself, once all of it is in the database file.
            Some(_) if self.is_closed.load(Ordering::Acquire) => Ok(()),
            Some((path, _)) => Err(self.lost(path)),
            None if self.is_log_cut() => Err(self.lost(&self.files.log)),
            None => Ok(()),
        }
    }

    fn lost(&self, path: &Path) -> ReplacedFile {
        self.is_lost.store(true, Ordering::Release);
        ReplacedFile {
            path: path.to_owned(),
        }
    }

    /// Returns whether another program has cut the log short in place: it lost a part of its current run, or its
    /// header. SQLite itself only empties the log completely, and starts it with a header.
    fn is_log_cut(&self) -> bool {
        let mut seen = self.seen.lock();
        // A header may be read while it is being written.
        for _ in 0..HEADER_READS {
            // If the log cannot be read, SQLite reports it.
            let Ok(now) = self.read_log() else {
                return false;
            };
            let is_whole = match (&now, &*seen) {
                (None, _) => true,
                (Some(now), Some(seen)) if now.header == seen.header => now.bytes >= seen.bytes,
                (Some(now), Some(seen))
                    if log_file::run(&now.header) == log_file::run(&seen.header) =>
                {
                    false
                }
                (Some(now), _) => log_file::is_whole(&now.header),
            };
            if is_whole {
                *seen = now;
                return false;
            }
            std::thread::sleep(HEADER_PAUSE);
        }
        true
    }

    /// Reads the current header and length of the log; `None` if it has no complete header.
    fn read_log(&self) -> io::Result<Option<SeenLog>> {
        let bytes = self.log.metadata()?.len();
        let mut header = [0; log_file::HEADER_BYTES];
        if self.log.read_at(&mut header, 0)? == header.len() {
            Ok(Some(SeenLog { header, bytes }))
        } else {
            Ok(None)
        }
    }

    /// Remembers the log as it is at opening. It may contain the rest of an earlier run, which SQLite does not read.
    fn with_log_as_found(self) -> Result<Self> {
        let found = self.read_log().map_err(Error::io(&self.files.log))?;
        *self.seen.lock() = found;
        Ok(self)
    }

    /// Returns whether the database file is still at its path and there is no log next to it.
    pub(super) fn only_log_is_gone(&self) -> bool {
        let [database, ..] = &self.identities;
        let is_in_place = FileIdentity::of(&self.files.database).is_ok_and(|it| it == *database);
        let log = std::fs::symlink_metadata(&self.files.log);
        is_in_place && log.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Returns whether a check has failed.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Syncs the log to disk.
    pub(super) fn sync_log(&self) -> io::Result<()> {
        self.log.sync_data()
    }

    /// Marks the files as closed. Called before the connection is closed.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }
}

/// Identity of the file at a path. As long as a file is open, no new file can have the same identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

/// Creates a file that only its owner can read, because it contains secrets or customers' data; SQLite's side files get
/// the same mode. The file must not exist. No connection to it may be open in this process when the result is dropped.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Creates a file in a folder and deletes it.
///
/// # Errors
/// The folder cannot be written, named with the reason.
pub(super) fn require_writable(folder: &Path) -> Result<()> {
    let path = folder.join(TRIAL_FILE);
    File::create(&path)
        .and_then(|_| std::fs::remove_file(&path))
        .map_err(Error::io(folder))
}

/// Reads a file that does not belong to the store: a block of rows from a publication.
pub(super) fn read_block(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(Error::io(path))
}

/// Creates a database file unless it exists. An existing file is not opened.
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

fn has_other_names(path: &Path) -> io::Result<bool> {
    Ok(std::fs::metadata(path)?.nlink() > 1)
}

fn warn_if_readable(path: &Path) -> io::Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & OTHERS_MODE != 0 {
        let path = path.display();
        tracing::warn!(%path, "holds secrets, and users other than its owner can open it; chmod 600 it");
    }
    Ok(())
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
