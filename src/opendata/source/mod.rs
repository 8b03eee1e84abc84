//! Reads files of official sources and spreadsheets, in any supported container, as one stream of [`Block`]s of text
//! cells under named columns.
//!
//! CSV and similar formats, gzip, NDJSON, data-fair pages and Parquet are all read here; [`super::dvf`] and
//! [`super::dpe`] interpret the columns. A malformed file gives exactly one [`Error`], which names file, line and
//! column; unusable rows are counted in the report instead.

pub mod block;
pub mod cell;
mod columnar;
mod delimited;
pub mod files;
pub(crate) mod filiation;
pub mod geometry;
mod json;
mod open;

use std::fmt;

use toise_base::bounded::CUT_OFF;

pub use block::{Block, GeometryColumn, Header};
pub(crate) use open::refused;
pub use open::{BlockReader, ByteMeter, SourceFormat, open, read_header};

/// Declares the values that a row of a source may have: an enumeration of them, and the constant `FIELDS` with the
/// normalised names of the columns of each.
macro_rules! source_fields {
    ($(#[$about:meta])* $enum:ident: $names:ty { $($field:ident = $name:expr;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "named after the published columns listed in FIELDS")]
        pub enum $enum { $($field),+ }

        const FIELDS: [($enum, $names); [$(stringify!($field)),+].len()] =
            [$(($enum::$field, $name)),+];
    };
}
pub(crate) use source_fields;

/// A location in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLocation {
    /// File name or address.
    pub file: String,
    /// Line number, from 1; rows of Parquet and JSON pages count as lines.
    pub line: Option<u64>,
    /// Column name.
    pub column: Option<String>,
}

impl SourceLocation {
    /// Creates the location of a whole file.
    pub fn file(file: &str) -> Self {
        Self {
            file: file.into(),
            ..Self::default()
        }
    }

    /// Creates the location of a line of a file.
    pub fn line(file: &str, line: u64) -> Self {
        Self {
            file: file.into(),
            line: Some(line),
            column: None,
        }
    }

    /// Returns the same location with a column.
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}

impl fmt::Display for SourceLocation {
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

/// Why a source cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{place}: {source}")]
    Io {
        /// Location.
        place: SourceLocation,
        /// The cause.
        source: std::io::Error,
    },
    /// The content does not match its container, or is truncated.
    #[error("{place}: {reason}")]
    Malformed {
        /// Location.
        place: SourceLocation,
        /// The fault.
        reason: String,
    },
    /// The header lacks required columns.
    #[error("{place}: column missing{others}; the header has {found}")]
    MissingColumn {
        /// Location; its column is the first missing one.
        place: SourceLocation,
        /// Names the other missing columns; empty if there are none.
        others: String,
        /// The columns found, truncated, and what they look like.
        found: String,
    },
    /// The rows of a mutation are scattered in the file; reading it again with grouping on disk succeeds.
    #[error("{place}: a mutation appears again after other mutations; group the file on disk")]
    Scattered {
        /// Location where a completed mutation appears again.
        place: SourceLocation,
    },
    /// The table rejected the rows.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
}

impl Error {
    /// Returns a function that makes the error of a file that cannot be opened, read or written.
    pub(crate) fn io(file: &str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Io {
            place: SourceLocation::file(file),
            source,
        }
    }

    /// Returns the error for a header without the `missing` columns; nothing if there are none.
    pub(crate) fn check_missing(file: &str, missing: &[&str], header: &Header) -> Result<(), Self> {
        let Some((first, others)) = missing.split_first() else {
            return Ok(());
        };
        let others = match others {
            [] => String::new(),
            others => format!(", and {}", others.join(", ")),
        };
        let mut found = header.listed();
        if header.looks_like_row() {
            found.push_str("; it looks like a row: add a first line with the names of the columns");
        }
        Err(Self::MissingColumn {
            place: SourceLocation::line(file, 1).column(*first),
            others,
            found,
        })
    }

    /// Creates an error for a malformed source.
    pub fn malformed(place: SourceLocation, reason: impl Into<String>) -> Self {
        Self::Malformed {
            place,
            reason: reason.into(),
        }
    }

    /// Converts a read error; an unexpected end of the data gets a message that names the probable cause.
    pub(crate) fn reading(place: SourceLocation, source: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match source.kind() {
            ErrorKind::UnexpectedEof => Self::malformed(place, CUT_OFF),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                Self::malformed(place, format!("damaged data: {source}"))
            }
            _ => Self::Io { place, source },
        }
    }
}
