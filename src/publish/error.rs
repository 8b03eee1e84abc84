//! The error type of publications, garbage collections and replicas.

use std::io;
use std::path::{Path, PathBuf};

use toise_base::staging::StagingError;

/// Result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a publication, a garbage collection or a replica.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL names no object store, or its settings are wrong.
    #[error("{url}: {reason}")]
    Url {
        /// The URL.
        url: String,
        /// The fault, for the message.
        reason: String,
    },
    /// The object store refused a request, or kept failing.
    #[error("{path}: {source}")]
    Remote {
        /// Path of the object.
        path: String,
        /// The error of the last attempt.
        source: object_store::Error,
    },
    /// The object store answered none of the attempts.
    #[error("{path}: no answer within {seconds} s")]
    TimedOut {
        /// Path of the object.
        path: String,
        /// How long an attempt waited, in seconds.
        seconds: u64,
    },
    /// Nothing was published at the URL.
    #[error("{0}: nothing is published there; publish with `toise publish`")]
    NothingPublished(String),
    /// An object that a manifest names does not exist.
    #[error("{name}: its object {path} is missing")]
    Missing {
        /// Description of the object: path in the data folder, or block of rows.
        name: String,
        /// Path of the object.
        path: String,
    },
    /// The bytes of an object differ from those that a manifest names.
    #[error("{name}: its object {path} is corrupt: {reason}")]
    Corrupt {
        /// Description of the object: path in the data folder, or block of rows.
        name: String,
        /// Path of the object.
        path: String,
        /// The fault, for the message.
        reason: String,
    },
    /// A manifest or the pointer cannot be used.
    #[error("{path}: {reason}")]
    Unreadable {
        /// Path of the object or file.
        path: String,
        /// The fault, for the message.
        reason: String,
    },
    /// Another publisher was faster.
    #[error(
        "snapshot {number} was published by {publisher} at {created_at} in the meantime; nothing was changed, publish again"
    )]
    Overtaken {
        /// Number of the snapshot that is current now.
        number: u64,
        /// Who published it.
        publisher: String,
        /// When it was taken, ISO 8601.
        created_at: String,
    },
    /// Too many snapshot numbers are taken by publications that never ended.
    #[error("no free number for a snapshot after {number}; run `toise gc`")]
    NoFreeNumber {
        /// Number of the current snapshot.
        number: u64,
    },
    /// Another publication of the same data folder is running.
    #[error("{}: another publication is running; wait until it ends", .0.display())]
    Busy(PathBuf),
    /// The replica is already running.
    #[error("{}: another process is this replica; choose another --data folder", .0.display())]
    ReplicaRuns(PathBuf),
    /// A folder with its own data cannot become a replica.
    #[error("{}: holds data that did not come from a publication; a replica needs a separate --data folder", .0.display())]
    OwnData(PathBuf),
    /// There is nothing to publish.
    #[error("{}: no data found: neither a store nor tables", .0.display())]
    NoData(PathBuf),
    /// Tables, indexes or models were replaced faster than their files could be captured.
    #[error("{}: modified repeatedly during the publication; it is repeated later", .0.display())]
    Unsettled(PathBuf),
    /// A file does not hold the expected bytes.
    #[error("{}: damaged: {reason}; nothing was published", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The fault, for the message.
        reason: String,
    },
    /// The rows come from another version.
    #[error(
        "the store was published by another version of toise (schema {found}, this version has {known}): install the version of the writer"
    )]
    OtherVersion {
        /// Version of the published rows.
        found: usize,
        /// Version of the rows here.
        known: usize,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A table cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] toise_store::Error),
}

impl Error {
    /// Creates an input or output error at a path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
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
