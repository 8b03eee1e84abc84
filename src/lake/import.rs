//! Imports rows into one table: collects and sorts them, compares them with the existing rows, and publishes them
//! atomically.
//!
//! If two rows have the same id, the one with the later day in the table's version column wins. If the days are equal,
//! the row with more filled columns wins, then the row pushed later. In a table without a `record` column, filled
//! columns do not count. A row made from fewer source rows than the existing one never replaces it: its file lacks
//! rows, and values computed without them are wrong. A row equal to the existing one changes nothing. An official
//! edition always wins over existing rows, and existing rows that it does not contain are removed from the slices that
//! it covers.
//!
//! Published files form sorted runs. A new run absorbs the preceding runs while each is no more than twice its size. A
//! table of n rows therefore has about log2(n) runs, even after many small imports, and each row is rewritten about
//! log2(n) times in total. Memory: the sort buffers; 64 bytes per row of the import (an `IdEntry`, the content digest
//! and the versions for the sort); the id index of one data file at a time; and 8 bytes per row that is rewritten.
//!
//! Each row keeps the number of the version that added it and of the version that gave it its content ([`id_index`]).
//! An unchanged row keeps both when it is rewritten.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Int32Type, Int64Type};
use chrono::{DateTime, Datelike};
use rayon::slice::ParallelSliceMut;

use super::data_file::DataFile;
use super::id_index::{self, IdEntry, RowVersions};
use super::locked_table::{LockedTable, TableRewrite};
use super::schema::TableSchema;
use super::shared_folder::{self, DeltaLog};
use super::snapshot::Snapshot;
use super::sort::{RowMarks, Sorter};
use super::stored_rows::StoredRows;
use super::write::{content_digests, index_entries};
use super::{Error, ImportOutcome, Provenance, RowSink, Slice};

/// An import that is collecting rows. Dropping it leaves the table unchanged.
pub struct TableImport {
    table: LockedTable,
    sorter: Sorter,
    /// Entries of the rows pushed so far. Their `row` is the number of the row in this import.
    entries: Vec<IdEntry>,
    /// Digests of the ids of rows to remove.
    removed_ids: Vec<u128>,
    /// Last store change that the table will include; `None` leaves it unchanged.
    through: Option<i64>,
    /// Whether all existing rows are removed, without being read.
    replaces_table: bool,
    /// Whether an edition is refused that lacks most rows of a slice.
    refuses_shrunk: bool,
}

/// Number of rows of a slice that an edition may always leave out.
const LEFT_OUT_MAX: u64 = 10;
/// If [`TableImport::refuse_shrunk_slices`] was called, an edition must have at least one in this many of the rows of each
/// slice.
const KEPT_SHARE: u64 = 2;

impl TableImport {
    pub(super) fn start(table: LockedTable) -> Result<Self, Error> {
        table.sweep(&Snapshot::load(&table.folder)?)?;
        Ok(Self::new(table))
    }

    /// Starts an import that replaces the whole table. The table may be damaged: it is not read, and its old files are
    /// not swept yet.
    pub(super) fn start_replacing(table: LockedTable) -> Self {
        Self {
            replaces_table: true,
            ..Self::new(table)
        }
    }

    fn new(table: LockedTable) -> Self {
        Self {
            sorter: Sorter::new(&table.incoming, table.schema),
            table,
            entries: Vec::new(),
            removed_ids: Vec::new(),
            through: None,
            replaces_table: false,
            refuses_shrunk: false,
        }
    }

    /// Refuses an edition with less than half of the rows that the table has of one of its slices: its file is probably
    /// incomplete, or of another place or year.
    pub fn refuse_shrunk_slices(&mut self) {
        self.refuses_shrunk = true;
    }

    /// Removes the row with an id, unless a row with that id is also pushed.
    pub fn remove(&mut self, id: &str) {
        self.removed_ids.push(id_index::digest(id));
    }

    /// Sets the last store change that the published table includes; used by the tables derived from the store.
    pub fn set_through(&mut self, through: i64) {
        self.through = Some(through);
    }

    /// Compares the collected rows with the table and publishes the result. Returns once it is durable. If nothing
    /// would change, nothing is published, and `sources` are not recorded. `slices` are those that an official edition
    /// covers completely; empty for files that are merged by id.
    ///
    /// # Errors
    /// The table is damaged or of another format, files cannot be read or written, or a slice is refused
    /// ([`TableImport::refuse_shrunk_slices`]). The table is then unchanged, unless the failure came after the
    /// publication, while deleting old files.
    pub fn publish(
        self,
        sources: Vec<Provenance>,
        slices: Vec<Slice>,
    ) -> Result<ImportOutcome, Error> {
        self.publish_all(sources, slices, &|_| {})
    }

