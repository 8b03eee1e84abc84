//! The error type of the lake.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::io::Errno;

/// An error of the lake.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is not what the snapshot says it is.
    #[error(
        "{path}: damaged: {reason}; restore it from a backup; or delete its folder and import the table again; or \
         rebuild properties and adverts: toise compact --rebuild"
    )]
    Damaged {
        /// The file.
        path: String,
        /// The fault, for the message.
        reason: String,
    },
    /// A table was described with a column that it does not have.
    #[error("{table}: the table has no column \"{column}\"")]
    UnknownColumn {
        /// Name of the table.
        table: &'static str,
        /// Name of the missing column.
        column: String,
    },
    /// Another process is importing into the table.
    #[error("{path}: another import is running on this table; wait for it to end")]
    Busy {
        /// The lock that is held.
        path: String,
    },
    /// The lake was written by another version of toise.
    #[error(
        "{path}: written by {} version (format {found}, this one reads {known}); {}",
        if found > known { "a newer" } else { "an older" },
        if found > known { "use that version" } else { "delete the table's folder and import it again" }
    )]
    OtherFormat {
        /// The snapshot.
        path: String,
        /// Format number found.
        found: u32,
        /// Format number this version reads and writes.
        known: u32,
    },
    /// The requested version of a table is not kept.
    #[error(
        "{table}: no version {version}; {}",
        if known.is_empty() { "nothing was imported yet".to_owned() } else { format!("kept: {known} (lake.keep_versions)") }
    )]
    UnknownVersion {
        /// Name of the table.
        table: &'static str,
        /// The requested version.
        version: u64,
        /// The versions that are kept, separated by commas.
        known: String,
    },
    /// An edition lacks most rows of one of its slices, and the import refuses that.
    #[error(
        "the new edition has at most {after} of the {before} rows of {slice}; nothing was changed"
    )]
    Shrunk {
        /// Department or commune, and year.
        slice: String,
        /// Rows that the table has of it.
        before: u64,
        /// Maximum rows of the edition.
        after: u64,
    },
    /// Arrow refused an operation.
    #[error("columns: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Parquet refused an operation.
    #[error("parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A worker of an import stopped early.
    #[error("an import worker stopped: {0}")]
    Worker(&'static str),
}

impl Error {
    /// Creates an input or output error at a path.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.display().to_string(),
            source,
        }
    }

    /// Returns the file that is damaged, missing or unreadable, if one is.
    pub fn damaged_file(&self) -> Option<&str> {
        match self {
            Self::Damaged { path, .. } => Some(path),
            Self::Io { path, source } if is_damage(source) => Some(path),
            _ => None,
        }
    }

    /// Creates the error for a damaged file.
    pub fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}

/// Returns whether an error is due to the file or its disk, and not to rights or to a lack of resources.
fn is_damage(error: &io::Error) -> bool {
    use ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | IsADirectory | NotADirectory)
        || error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_or_cannot_be_read_is_damaged() {
        let path = Path::new("000001-0000.sums");
        for (errno, is_damaged) in [
            (Errno::NOENT, true),
            (Errno::ISDIR, true),
            (Errno::IO, true),
            (Errno::ACCESS, false),
            (Errno::MFILE, false),
        ] {
            let error = Error::io(path, errno.into());
            let expected = is_damaged.then_some("000001-0000.sums");
            assert_eq!(error.damaged_file(), expected, "{error}");
        }
    }
}
