//! A table folder locked for writing, and the rewrite that publishes a change of the table.
//!
//! Imports and compactions decide which rows are removed and added ([`TableRewrite`]). The rewrite merges the new rows
//! with the runs they absorb, writes the files into a scratch folder, moves them into place, publishes the snapshot,
//! and then updates the folder that other programs read ([`super::shared_folder`]).

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::data_file::DataFile;
use super::files::clear;
use super::merge::{Merge, SortedStream};
use super::rewrite::data_file_stream;
use super::schema::TableSchema;
use super::shared_folder::{self, DeltaLog};
use super::snapshot::{self, DataFileEntry, Snapshot};
use super::write::RunWriter;
use super::{Error, Provenance, versions};
use toise_base::clock::{Clock, iso};
use toise_base::file_lock;

/// Rows per batch passed to the file writer.
const OUTPUT_ROWS: usize = 4_096;
const INCOMING: &str = "incoming";
/// Lock file of a table, in its own folder.
pub(super) const LOCK_FILE: &str = "import.lock";

/// The changes of one publication.
pub(super) struct TableRewrite {
    /// Rows to remove, by data file.
    pub(super) dead: Vec<HashSet<u32>>,
    /// Rows to add.
    pub(super) streams: Vec<SortedStream>,
    /// Maximum rows to add; in a compaction, the rows that are rewritten.
    pub(super) incoming_rows: u64,
    /// Provenance of the added rows.
    pub(super) sources: Vec<Provenance>,
    /// Last store change that the table includes afterwards; `None` if unchanged.
    pub(super) through: Option<i64>,
}

/// A table folder locked for writing.
pub(super) struct LockedTable {
    /// Folder of the table.
    pub(super) folder: PathBuf,
    /// Scratch folder, deleted when this is dropped.
    pub(super) incoming: PathBuf,
    /// Schema of the table.
    pub(super) schema: &'static TableSchema,
    clock: Clock,
    /// Versions to keep, the current one included.
    keep_versions: usize,
    _lock: File,
}