    /// Publishes rows that have no source, as [`TableImport::publish`] does; `progress` is called with the number of
    /// rows of each batch written.
    ///
    /// # Errors
    /// As [`TableImport::publish`].
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
            mut removed_ids,
            through,
            replaces_table,
            refuses_shrunk,
        } = self;
        let snapshot = if replaces_table {
            Snapshot::load_or_empty(&table.folder)?
        } else {
            Snapshot::load(&table.folder)?
        };
        let parts = if replaces_table {
            Vec::new()
        } else {
            table.open_data_files(&snapshot)?
        };
        // Whether each row is kept, by sequence number.
        let mut survivors = vec![true; entries.len()];
        // Entries are still in the order in which rows were pushed; the next step sorts them.
        let contents: Vec<u64> = entries.iter().map(|entry| entry.content).collect();
        let version = version_number(snapshot.sequence + 1);
        let new = RowVersions {
            added: version,
            changed: version,
        };
        let mut marks = RowMarks {
            versions: vec![new; contents.len()],
            contents,
        };
        let mut outcome = ImportOutcome::default();
        deduplicate_by_id(&mut entries, &mut survivors, &mut outcome);
        let mut existing = compare_by_id(
            (&entries, &mut marks.versions),
            table.schema,
            &parts,
            &slices,
            &mut survivors,
            &mut outcome,
        )?;
        let surviving = entries.len() as u64 - outcome.unchanged;
        outcome.added = surviving - outcome.replaced;
        removed_ids.retain(|id| entries.binary_search_by(|entry| entry.id.cmp(id)).is_err());
        outcome.removed += existing.mark_removed(removed_ids, &parts)?;
        let (left_out, counts) = existing.mark_left_out(&slices, &parts, table.schema)?;
        if refuses_shrunk {
            check_slices(&counts, outcome.added)?;
        }
        outcome.removed += left_out;
        let ExistingRows { dead, .. } = existing;
        // New store changes are published even if they change no row, so that the next import starts after them.
        let through_is_current = through.is_none() || through == snapshot.through;
        let rows_are_unchanged = surviving == 0 && dead.iter().all(HashSet::is_empty);
        if rows_are_unchanged && through_is_current && !replaces_table {
            outcome.total = snapshot.rows();
            return Ok(outcome);
        }
        let streams = sorter.streams(&Arc::new(survivors), &Arc::new(marks))?;
        let change = TableRewrite {
            dead,
            streams,
            incoming_rows: surviving,
            sources,
            through,
        };
        let next = table.rewrite(&snapshot, &parts, change, progress)?;
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
        let contents = content_digests(self.table.schema, &batch)?;
        self.entries
            .extend(index_entries(self.table.schema, &batch, &contents, first));
        self.sorter.push(batch)?;
        Ok(())
    }

    fn scratch_folder(&self) -> Option<&Path> {
        Some(&self.table.incoming)
    }

    fn stored_rows(&self) -> Result<Option<StoredRows>, Error> {
        if self.replaces_table {
            return Ok(Some(StoredRows::default()));
        }
        let snapshot = Snapshot::load(&self.table.folder)?;
        let files = self.table.open_data_files(&snapshot)?;
        Ok(Some(StoredRows::new(files)))
    }
}

/// Merges all sorted runs of a table into one. Returns the number of rows written; 0 if there is at most one run, which
/// then stays unchanged.
pub(super) fn compact(table: &LockedTable, progress: &dyn Fn(u64)) -> Result<u64, Error> {
    let snapshot = Snapshot::load(&table.folder)?;
    table.sweep(&snapshot)?;
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
        // As many rows as the table has, so that the new run absorbs all others.
        incoming_rows: snapshot.rows(),
        sources: Vec::new(),
        through: None,
    };
    let next = table.rewrite(&snapshot, &parts, change, progress)?;
    Ok(next.rows())
}

/// Rebuilds the shared folder of a table, with a Delta log made from its kept versions.
pub(super) fn rebuild_delta_log(table: &LockedTable) -> Result<(), Error> {
    table.sweep(&Snapshot::load(&table.folder)?)?;
    table.share(DeltaLog::Rebuilt)
}

/// Deletes all versions of a table that keeps only the current one, and every file that only they name.
pub(super) fn forget_versions(table: &LockedTable) -> Result<(), Error> {
    rebuild_delta_log(table)?;
    shared_folder::forget_former(&table.folder)
}

