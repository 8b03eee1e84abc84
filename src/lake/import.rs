//! An import into one table: rows are collected and sorted, compared with the existing rows, and published atomically.
//!
//! Of two rows with one id the later version wins; with equal versions the row with more filled columns, then the newer
//! one; in a table without records, the newer one. A row equal to the existing one changes nothing. An official edition
//! wins over existing rows, and rows that it no longer contains are removed from the slices it covers.
//!
//! Published files form sorted runs. A new run absorbs the preceding runs while each is no more than twice its size, so
//! a table of n rows has about log2(n) runs however small the imports, and each row is rewritten about log2(n) times in
//! total. Memory: the sort buffers and 56 bytes per row of the import.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Int32Type};
use chrono::{DateTime, Datelike};
use rayon::slice::ParallelSliceMut;

use super::data_file::DataFile;
use super::id_index::{self, IdEntry};
use super::merge::{Merge, SortedStream};
use super::rewrite::data_file_stream;
use super::schema::TableSchema;
use super::snapshot::{self, DataFileEntry, Snapshot};
use super::sort::{Sorter, SurvivorSet};
use super::write::{RunWriter, content_digests, index_entries};
use super::{Error, ImportOutcome, Provenance, RowSink, Slice};
use toise_base::clock::Clock;

/// Rows per batch passed to the file writer.
const OUTPUT_ROWS: usize = 4_096;
const INCOMING: &str = "incoming";

/// An import that is collecting rows. Dropping it leaves the table unchanged.
pub struct TableImport {
    table: LockedTable,
    sorter: Sorter,
    entries: Vec<IdEntry>,
    /// Digests of the ids of rows to remove.
    gone: Vec<u128>,
    through: Option<i64>,
    /// Whether all existing rows are removed, without being read.
    replaces_table: bool,
}

impl TableImport {
    pub(super) fn start(
        folder: &Path,
        schema: &'static TableSchema,
        clock: Clock,
    ) -> Result<Self, Error> {
        let table = LockedTable::lock(folder, schema, clock)?;
        snapshot::sweep(folder, &Snapshot::load(folder)?)?;
        Ok(Self::new(table))
    }

    /// Starts an import that replaces the whole table, which may be damaged.
    pub(super) fn start_replacing(
        folder: &Path,
        schema: &'static TableSchema,
        clock: Clock,
    ) -> Result<Self, Error> {
        Ok(Self {
            replaces_table: true,
            ..Self::new(LockedTable::lock(folder, schema, clock)?)
        })
    }

    fn new(table: LockedTable) -> Self {
        Self {
            sorter: Sorter::new(&table.incoming, table.schema),
            table,
            entries: Vec::new(),
            gone: Vec::new(),
            through: None,
            replaces_table: false,
        }
    }

    /// Removes the row with an id, unless a row with that id is also pushed.
    pub fn remove(&mut self, id: &str) {
        self.gone.push(id_index::digest(id));
    }

    /// Sets the last store change that the published table includes; used by projections of documents.
    pub fn set_through(&mut self, through: i64) {
        self.through = Some(through);
    }

    /// Compares the collected rows with the table and publishes the result. Returns once it is durable. `slices` are
    /// those that an official edition covers completely; empty for files that are merged by id.
    pub fn publish(
        self,
        sources: Vec<Provenance>,
        slices: Vec<Slice>,
    ) -> Result<ImportOutcome, Error> {
        self.publish_all(sources, slices, &|_| {})
    }

    /// Publishes rows that have no source, as [`TableImport::publish`] does; `progress` is called with the number of rows
    /// written.
    pub fn publish_with_progress(self, progress: &dyn Fn(u64)) -> Result<ImportOutcome, Error> {
        self.publish_all(Vec::new(), Vec::new(), progress)
    }

