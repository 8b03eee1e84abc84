//! Errors of opening a file.

use std::io;

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The source is not a table, or cannot be unpacked; the message says what it is and what to do.
    #[error("{0}")]
    Refused(String),
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            Error::Refused(reason) => Self::new(io::ErrorKind::InvalidData, reason),
        }
    }
}

/// Returns the error of a spreadsheet that cannot be read.
pub(crate) fn damaged(error: impl std::fmt::Display) -> Error {
    Error::Refused(format!("damaged spreadsheet: {error}"))
}