/// Sorts entries by id, and keeps only one entry of each id: the one that replaces the others.
fn deduplicate_by_id(
    entries: &mut Vec<IdEntry>,
    survivors: &mut [bool],
    outcome: &mut ImportOutcome,
) {
    entries.par_sort_unstable_by_key(|entry| (entry.id, entry.row));
    entries.dedup_by(|later, kept| {
        let same = later.id == kept.id;
        if same {
            if replaces(later, kept) {
                std::mem::swap(later, kept);
            }
            survivors[later.row as usize] = false;
            outcome.duplicates += 1;
        }
        same
    });
}

/// Maximum filled columns that a row may lose to one made from more source rows: a value computed from too few, such as
/// a price per square metre.
const COMPUTED_COLUMNS_MAX: u16 = 1;

/// Returns whether a row replaces an earlier one with the same id.
fn replaces(new: &IdEntry, old: &IdEntry) -> bool {
    if new.version != old.version {
        return new.version > old.version;
    }
    match new.source_rows.cmp(&old.source_rows) {
        Ordering::Less => false,
        Ordering::Equal => new.filled >= old.filled,
        // Without the condition, repeated lines would replace a row that has a position with one that has none.
        Ordering::Greater => new.filled.saturating_add(COMPUTED_COLUMNS_MAX) >= old.filled,
    }
}

/// The existing rows that an import affects: row numbers, by data file.
struct ExistingRows {
    /// Rows to remove.
    dead: Vec<HashSet<u32>>,
    /// Rows whose id the import also contains, replaced or not.
    in_import: Vec<HashSet<u32>>,
}

impl ExistingRows {
    /// Marks the rows with these ids as dead; returns how many of them were not dead yet.
    fn mark_removed(&mut self, mut ids: Vec<u128>, parts: &[DataFile]) -> Result<u64, Error> {
        ids.sort_unstable();
        ids.dedup();
        let mut removed = 0;
        for (dead, data_file) in self.dead.iter_mut().zip(parts) {
            for id in &ids {
                if let Some(row) = data_file.id_index().row(*id)? {
                    removed += u64::from(dead.insert(row));
                }
            }
        }
        Ok(removed)
    }

    /// Marks as dead the rows that belong to a slice of the edition but are not in it. Returns their number, and the
    /// rows of each slice.
    fn mark_left_out<'s>(
        &mut self,
        slices: &'s [Slice],
        parts: &[DataFile],
        schema: &TableSchema,
    ) -> Result<(u64, SliceCounts<'s>), Error> {
        let mut counts = SliceCounts::new();
        if slices.is_empty() {
            return Ok((0, counts));
        }
        let slices: BTreeSet<&'s Slice> = slices.iter().collect();
        let mut removed = 0;
        for (index, data_file) in parts.iter().enumerate() {
            let in_import = &self.in_import[index];
            let left_out = left_out_rows(data_file, schema, &slices, in_import, &mut counts)?;
            removed += left_out.len() as u64;
            self.dead[index].extend(left_out);
        }
        Ok((removed, counts))
    }
}

/// The rows that a table has of each slice of an edition.
type SliceCounts<'s> = BTreeMap<&'s Slice, SliceRows>;

/// The rows that a table has of a slice.
#[derive(Clone, Copy, Debug, Default)]
struct SliceRows {
    /// All of them.
    held: u64,
    /// Those that the edition does not contain.
    left_out: u64,
}

/// Refuses an edition that lacks most rows of a slice, even if all `added` rows were of that slice.
fn check_slices(counts: &SliceCounts<'_>, added: u64) -> Result<(), Error> {
    for (slice, rows) in counts {
        let after = rows.held - rows.left_out + added;
        if rows.left_out > LEFT_OUT_MAX && after * KEPT_SHARE < rows.held {
            return Err(Error::Shrunk {
                slice: slice.to_string(),
                before: rows.held,
                after,
            });
        }
    }
    Ok(())
}

