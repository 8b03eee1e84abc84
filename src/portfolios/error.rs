//! Errors of calls about portfolios.

use std::io;

use toise_contract::Fault;
use toise_store as store;

/// The reason why a call about portfolios failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The account has no portfolio of this name.
    #[error("no such portfolio")]
    NotFound,
    /// The name, an option or the file is not valid.
    #[error(transparent)]
    Refused(#[from] Fault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A file cannot be read or written.
    #[error("portfolios: {0}")]
    Io(#[from] io::Error),
    /// A Parquet file cannot be read or written.
    #[error("portfolios: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Rows cannot be converted.
    #[error("portfolios: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Rows cannot be converted.
    #[error("portfolios: {0}")]
    Json(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("portfolios: {0}")]
    File(#[from] toise_opendata::portfolio::Error),
    /// A table cannot be read.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// A notification cannot be stored.
    #[error(transparent)]
    Document(#[from] store::document::Error),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
