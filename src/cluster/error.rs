//! Why work on several machines failed.

use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why work on several machines failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address of a worker, or an address to listen on, that is refused.
    #[error("{address}: {reason}")]
    Address {
        /// The address.
        address: String,
        /// Why.
        reason: String,
    },
    /// Certificates or keys that cannot be used.
    #[error("{0}")]
    Credentials(String),
    /// A worker refuses to work for this command.
    #[error("the worker {worker} refuses: {reason}")]
    Refused {
        /// Its address.
        worker: String,
        /// Why.
        reason: String,
    },
    /// No worker is left.
    #[error("{0}")]
    NoWorkers(String),
    /// A worker cannot answer a part, and another could not either.
    #[error("{0}")]
    Part(String),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An object store cannot be read or written.
    #[error("{place}: {source}")]
    Store {
        /// The object.
        place: String,
        /// The cause.
        source: object_store::Error,
    },
    /// The URL of an object store.
    #[error(transparent)]
    Publish(#[from] toise_publish::Error),
    /// The data folder cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// The tables cannot be read.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// Rows cannot be encoded.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// A message that is none.
    #[error("a message cannot be read: {0}")]
    Message(#[from] serde_json::Error),
    /// A query fails, as it would here alone.
    #[error("{0}")]
    Query(String),
}

impl Error {
    /// An error of a file.
    pub(crate) fn io(path: &std::path::Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