/// Compares the new rows with the rows of the table that have their ids: a new row replaces the existing one or, if it
/// changes nothing or is older, is dropped. `versions` are the versions of the new rows, by sequence number; a row that
/// replaces another keeps the version in which the other was added.
fn compare_by_id(
    (entries, versions): (&[IdEntry], &mut [RowVersions]),
    schema: &TableSchema,
    parts: &[DataFile],
    slices: &[Slice],
    survivors: &mut [bool],
    outcome: &mut ImportOutcome,
) -> Result<ExistingRows, Error> {
    let mut dead: Vec<HashSet<u32>> = vec![HashSet::new(); parts.len()];
    let mut in_import: Vec<HashSet<u32>> = vec![HashSet::new(); parts.len()];
    for (index, data_file) in parts.iter().enumerate() {
        let source_rows = stored_source_rows(data_file, schema)?;
        join(entries, &data_file.id_index().entries()?, |new, old| {
            in_import[index].insert(old.row);
            let source_rows = source_rows.get(old.row as usize).copied().unwrap_or(0);
            let old = IdEntry {
                source_rows,
                ..*old
            };
            // Slices mean that the import is an official edition, which wins over any row.
            let wins = !slices.is_empty() || replaces(new, &old);
            if new.content != old.content && wins {
                dead[index].insert(old.row);
                versions[new.row as usize].added = old.versions.added;
                outcome.replaced += 1;
            } else {
                survivors[new.row as usize] = false;
                outcome.unchanged += 1;
            }
        });
    }
    Ok(ExistingRows { dead, in_import })
}

/// Returns the number of source rows of each row of a data file; empty if the table does not have it.
///
/// # Errors
/// The column cannot be read.
fn stored_source_rows(data_file: &DataFile, schema: &TableSchema) -> Result<Vec<u32>, Error> {
    let Some(name) = schema.source_rows else {
        return Ok(Vec::new());
    };
    let column = column_index(schema, name)?;
    let mut source_rows = Vec::new();
    for group in 0..data_file.metadata().num_row_groups() {
        let counts = data_file.read_column(group, column)?;
        let counts = counts.as_primitive::<Int64Type>().iter();
        source_rows.extend(counts.map(id_index::source_rows));
    }
    Ok(source_rows)
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

/// Returns the rows of a data file that belong to one of the slices but are not in the edition, and counts the rows of
/// each slice. Rows without a date do not belong to any slice of a year.
///
/// # Errors
/// A column cannot be read, or the table has no department or commune column.
fn left_out_rows<'s>(
    data_file: &DataFile,
    schema: &TableSchema,
    slices: &BTreeSet<&'s Slice>,
    in_import: &HashSet<u32>,
    counts: &mut SliceCounts<'s>,
) -> Result<HashSet<u32>, Error> {
    let places = [
        column_index(schema, schema.department)?,
        column_index(schema, schema.commune)?,
    ];
    // A set, because a row may belong to a slice of its department and to one of its commune.
    let mut left_out = HashSet::new();
    for group in 0..data_file.metadata().num_row_groups() {
        let years = years(data_file, group, schema)?;
        for place in places {
            let places = data_file.read_column(group, place)?;
            debug_assert!(matches!(places.data_type(), DataType::Dictionary(..)));
            let places = places.as_dictionary::<Int32Type>();
            let names = places.values().as_string::<i32>();
            for row in 0..places.len() {
                let Some(code) = places.key(row) else {
                    continue;
                };
                let place = names.value(code);
                let slice_of = |year| {
                    let place = place.to_owned();
                    slices.get(&Slice { place, year }).copied()
                };
                let year = years.as_ref().and_then(|years| years[row]);
                let of_year = || year.and_then(|_| slice_of(year));
                let Some(slice) = slice_of(None).or_else(of_year) else {
                    continue;
                };
                let rows = counts.entry(slice).or_default();
                rows.held += 1;
                let number = data_file.group_starts()[group] + row as u32;
                if !in_import.contains(&number) {
                    rows.left_out += 1;
                    left_out.insert(number);
                }
            }
        }
    }
    Ok(left_out)
}

/// Returns the number of a column of a table.
///
/// # Errors
/// The table has no such column.
fn column_index(schema: &TableSchema, name: &str) -> Result<usize, Error> {
    let found = schema.column(name).map(|(index, _)| index);
    found.ok_or_else(|| Error::UnknownColumn {
        table: schema.name,
        column: name.to_owned(),
    })
}

/// Returns the year of each row of a group; `None` for a table without a date column.
fn years(
    data_file: &DataFile,
    group: usize,
    schema: &TableSchema,
) -> Result<Option<Vec<Option<i32>>>, Error> {
    let Some((index, _)) = schema.column(schema.date) else {
        return Ok(None);
    };
    let dates = data_file.read_column(group, index)?;
    let days = dates.as_primitive::<Date32Type>().iter();
    Ok(Some(days.map(|day| day.map(year_of)).collect()))
}

/// Returns the number of a version as stored in the id index. No table has enough versions for the number to overflow.
pub fn version_number(sequence: u64) -> u32 {
    u32::try_from(sequence).unwrap_or(u32::MAX)
}

/// Returns the year of a day, given in days since 1970-01-01.
fn year_of(day: i32) -> i32 {
    DateTime::from_timestamp(i64::from(day) * 86_400, 0).map_or(0, |date| date.year())
}