    fn publish_all(
        self,
        sources: Vec<Provenance>,
        slices: Vec<Slice>,
        progress: &dyn Fn(u64),
    ) -> Result<ImportOutcome, Error> {
        let Self {
            table,
            sorter,
            mut entries,
            mut gone,
            through,
            replaces_table,
        } = self;
        let snapshot = match replaces_table {
            false => Snapshot::load(&table.folder)?,
            true => Snapshot::load_or_empty(&table.folder)?,
        };
        let parts = match replaces_table {
            false => table.open_data_files(&snapshot)?,
            true => Vec::new(),
        };
        let mut alive = SurvivorSet::all(entries.len());
        // Entries are still in the order in which rows were pushed; the next step sorts them.
        let contents: Vec<u64> = entries.iter().map(|entry| entry.content).collect();
        let mut outcome = ImportOutcome::default();
        deduplicate_by_id(&mut entries, &mut alive, &mut outcome);
        let mut dead: Vec<HashSet<u32>> = vec![HashSet::new(); parts.len()];
        let mut named: Vec<HashSet<u32>> = vec![HashSet::new(); parts.len()];
        let mut kept = entries.len() as u64;
        for (index, data_file) in parts.iter().enumerate() {
            join(&entries, &data_file.id_index().entries()?, |new, old| {
                named[index].insert(old.row);
                let wins =
                    !slices.is_empty() || (new.version, new.filled) >= (old.version, old.filled);
                if new.content != old.content && wins {
                    dead[index].insert(old.row);
                    outcome.replaced += 1;
                } else {
                    alive.drop_row(new.row);
                    outcome.unchanged += 1;
                    kept -= 1;
                }
            });
        }
        outcome.added = kept - outcome.replaced;
        gone.sort_unstable();
        gone.dedup();
        gone.retain(|id| entries.binary_search_by(|entry| entry.id.cmp(id)).is_err());
        for (index, data_file) in parts.iter().enumerate() {
            for id in &gone {
                if let Some(row) = data_file.id_index().row(*id)? {
                    outcome.removed += u64::from(dead[index].insert(row));
                }
            }
        }
        if !slices.is_empty() {
            let slices: BTreeSet<&Slice> = slices.iter().collect();
            for (index, data_file) in parts.iter().enumerate() {
                let gone = rows_in_slices(data_file, table.schema, &slices, &named[index])?;
                outcome.removed += gone.len() as u64;
                dead[index].extend(gone);
            }
        }
        let reached = through.is_none() || through == snapshot.through;
        if kept == 0 && dead.iter().all(HashSet::is_empty) && reached && !replaces_table {
            outcome.total = snapshot.rows();
            return Ok(outcome);
        }
        let streams = sorter.streams(&Arc::new(alive), &Arc::new(contents))?;
        let change = TableRewrite {
            dead,
            streams,
            incoming_rows: kept,
            sources,
            through,
        };
        let next = table.rewrite(&snapshot, &parts, change, progress)?;
        if replaces_table {
            // `publish` retires only files that a readable snapshot named; delete the others.
            snapshot::sweep(&table.folder, &next)?;
        }
        outcome.total = next.rows();
        Ok(outcome)
    }
}

impl RowSink for TableImport {
    fn push(&mut self, batch: RecordBatch) -> Result<(), Error> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let first = self.entries.len() as u32;
        let contents = content_digests(&batch)?;
        self.entries
            .extend(index_entries(self.table.schema, &batch, &contents, first));
        self.sorter.push(batch)?;
        Ok(())
    }
}

/// Merges all sorted runs of a table into one. Returns the rows written, 0 if there is at most one run.
pub(super) fn compact(
    folder: &Path,
    schema: &'static TableSchema,
    clock: Clock,
    progress: &dyn Fn(u64),
) -> Result<u64, Error> {
    let table = LockedTable::lock(folder, schema, clock)?;
    let snapshot = Snapshot::load(folder)?;
    snapshot::sweep(folder, &snapshot)?;
    let runs: BTreeSet<u64> = snapshot
        .parts
        .iter()
        .map(|data_file| data_file.run)
        .collect();
    if runs.len() <= 1 {
        return Ok(0);
    }
    let parts = table.open_data_files(&snapshot)?;
    let change = TableRewrite {
        dead: vec![HashSet::new(); parts.len()],
        streams: Vec::new(),
        incoming_rows: snapshot.rows(),
        sources: Vec::new(),
        through: None,
    };
    let next = table.rewrite(&snapshot, &parts, change, progress)?;
    Ok(next.rows())
}

/// Sorts entries by id, best first; retains the first of each id and drops the others.
fn deduplicate_by_id(
    entries: &mut Vec<IdEntry>,
    alive: &mut SurvivorSet,
    outcome: &mut ImportOutcome,
) {
    let rank = |entry: &IdEntry| (entry.version, entry.filled, entry.row);
    entries.par_sort_unstable_by(|a, b| a.id.cmp(&b.id).then_with(|| rank(b).cmp(&rank(a))));
    entries.dedup_by(|later, first| {
        let same = later.id == first.id;
        if same {
            alive.drop_row(later.row);
            outcome.duplicates += 1;
        }
        same
    });
}

/// Calls `found` for each id that is in both lists, which must be sorted by id.
fn join(new: &[IdEntry], old: &[IdEntry], mut found: impl FnMut(&IdEntry, &IdEntry)) {
    let mut olds = old.iter().peekable();
    for entry in new {
        while olds.next_if(|old| old.id < entry.id).is_some() {}
        if let Some(old) = olds.next_if(|old| old.id == entry.id) {
            found(entry, old);
        }
    }
}

