//! Errors of commands and queries that run on several machines.

use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of commands and queries that run on several machines.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of a worker, or an address to listen on, is refused.
    #[error("{address}: {reason}")]
    Address {
        /// The address.
        address: String,
        /// Why it is refused.
        reason: String,
    },
    /// Certificates, keys or the token cannot be used.
    #[error("{0}")]
    Credentials(String),
    /// A worker refuses to work for this command.
    #[error("the worker {worker} refuses: {reason}")]
    Refused {
        /// Its address; on the worker itself, the identifier of its process.
        worker: String,
        /// Why it refuses.
        reason: String,
    },
    /// No worker is left.
    #[error("{0}")]
    NoWorkers(String),
    /// A part cannot be answered by any worker.
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
    /// An object store cannot be opened, read or written.
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
    /// A message is malformed.
    #[error("a message between machines is malformed: {0}")]
    Message(#[from] serde_json::Error),
    /// A query failed with an error that it would also have on this machine alone.
    #[error("{0}")]
    Query(String),
}

impl Error {
    /// Creates the error of an address that is refused.
    pub(crate) fn address(address: &impl ToString, reason: impl Into<String>) -> Self {
        Self::Address {
            address: address.to_string(),
            reason: reason.into(),
        }
    }

    /// Returns a function that creates the error of a file.
    pub(crate) fn io(path: &std::path::Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
