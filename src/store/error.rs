//! Why operations of the store fail.

use std::path::PathBuf;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite reported an error.
    #[error("store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file or its folder cannot be created.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file was written by a newer version of this program.
    #[error("store: made by a newer version (schema {found}, this version knows {known})")]
    Newer {
        /// Schema version of the file.
        found: usize,
        /// Latest schema version known here.
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
    /// The maximum number of writes is already waiting.
    #[error("store: too many writes are waiting; retry shortly")]
    Overloaded,
    /// The writer thread has ended.
    #[error("store: closed")]
    Closed,
    /// A stored secret has the wrong length.
    #[error("store: secret {0} is damaged")]
    DamagedSecret(String),
}

/// Result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;