impl LockedTable {
    /// Takes the table's lock and deletes what a killed import left in its scratch folder.
    pub(super) fn lock(
        folder: &Path,
        schema: &'static TableSchema,
        clock: Clock,
        keep_versions: usize,
    ) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        let path = folder.join(LOCK_FILE);
        let lock = File::create(&path).map_err(|error| Error::io(&path, error))?;
        match file_lock::try_lock(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy {
                    path: path.display().to_string(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path, error)),
        }
        let incoming = folder.join(INCOMING);
        clear(&incoming)?;
        fs::create_dir_all(&incoming).map_err(|error| Error::io(&incoming, error))?;
        Ok(Self {
            folder: folder.to_owned(),
            incoming,
            schema,
            clock,
            keep_versions,
            _lock: lock,
        })
    }

    /// Deletes versions that are no longer kept, and files that no kept version names, such as those of a killed
    /// import.
    pub(super) fn sweep(&self, snapshot: &Snapshot) -> Result<(), Error> {
        versions::sweep(&self.folder, snapshot, self.keep_versions)
    }

    /// Rebuilds the shared folder of the table.
    pub(super) fn share(&self, log: DeltaLog) -> Result<(), Error> {
        shared_folder::refresh(&self.folder, log)
    }

    /// Opens the data files of a snapshot.
    pub(super) fn open_data_files(&self, snapshot: &Snapshot) -> Result<Vec<DataFile>, Error> {
        snapshot
            .parts
            .iter()
            .map(|entry| DataFile::open(&self.folder, entry, self.schema))
            .collect()
    }

    /// Merges the added rows with the runs they absorb into a new run, rewrites the other data files that lose rows,
    /// and publishes the result.
    pub(super) fn rewrite(
        &self,
        former: &Snapshot,
        parts: &[DataFile],
        change: TableRewrite,
        progress: &dyn Fn(u64),
    ) -> Result<Snapshot, Error> {
        let TableRewrite {
            mut dead,
            mut streams,
            incoming_rows,
            sources,
            through,
        } = change;
        let sequence = former.sequence + 1;
        let merged_runs = runs_to_merge(&former.parts, &dead, incoming_rows);
        let mut written: Vec<DataFileEntry> = Vec::new();
        let mut kept: Vec<DataFileEntry> = Vec::new();
        for (index, data_file) in parts.iter().enumerate() {
            let gone = std::mem::take(&mut dead[index]);
            let entry = data_file.entry();
            if merged_runs.contains(&entry.run) {
                streams.push(data_file_stream(data_file, self.schema, gone)?);
            } else if gone.is_empty() {
                kept.push(entry.clone());
            } else {
                let stem = format!("{sequence:06}-{index:04}x");
                let files = self.write_run(
                    vec![data_file_stream(data_file, self.schema, gone)?],
                    entry.run,
                    &stem,
                    progress,
                )?;
                kept.extend(files.iter().cloned());
                written.extend(files);
            }
        }
        if incoming_rows > 0 {
            let runs = former.parts.iter().map(|data_file| data_file.run);
            let run = runs.max().unwrap_or(0) + 1;
            let files = self.write_run(streams, run, &format!("{sequence:06}"), progress)?;
            kept.extend(files.iter().cloned());
            written.extend(files);
        }
        self.move_into_place(&written)?;
        let now = self.clock.now();
        let mut next = Snapshot {
            format: snapshot::FORMAT,
            sequence,
            published_at: iso(now),
            parts: kept,
            sources: former.sources.clone(),
            through: through.or(former.through),
            checksum: String::new(),
        };
        next.add_sources(sources);
        versions::remember(&self.folder, former)?;
        next.publish(&self.folder)?;
        self.sweep(&next)?;
        self.share(DeltaLog::Continued)?;
        Ok(next)
    }

    /// Moves files from the scratch folder into the table's folder.
    fn move_into_place(&self, written: &[DataFileEntry]) -> Result<(), Error> {
        for entry in written {
            for name in entry.files() {
                let from = self.incoming.join(&name);
                fs::rename(&from, self.folder.join(&name))
                    .map_err(|error| Error::io(&from, error))?;
            }
        }
        Ok(())
    }

    fn write_run(
        &self,
        streams: Vec<SortedStream>,
        run: u64,
        stem: &str,
        progress: &dyn Fn(u64),
    ) -> Result<Vec<DataFileEntry>, Error> {
        let mut writer = RunWriter::start(&self.incoming, self.schema, run, stem);
        for batch in Merge::start(streams, OUTPUT_ROWS)? {
            let batch = batch?;
            progress(batch.rows.num_rows() as u64);
            writer.push(batch)?;
        }
        writer.finish()
    }
}

impl Drop for LockedTable {
    fn drop(&mut self) {
        // The folder holds only scratch files. If deleting them fails, the next import deletes them.
        let _ = clear(&self.incoming);
    }
}

/// Returns the runs to merge into the new one: from the newest backwards, while each has at most twice as many rows as
/// were collected so far.
fn runs_to_merge(
    parts: &[DataFileEntry],
    dead: &[HashSet<u32>],
    incoming_rows: u64,
) -> HashSet<u64> {
    let mut rows_of_run: HashMap<u64, u64> = HashMap::new();
    for (data_file, dead) in parts.iter().zip(dead) {
        *rows_of_run.entry(data_file.run).or_default() += data_file.rows - dead.len() as u64;
    }
    let mut runs: Vec<(u64, u64)> = rows_of_run.into_iter().collect();
    runs.sort_unstable();
    let mut gathered = incoming_rows;
    let mut merged_runs = HashSet::new();
    for (run, rows) in runs.into_iter().rev() {
        if incoming_rows == 0 || rows > gathered * 2 {
            break;
        }
        gathered += rows;
        merged_runs.insert(run);
    }
    merged_runs
}
