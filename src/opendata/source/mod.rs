//! Reading what official sources and spreadsheets publish, whatever the container: one stream of [`Block`]s of text
//! cells under named columns.
//!
//! CSV and its cousins, gzip, NDJSON, data-fair pages and Parquet all end up here; what the columns mean is the
//! business of [`super::dvf`] and [`super::dpe`]. A file that is not what it says ends with ONE [`Error`] naming file,
//! line and column; rows that cannot be used are a matter of the report instead.

pub mod block;
pub mod cell;
mod delimited;
pub mod files;
mod json;
mod open;
mod parquet;

use std::fmt;

pub use block::{Block, Header};
pub(super) use delimited::delimiter_of;
pub use open::{BlockReader, Format, Meter, open};

/// Where in a source something is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// File name or address.
    pub file: String,
    /// Line, from 1; rows of Parquet and JSON pages count as lines.
    pub line: Option<u64>,
    /// Column name.
    pub column: Option<String>,
}

impl Place {
    /// A whole file.
    pub fn file(file: &str) -> Self {
        Self {
            file: file.into(),
            ..Self::default()
        }
    }

    /// A line of a file.
    pub fn line(file: &str, line: u64) -> Self {
        Self {
            file: file.into(),
            line: Some(line),
            column: None,
        }
    }

    /// The same place, in a column.
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(out, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(out, ", column \"{column}\"")?;
        }
        Ok(())
    }
}

/// Why a source cannot be imported at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to open or read.
    #[error("{place}: {source}")]
    Io {
        /// Where.
        place: Place,
        /// Why.
        source: std::io::Error,
    },
    /// The content is not what its container says, or is cut short.
    #[error("{place}: {reason}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// The header lacks a column without which no row can be read.
    #[error("{place}: the column is missing; the header has {found}")]
    MissingColumn {
        /// Where; the column is the one missing.
        place: Place,
        /// The columns there are, shortened.
        found: String,
    },
    /// A mutation's rows are not together in the file; reading it again with grouping in memory helps.
    #[error(
        "{place}: mutation {mutation} appears again after other mutations; group the file in memory"
    )]
    Scattered {
        /// Where the mutation came back.
        place: Place,
        /// Its number.
        mutation: String,
    },
    /// The table refused the rows.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
}

impl Error {
    /// A malformed source.
    pub fn malformed(place: Place, reason: impl Into<String>) -> Self {
        Self::Malformed {
            place,
            reason: reason.into(),
        }
    }

    /// A read failure; an early end is said in words a person can act on.
    pub(crate) fn reading(place: Place, source: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match source.kind() {
            ErrorKind::UnexpectedEof => {
                Self::malformed(place, "the compressed data ends early: truncated file?")
            }
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                Self::malformed(place, format!("damaged data: {source}"))
            }
            _ => Self::Io { place, source },
        }
    }
}
