//! Inputs and outputs of a table import.

use std::fmt;
use std::path::Path;

use arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::stored_rows::StoredRows;

/// A receiver of the rows of an import.
pub trait RowSink {
    /// Takes a batch in the table's Arrow schema ([`super::schema::TableSchema::arrow`]), any number of rows.
    fn push(&mut self, batch: RecordBatch) -> Result<(), Error>;

    /// Returns a folder for scratch files of the import, on the disk of the table; `None`, the default, if there is
    /// none.
    fn scratch_folder(&self) -> Option<&Path> {
        None
    }

    /// Returns the rows that the table holds before the import, for sources that have only a part of a row; `None`, the
    /// default, if there is no table behind the sink.
    ///
    /// # Errors
    /// The table cannot be read.
    fn stored_rows(&self) -> Result<Option<StoredRows>, Error> {
        Ok(None)
    }
}

/// A part of a table that an official edition covers completely.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slice {
    /// Department code, or commune code (five characters).
    pub place: String,
    /// Year of the table's date column; `None` for every row of the area, regardless of its date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<i32>,
}

impl fmt::Display for Slice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.year {
            Some(year) => write!(formatter, "{} {year}", self.place),
            None => formatter.write_str(&self.place),
        }
    }
}

/// Counts of the rows that an import changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportOutcome {
    /// Rows whose id was new.
    pub added: u64,
    /// Rows that replaced one with the same id.
    pub replaced: u64,
    /// Rows equal to, or older than, the existing one.
    pub unchanged: u64,
    /// Rows of this import that were dropped in favour of another of its rows with the same id.
    pub duplicates: u64,
    /// Rows removed: by identifier, or because an edition covers their slice and no longer contains them.
    pub removed: u64,
    /// Rows in the table afterwards.
    pub total: u64,
}

impl ImportOutcome {
    /// Adds the counts of a later publication of the same import.
    pub fn add(&mut self, later: &ImportOutcome) {
        self.added += later.added;
        self.replaced += later.replaced;
        self.unchanged += later.unchanged;
        self.duplicates += later.duplicates;
        self.removed += later.removed;
        self.total = later.total;
    }
}
