//! Verifies every byte of a table against its checksums, while readers and imports run.
//!
//! All files are opened before any is read, so a publication in the meantime does not remove them. Cost: one read of
//! the table, on all cores. Memory: a few MiB per core.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use super::checked::CheckedFile;
use super::checksums::DataFileChecksums;
use super::data_file::{DataFile, footer};
use super::schema::TableSchema;
use super::snapshot::{self, DataFileEntry, Snapshot};
use super::{Error, id_index, partial};

/// Maximum bytes read and verified at once.
const RUN_BYTES_MAX: u64 = 4 << 20;
/// Attempts to open the files when a publication deletes some of them in the meantime.
const OPEN_ATTEMPTS: usize = 5;

/// Returns whether the snapshot of a table is missing although one was published. Readers then see an empty table.
pub fn is_snapshot_lost(own_folder: &Path) -> bool {
    snapshot::was_published(own_folder) && !own_folder.join(snapshot::FILE_NAME).exists()
}

/// Result of checking a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TableCheck {
    /// Name of the table.
    pub table: &'static str,
    /// When its snapshot was published, ISO 8601; empty if nothing was imported yet.
    pub published_at: String,
    /// Number of sorted runs.
    pub runs: usize,
    /// Number of data files.
    pub files: usize,
    /// Rows according to the snapshot.
    pub rows: u64,
    /// Bytes read: Parquet files and id indexes.
    pub bytes: u64,
    /// Damage found, by file; empty if every byte matches its checksum.
    pub damaged: Vec<Damage>,
}

/// Damage of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Damage {
    /// Path of the file.
    pub file: String,
    /// The fault, for the message.
    pub reason: String,
}

impl From<Error> for Damage {
    fn from(error: Error) -> Self {
        match error {
            Error::Damaged { path, reason } => Self { file: path, reason },
            Error::Io { path, source } => Self {
                file: path,
                reason: source.to_string(),
            },
            Error::OtherFormat { ref path, .. } => Self {
                file: path.clone(),
                reason: error.to_string(),
            },
            other => Self {
                file: String::new(),
                reason: other.to_string(),
            },
        }
    }
}

/// A table opened for checking.
pub struct TableVerification {
    found: TableCheck,
    /// Sequence of the snapshot.
    sequence: u64,
    files: Vec<Arc<CheckedFile>>,
}

impl TableVerification {
    /// Opens the files of a table's current snapshot.
    pub(super) fn open(folder: &Path, schema: &TableSchema) -> Self {
        let mut reading = Self::open_snapshot(folder, schema);
        for _ in 1..OPEN_ATTEMPTS {
            // A publication deleted files after the snapshot was read: read it again.
            let overtaken = !reading.found.damaged.is_empty()
                && Snapshot::load(folder).is_ok_and(|now| now.sequence != reading.sequence);
            if !overtaken {
                break;
            }
            reading = Self::open_snapshot(folder, schema);
        }
        reading
    }

    fn open_snapshot(folder: &Path, schema: &TableSchema) -> Self {
        let mut reading = Self {
            found: TableCheck {
                table: schema.name,
                ..TableCheck::default()
            },
            sequence: 0,
            files: Vec::new(),
        };
        let snapshot = match Snapshot::load(folder) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                reading.found.damaged.push(error.into());
                return reading;
            }
        };
        let runs: BTreeSet<u64> = snapshot
            .parts
            .iter()
            .map(|data_file| data_file.run)
            .collect();
        reading.found.runs = runs.len();
        reading.found.files = snapshot.parts.len();
        reading.found.rows = snapshot.rows();
        for entry in &snapshot.parts {
            match DataFile::open(folder, entry, schema) {
                Ok(data_file) => reading.files.extend(data_file.files()),
                // A file with holes may fail to open, which is not damage; the bytes that are on disk are checked.
                Err(_) if partial::is_partial(folder) => reading.open_damaged(folder, entry),
                Err(error) => {
                    reading.found.damaged.push(error.into());
                    reading.open_damaged(folder, entry);
                }
            }
        }
        reading.sequence = snapshot.sequence;
        reading.found.published_at = snapshot.published_at;
        reading.found.bytes = reading.files.iter().map(|file| file.length()).sum();
        reading
    }

    /// Opens as much of a damaged data file as possible, so that all of its damage is reported.
    fn open_damaged(&mut self, folder: &Path, entry: &DataFileEntry) {
        let Ok(sums) = DataFileChecksums::load(folder, &entry.file, &entry.sums) else {
            return;
        };
        let open = |name: &str, sums| CheckedFile::open(&folder.join(name), sums).map(Arc::new);
        let parquet = open(&entry.file, sums.parquet);
        let named = parquet.as_ref().map(footer);
        if let Ok(Err(error)) = named
            && !partial::is_partial(folder)
        {
            self.found.damaged.push(error.into());
        }
        for file in [parquet, open(&id_index::file_name(&entry.file), sums.ids)] {
            match file {
                Ok(file) => self.files.push(file),
                Err(error) => self.found.damaged.push(error.into()),
            }
        }
    }

    /// Returns the number of bytes to read.
    pub fn bytes(&self) -> u64 {
        self.found.bytes
    }

    /// Reads and verifies every byte; `progress` is called with the number of bytes read.
    pub fn run(mut self, progress: &(dyn Fn(u64) + Sync)) -> TableCheck {
        for file in &self.files {
            let runs = file.sums().runs(RUN_BYTES_MAX);
            let damaged: Vec<Damage> = runs
                .par_iter()
                .flat_map_iter(|run| {
                    let bytes = file.sums().bytes_of(run);
                    progress(bytes.end - bytes.start);
                    file.damage(run).into_iter().map(Damage::from)
                })
                .collect();
            self.found.damaged.extend(damaged);
        }
        // Several damaged pages of one column are reported once.
        self.found.damaged.sort();
        self.found.damaged.dedup();
        self.found
    }
}
