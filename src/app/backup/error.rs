//! What taking and restoring backups can be refused for.

use std::io;
use std::path::{Path, PathBuf};

use toise_lake as lake;
use toise_store as store;

/// Why there is no backup, or no data folder from one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A table refused.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// There is nothing to back up.
    #[error("{}: no data here: neither a store nor tables", .0.display())]
    NoData(PathBuf),
    /// Backups are never overwritten.
    #[error("{}: is there already; name another place or remove it", .0.display())]
    Exists(PathBuf),
    /// Data folders are never overwritten.
    #[error("{}: is not empty; restore into a new folder with --data DIR", .0.display())]
    NotEmpty(PathBuf),
    /// Another backup of the same folder is running.
    #[error("{}: another backup is running; wait for it to end", .0.display())]
    Busy(PathBuf),
    /// Tables or models were published faster than their files could be linked.
    #[error("{}: changes too fast to be copied; try again when imports and trainings pause", .0.display())]
    Unsettled(PathBuf),
    /// What names the estimator's model in use cannot be read.
    #[error("{}: names no model: {reason}; train again: toise train", path.display())]
    NamesNoModel {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Not something `toise backup` made.
    #[error("{}: not a backup that can be restored: {reason}", path.display())]
    NotABackup {
        /// What was given.
        path: PathBuf,
        /// Why it is none.
        reason: String,
    },
    /// A file is not what the manifest or its snapshot says it is.
    #[error("{}: damaged: {reason}; use another backup", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// An input or output error at a path.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    }
}
