//! The lake: large tables that are read by column, as immutable Parquet files in one folder per table.
//!
//! A table is a folder and a snapshot ([`snapshot`]) that names its current data files ([`part`]). An import
//! ([`import`]) collects rows, sorts them by clustering key ([`cluster`]), drops those that already exist, and
//! publishes new files ([mod@write]) atomically by replacing the snapshot. Each import creates a sorted run; [`import`]
//! merges runs of similar size ([`merge`]) so that their number stays logarithmic. Every byte of a file is covered by a
//! checksum ([`sums`]) and verified when it is read ([`checked`]); [`check`] verifies all of them.

pub mod check;
pub mod checked;
pub mod cluster;
pub mod ids;
pub mod import;
pub mod merge;
pub mod part;
mod rewrite;
pub mod schema;
pub mod snapshot;
mod sort;
pub mod sums;
pub mod write;

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};

use schema::TableSchema;
use toise_base::clock::Clock;

/// Errors of the lake.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file or folder.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A file does not match its snapshot or its checksums.
    #[error(
        "{path}: damaged: {reason}; restore it from a backup, import the table again, or rebuild \
         properties and adverts with `toise compact --rebuild`"
    )]
    Damaged {
        /// Path of the file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process is importing into the table.
    #[error("{path}: another import is running on this table; wait until it ends")]
    Busy {
        /// Path of the lock file.
        path: String,
    },
    /// The lake was written by another version of toise.
    #[error(
        "{path}: written by {} version (format {found}, this one reads {known}); {}",
        if found > known { "a newer" } else { "an older" },
        if found > known { "use that version" } else { "delete the table's folder and import it again" }
    )]
    OtherFormat {
        /// Path of the snapshot.
        path: String,
        /// Format number found.
        found: u32,
        /// Format number this version reads and writes.
        known: u32,
    },
    /// Arrow reported an error.
    #[error("columns: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Parquet reported an error.
    #[error("parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A worker thread of an import ended early.
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

    /// Creates an error for a damaged file.
    pub fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}

/// Receives rows that go into a table.
pub trait RowSink {
    /// Adds a batch in the table's Arrow schema ([`schema::TableSchema::arrow`]), with any number of rows.
    fn push(&mut self, batch: RecordBatch) -> Result<(), Error>;
}

/// Provenance of rows; stored in the snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Address or file name.
    pub name: String,
    /// Official edition, if the file is one (`2026-04`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// BLAKE3 of the bytes read, hexadecimal.
    pub checksum: String,
    /// Licence of the data.
    pub licence: String,
    /// When it was read, ISO 8601.
    pub read_at: String,
    /// Bytes read.
    pub bytes: u64,
}

/// A section of a table that an official edition covers completely.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slice {
    /// Department code, or commune code (five characters).
    pub place: String,
    /// Year of the table's date column.
    pub year: i32,
}

/// What an import changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportOutcome {
    /// Rows whose id was new.
    pub added: u64,
    /// Rows that replaced one with the same id.
    pub replaced: u64,
    /// Rows equal to the existing one, or older.
    pub unchanged: u64,
    /// Rows that lost to another row of the same import with the same id.
    pub duplicates: u64,
    /// Rows removed because an edition covers their slice and no longer contains them, or because they were removed by
    /// id.
    pub removed: u64,
    /// Rows in the table afterwards.
    pub total: u64,
}

/// The folder of all tables.
#[derive(Clone, Debug)]
pub struct Lake {
    root: PathBuf,
    clock: Clock,
}

impl Lake {
    /// Opens the lake in a data folder (`<data>/lake`), creating the folder if it is missing.
    pub fn open(data: &Path) -> Result<Self, Error> {
        Self::open_with_clock(data, Clock::system())
    }

    /// Opens the lake with a given clock.
    pub fn open_with_clock(data: &Path, clock: Clock) -> Result<Self, Error> {
        let root = data.join("lake");
        fs::create_dir_all(&root).map_err(|source| Error::io(&root, source))?;
        Ok(Self { root, clock })
    }

    /// Opens the lake in a data folder; an error if there is none.
    pub fn open_existing(data: &Path) -> Result<Self, Error> {
        let root = data.join("lake");
        fs::metadata(&root).map_err(|source| Error::io(&root, source))?;
        Ok(Self {
            root,
            clock: Clock::system(),
        })
    }

    /// Folder of a table.
    pub fn folder(&self, schema: &TableSchema) -> PathBuf {
        self.root.join(schema.name)
    }

    /// Starts an import into a table. A table has at most one import at a time, across processes.
    pub fn import(&self, schema: &'static TableSchema) -> Result<import::Import, Error> {
        import::Import::start(&self.folder(schema), schema, self.clock.clone())
    }

    /// Starts an import whose rows replace the whole content of a table, which may be damaged. The table stays
    /// unchanged until the import is published.
    pub fn import_anew(&self, schema: &'static TableSchema) -> Result<import::Import, Error> {
        import::Import::start_anew(&self.folder(schema), schema, self.clock.clone())
    }

    /// The table's current snapshot; an empty one if nothing was imported yet.
    pub fn snapshot(&self, schema: &TableSchema) -> Result<snapshot::Snapshot, Error> {
        snapshot::Snapshot::load(&self.folder(schema))
    }

    /// Merges all sorted runs of a table into one. Returns the rows written, 0 if there is at most one run. Readers
    /// continue with the snapshot they hold. Needs free disk space of the size of the table; `progress` is called with
    /// the number of rows written.
    pub fn compact(
        &self,
        schema: &'static TableSchema,
        progress: &dyn Fn(u64),
    ) -> Result<u64, Error> {
        import::compact(&self.folder(schema), schema, self.clock.clone(), progress)
    }

    /// Opens the current snapshot of a table for checking. Damage is part of the result, never an error.
    pub fn check(&self, schema: &TableSchema) -> check::TableReading {
        check::TableReading::open(&self.folder(schema), schema)
    }
}
