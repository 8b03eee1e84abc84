//! Errors of taking and restoring backups.

use std::io;
use std::path::{Path, PathBuf};

use toise_base::staging::StagingError;
use toise_lake as lake;
use toise_store as store;

/// Why a backup or a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A table could not be read.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// There is nothing to back up.
    #[error("{}: no data found: neither a store nor tables", .0.display())]
    NoData(PathBuf),
    /// A file that the others need is missing.
    #[error("{}: was there before but is missing now; restore it from another backup", .0.display())]
    Lost(PathBuf),
    /// A symbolic link in a folder that is copied.
    #[error("{}: a symbolic link, which backups do not follow; put the file itself there", .0.display())]
    Link(PathBuf),
    /// Backups are never overwritten.
    #[error("{}: already exists; choose another path or remove it", .0.display())]
    Exists(PathBuf),
    /// Data folders are never overwritten.
    #[error("{}: not empty; restore into a new folder with --data DIR", .0.display())]
    NotEmpty(PathBuf),
    /// Another backup of the same folder is running.
    #[error("{}: another backup is running; wait until it ends", .0.display())]
    Busy(PathBuf),
    /// Tables or models were published faster than their files could be linked.
    #[error("{}: modified repeatedly during the backup; retry when imports and training are idle", .0.display())]
    Unsettled(PathBuf),
    /// The file that names the estimator's current model cannot be read.
    #[error("{}: names no model: {reason}; train again with `toise train`", path.display())]
    NamesNoModel {
        /// Path of the file.
        path: PathBuf,
        /// The fault, for the message.
        reason: String,
    },
    /// The path is not a backup created by `toise backup`.
    #[error("{}: not a backup that can be restored: {reason}", path.display())]
    NotABackup {
        /// The path given.
        path: PathBuf,
        /// Why it is not a backup.
        reason: String,
    },
    /// A file does not match the manifest or its snapshot.
    #[error("{}: damaged: {reason}; use another backup", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The fault, for the message.
        reason: String,
    },
}

impl Error {
    /// Creates an input or output error at a path.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    }
}

impl From<StagingError> for Error {
    fn from(error: StagingError) -> Self {
        match error {
            StagingError::Busy(path) => Error::Busy(path),
            StagingError::Io { path, source } => Error::Io { path, source },
        }
    }
}
