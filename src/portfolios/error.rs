//! Errors of calls about portfolios.

use std::io::{self, ErrorKind};

use parquet::errors::ParquetError;

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
    Parquet(#[from] ParquetError),
    /// Rows cannot be converted.
    #[error("portfolios: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Rows cannot be converted.
    #[error("portfolios: {0}")]
    Json(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("portfolios: {0}")]
    File(#[from] toise_opendata::portfolio::Error),
    /// The file of the last valuation is damaged or missing.
    #[error("portfolios: the file of the last valuation: {0}")]
    DamagedValues(String),
    /// A table cannot be read.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// A notification cannot be stored.
    #[error(transparent)]
    Document(#[from] store::document::Error),
}

impl Error {
    /// Turns an error of reading the file of a valuation into [`Self::DamagedValues`], unless the disk failed.
    pub(super) fn of_values(self) -> Self {
        let is_short = |error: &io::Error| error.kind() == ErrorKind::UnexpectedEof;
        let is_damage = match &self {
            Self::Io(error) => is_short(error),
            Self::Parquet(ParquetError::External(cause)) => {
                cause.downcast_ref::<io::Error>().is_none_or(is_short)
            }
            Self::Parquet(_) | Self::Arrow(_) | Self::Json(_) => true,
            _ => false,
        };
        if is_damage {
            Self::DamagedValues(self.to_string())
        } else {
            self
        }
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
