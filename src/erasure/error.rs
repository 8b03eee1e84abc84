//! The error of an erasure.

use std::io;
use std::path::{Path, PathBuf};

/// An error of an erasure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process or call is erasing.
    #[error("{path}: another erasure is running; retry when it has ended", path = .0.display())]
    Busy(PathBuf),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file of the list cannot be used; the text says why.
    #[error("{path}: {reason}")]
    List {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] toise_store::Error),
    /// The listings cannot be read or written.
    #[error(transparent)]
    Listings(#[from] toise_listings::Error),
    /// A record in the store cannot be written.
    #[error(transparent)]
    Document(#[from] toise_store::document::Error),
    /// A table cannot be read or rewritten.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// A table of listings cannot be brought up to date.
    #[error(transparent)]
    Projection(#[from] toise_listings::search::projection::Error),
    /// The text index cannot be rebuilt.
    #[error(transparent)]
    Texts(#[from] toise_listings::search::texts::Error),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Error {
    /// Returns a function that adds a path to an I/O error.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Result of an erasure.
pub type Result<T> = std::result::Result<T, Error>;