/// Rows of a data file that lie in one of the slices and are not in the edition.
fn rows_in_slices(
    data_file: &DataFile,
    schema: &TableSchema,
    slices: &BTreeSet<&Slice>,
    named: &HashSet<u32>,
) -> Result<HashSet<u32>, Error> {
    let index = |name: &str| {
        schema
            .column(name)
            .map(|(index, _)| index)
            .unwrap_or_default()
    };
    // A set, because a row may lie in a slice of its department and in one of its commune.
    let mut gone = HashSet::new();
    for group in 0..data_file.metadata().num_row_groups() {
        let dates = data_file.read_column(group, index(schema.date))?;
        let dates = dates.as_primitive::<Date32Type>();
        for place in [schema.department, schema.commune] {
            let places = data_file.read_column(group, index(place))?;
            debug_assert!(matches!(places.data_type(), DataType::Dictionary(..)));
            let places = places.as_dictionary::<Int32Type>();
            let names = places.values().as_string::<i32>();
            for row in 0..places.len() {
                let (Some(code), true) = (places.key(row), dates.is_valid(row)) else {
                    continue;
                };
                let slice = Slice {
                    place: names.value(code).to_owned(),
                    year: year_of(dates.value(row)),
                };
                let number = data_file.group_starts()[group] + row as u32;
                if slices.contains(&slice) && !named.contains(&number) {
                    gone.insert(number);
                }
            }
        }
    }
    Ok(gone)
}

fn year_of(day: i32) -> i32 {
    DateTime::from_timestamp(i64::from(day) * 86_400, 0).map_or(0, |date| date.year())
}

/// The changes of one publication.
struct TableRewrite {
    /// Rows to remove, by data file.
    dead: Vec<HashSet<u32>>,
    /// Rows to add.
    streams: Vec<SortedStream>,
    /// Maximum rows to add; in a compaction, the rows that are rewritten.
    incoming_rows: u64,
    /// Provenance of the added rows.
    sources: Vec<Provenance>,
    /// Last store change that the table then includes; `None` if unchanged.
    through: Option<i64>,
}

/// A table folder locked for writing.
struct LockedTable {
    folder: PathBuf,
    incoming: PathBuf,
    schema: &'static TableSchema,
    clock: Clock,
    _lock: File,
}

impl LockedTable {
    /// Takes the table's lock and deletes what a killed import left in its scratch folder.
    fn lock(folder: &Path, schema: &'static TableSchema, clock: Clock) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        let path = folder.join("import.lock");
        let lock = File::create(&path).map_err(|error| Error::io(&path, error))?;
        match lock.try_lock() {
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
            _lock: lock,
        })
    }

    fn open_data_files(&self, snapshot: &Snapshot) -> Result<Vec<DataFile>, Error> {
        snapshot
            .parts
            .iter()
            .map(|entry| DataFile::open(&self.folder, entry, self.schema))
            .collect()
    }

    /// Merges the added rows with the runs they absorb into a new run, rewrites the other data files that lose rows,
    /// and publishes the result.
    fn rewrite(
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
        let absorbed = runs_to_absorb(&former.parts, &dead, incoming_rows);
        let mut written: Vec<DataFileEntry> = Vec::new();
        let mut kept: Vec<DataFileEntry> = Vec::new();
        for (index, data_file) in parts.iter().enumerate() {
            let gone = std::mem::take(&mut dead[index]);
            let entry = data_file.entry();
            if absorbed.contains(&entry.run) {
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
            let run = former
                .parts
                .iter()
                .map(|data_file| data_file.run)
                .max()
                .unwrap_or(0)
                + 1;
            let files = self.write_run(streams, run, &format!("{sequence:06}"), progress)?;
            kept.extend(files.iter().cloned());
            written.extend(files);
        }
        for entry in &written {
            for name in entry.files() {
                let from = self.incoming.join(&name);
                fs::rename(&from, self.folder.join(&name))
                    .map_err(|error| Error::io(&from, error))?;
            }
        }
        let mut next = Snapshot {
            format: snapshot::FORMAT,
            sequence,
            published_at: self
                .clock
                .now()
                .to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            parts: kept,
            sources: former.sources.clone(),
            through: through.or(former.through),
            checksum: String::new(),
        };
        next.add_sources(sources);
        next.publish(&self.folder, former)?;
        Ok(next)
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

fn clear(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(folder, error)),
        _ => Ok(()),
    }
}

/// Runs to merge into the new one: from the newest back, while each has at most twice the rows collected so far.
fn runs_to_absorb(
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
    let mut absorbed = HashSet::new();
    for (run, rows) in runs.into_iter().rev() {
        if incoming_rows == 0 || rows > gathered * 2 {
            break;
        }
        gathered += rows;
        absorbed.insert(run);
    }
    absorbed
}
