//! The lake: what is big and read in columns, as immutable Parquet files under one folder per table.
//!
//! A table is a folder and a snapshot ([`snapshot`]) that names its live files ([`part`]). An import ([`import`])
//! gathers rows, sorts them along the clustering order ([`cluster`]), drops what is already there, and publishes new
//! files ([mod@write]) by swapping the snapshot: all or nothing. Several imports make several sorted runs; [`import`]
//! merges runs of similar size ([`merge`]) so that their number stays logarithmic. Every byte of a file lies under a
//! checksum ([`sums`]) and is verified when it is read ([`checked`]); [`check`] verifies all of them.

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

/// What the lake can refuse.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what the snapshot says it is.
    #[error(
        "{path}: damaged: {reason}; restore it from a backup, import the table again, or make \
         properties and adverts anew: toise compact --rebuild"
    )]
    Damaged {
        /// Which file.
        path: String,
        /// What is wrong with it.
        reason: String,
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
    /// Arrow refused an operation.
    #[error("columns: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Parquet refused an operation.
    #[error("parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A worker of an import stopped before its time.
    #[error("an import worker stopped: {0}")]
    Worker(&'static str),
}

impl Error {
    /// An input or output error at a path.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.display().to_string(),
            source,
        }
    }

    /// A damaged file.
    pub fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}

/// Takes rows on their way into a table.
pub trait RowSink {
    /// Takes a batch in the table's Arrow schema ([`schema::TableSchema::arrow`]), any number of rows.
    fn push(&mut self, batch: RecordBatch) -> Result<(), Error>;
}

/// Where rows came from; kept in the snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Address or file name.
    pub name: String,
    /// Official edition, when the file is one (`2026-04`).
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

/// A part of a table that an official edition covers whole.
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
    /// Rows that took the place of one with the same id.
    pub replaced: u64,
    /// Rows equal to, or older than, the one already there.
    pub unchanged: u64,
    /// Rows of this import that lost to another of the same id in it.
    pub duplicates: u64,
    /// Rows removed because an edition covers their slice and no longer names them.
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
    /// Opens the lake under a data folder (`<data>/lake`), making the folder if need be.
    pub fn open(data: &Path) -> Result<Self, Error> {
        Self::open_with_clock(data, Clock::system())
    }

    /// Opens the lake with a given clock.
    pub fn open_with_clock(data: &Path, clock: Clock) -> Result<Self, Error> {
        let root = data.join("lake");
        fs::create_dir_all(&root).map_err(|source| Error::io(&root, source))?;
        Ok(Self { root, clock })
    }

    /// Opens the lake under a data folder where there is one; makes nothing.
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

    /// Starts an import into a table; at most one runs on a table at a time, across processes.
    pub fn import(&self, schema: &'static TableSchema) -> Result<import::Import, Error> {
        import::Import::start(&self.folder(schema), schema, self.clock.clone())
    }

    /// Starts an import whose rows take the place of all that is in a table, which may be damaged; until it is published,
    /// and when it never is, the table stays what it was.
    pub fn import_anew(&self, schema: &'static TableSchema) -> Result<import::Import, Error> {
        import::Import::start_anew(&self.folder(schema), schema, self.clock.clone())
    }

    /// The table's present snapshot; an empty one when nothing was imported yet.
    pub fn snapshot(&self, schema: &TableSchema) -> Result<snapshot::Snapshot, Error> {
        snapshot::Snapshot::load(&self.folder(schema))
    }

    /// Merges all runs of a table into one; returns the rows written, 0 when there is at most one run. Readers go on
    /// with the snapshot they hold. Needs free space of the size of the table; `progress` is told of rows as they are
    /// written.
    pub fn compact(
        &self,
        schema: &'static TableSchema,
        progress: &dyn Fn(u64),
    ) -> Result<u64, Error> {
        import::compact(&self.folder(schema), schema, self.clock.clone(), progress)
    }

    /// Opens the present snapshot of a table to verify every byte of it; what is wrong is found, never an error.
    pub fn check(&self, schema: &TableSchema) -> check::TableReading {
        check::TableReading::open(&self.folder(schema), schema)
    }
}
