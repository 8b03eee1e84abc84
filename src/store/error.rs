//! The error types of the store.

use std::path::PathBuf;

use rusqlite::{ErrorCode, ffi};

/// SQLite's extended codes of failed writes.
const FAILED_WRITES: [i32; 5] = [
    ffi::SQLITE_IOERR_WRITE,
    ffi::SQLITE_IOERR_FSYNC,
    ffi::SQLITE_IOERR_TRUNCATE,
    ffi::SQLITE_IOERR_SHMSIZE,
    ffi::SQLITE_IOERR_DIR_FSYNC,
];

/// An error of a store operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite reported an error.
    #[error("store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A file or its folder cannot be created or opened.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file of a database has a second name, through which another process could write it.
    #[error(
        "{path} is hard-linked from another place, as after `cp -al`: two programs that write one file under two names \
         destroy it. If no program has the database open, give this folder separate files: for f in {database}*; do \
         cp -p \"$f\" \"$f.own\" && mv \"$f.own\" \"$f\"; done"
    )]
    Linked {
        /// The file.
        path: PathBuf,
        /// The database that it belongs to.
        database: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error("store: made by a newer version (schema {found}, this version knows {known})")]
    Newer {
        /// Schema version of the file.
        found: usize,
        /// Latest schema version that this program knows.
        known: usize,
    },
    /// A copy fails SQLite's integrity check.
    #[error("{path}: damaged copy: {reason}; the store itself may be damaged")]
    DamagedCopy {
        /// The copy.
        path: PathBuf,
        /// SQLite's report.
        reason: String,
    },
    /// A file is not a block of rows of a table that this version knows.
    #[error("{path}: contains no rows that this version can read", path = .0.display())]
    NotABlock(PathBuf),
    /// Another process, or another part of this one, has the file open.
    #[error(
        "{path} is in use; stop the server and every other program that has it open, then retry"
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The commit that contained this write failed.
    #[error("store: commit failed: {0}")]
    Commit(String),
    /// A file was replaced, deleted or cut short while it was in use. No further write is acknowledged.
    #[error("store: {0}")]
    Replaced(#[from] ReplacedFile),
    /// The checksum of a log's header is wrong, so SQLite would ignore the whole log.
    #[error(
        "{path} is damaged: its contents were acknowledged and may not be in the database yet. Restore a backup, or \
         move the log away to continue without it"
    )]
    DamagedLog {
        /// The path of the log.
        path: PathBuf,
    },
    /// One of the two files exists, and the other is empty or missing.
    #[error(
        "{path} is {found}, though {other} holds calls or keys: restore a backup, or move {other} away, too, to start \
         over"
    )]
    Emptied {
        /// The path of the file.
        path: PathBuf,
        /// `empty` or `missing`.
        found: &'static str,
        /// The other file.
        other: PathBuf,
    },
    /// Another process has taken over the lease with this name.
    #[error("store: another process has taken over the lease {0:?}")]
    LeaseLost(&'static str),
    /// The maximum number of writes is already waiting.
    #[error("store: too many writes are waiting; retry shortly")]
    Overloaded,
    /// A reader keeps the write-ahead log from being emptied, so the log still contains deleted values.
    #[error(
        "store: a reader, such as a backup, keeps the write-ahead log in use; retry when it has ended"
    )]
    LogInUse,
    /// The writer thread has ended.
    #[error("store: closed")]
    Closed,
    /// The master key is missing, unusable or another store's; the text says which.
    #[error("master key: {0}")]
    MasterKey(String),
    /// A stored secret has the wrong length.
    #[error("store: secret {0} is damaged")]
    DamagedSecret(String),
}

impl Error {
    /// Returns a function that makes the error of a path that cannot be created, opened, read or written.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            path: path.into(),
            source,
        }
    }

    /// Returns whether a change failed and was undone because the files cannot be written for now: the disk is full,
    /// read-only or broken, or another process kept the file locked.
    pub fn is_unwritable(&self) -> bool {
        match self {
            Error::Commit(_) => true,
            Error::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => {
                matches!(error.code, ErrorCode::DiskFull | ErrorCode::ReadOnly)
                    || FAILED_WRITES.contains(&error.extended_code)
            }
            _ => false,
        }
    }
}

/// A file of the store that is no longer the one this process opened. It is the innermost source of every error it
/// causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path} was replaced, deleted or cut short while it was in use; restart to use what is there now"
)]
pub struct ReplacedFile {
    /// The path.
    pub path: PathBuf,
}

/// The reason why the changes of one commit are not acknowledged; it is returned to each of their callers.
#[derive(Debug)]
pub(super) enum Unacknowledged {
    /// The commit or the flush failed.
    Failed(String),
    /// The changes are not in the file that other processes see.
    Replaced(ReplacedFile),
}

impl Unacknowledged {
    /// Returns the error for one of the callers.
    pub(super) fn to_error(&self) -> Error {
        match self {
            Unacknowledged::Failed(reason) => Error::Commit(reason.clone()),
            Unacknowledged::Replaced(file) => Error::Replaced(file.clone()),
        }
    }
}

impl From<ReplacedFile> for Unacknowledged {
    fn from(file: ReplacedFile) -> Self {
        Unacknowledged::Replaced(file)
    }
}

impl From<rusqlite::Error> for Unacknowledged {
    fn from(error: rusqlite::Error) -> Self {
        Unacknowledged::Failed(error.to_string())
    }
}

impl From<std::io::Error> for Unacknowledged {
    fn from(error: std::io::Error) -> Self {
        Unacknowledged::Failed(error.to_string())
    }
}

/// Result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;
