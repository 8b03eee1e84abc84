//! A pass over one version of a table: reads the rows that changed since an earlier version, block by block.
//!
//! Row groups are read in file order, so the rows of a block are near each other and few alerts apply to them. Data
//! files that were written up to the earlier version are not opened: nothing in them has changed since. A merge also
//! copies unchanged rows to new files; their versions show that they can be skipped. The pass holds the files of its
//! version open, so it can finish even if versions are published or deleted in the meantime.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

use super::Result;
use super::position::Position;
use crate::percolate::Percolator;
use crate::percolate::index::ROWS_MAX;
use toise_engine::batch::DecodedBatch;
use toise_engine::view::{RowGroup, TableView};
use toise_lake::data_file::Batches;
use toise_lake::id_index::RowVersions;
use toise_lake::import::version_number;
use toise_lake::schema::RECORD;
use toise_opendata::Dataset;
use toise_store::document;

/// Maximum rows read at a time.
const BLOCK_ROWS: usize = 4_096;

/// A pass over one version of a table.
pub(super) struct Pass {
    /// The table.
    pub dataset: Dataset,
    /// The version.
    pub version: u32,
    /// Version that all alerts have seen.
    pub seen: u32,
    view: Arc<TableView>,
    /// Rows that changed in this version or earlier are skipped.
    after: u32,
    /// Index in the view of the current row group.
    group: usize,
    /// Index of the data file whose changed rows are in `changed`.
    data_file: Option<u32>,
    /// The changed rows of the data file, by row number.
    changed: Vec<ChangedRow>,
    reading: Option<GroupReader>,
}

/// A row group that is being read.
struct GroupReader {
    batches: Batches,
    /// Number in the data file of the next row.
    next_row: u32,
}

/// A row that changed.
#[derive(Clone, Copy, Debug)]
struct ChangedRow {
    /// Number in the data file.
    row: u32,
    /// Digest of its identifier.
    item: u128,
    versions: RowVersions,
}

/// Changed rows, to be tested together.
pub(super) struct ChangedBlock {
    rows: RecordBatch,
    changed: Vec<ChangedRow>,
}

/// A changed record, and the alerts that match it.
#[derive(Clone, Debug)]
pub(super) struct MatchedRecord {
    /// Digest of its identifier.
    pub item: u128,
    /// Versions in which it was added and changed.
    pub versions: RowVersions,
    /// Its text, compressed.
    pub document: Arc<[u8]>,
    /// Row numbers of the alerts in the store.
    pub alerts: Vec<i64>,
}

impl Pass {
    /// Begins a pass over the version of a view, or continues one that was interrupted. Reads nothing yet.
    pub(super) fn new(
        dataset: Dataset,
        view: Arc<TableView>,
        after: u32,
        position: Position,
    ) -> Self {
        let version = version_number(view.snapshot().sequence);
        let is_resumed = position.pass_version == version;
        Self {
            dataset,
            version,
            seen: position.seen,
            view,
            after,
            group: if is_resumed {
                position.pass_groups as usize
            } else {
                0
            },
            data_file: None,
            changed: Vec::new(),
            reading: None,
        }
    }

    /// Returns the number of row groups that are done.
    pub(super) fn groups_done(&self) -> u32 {
        u32::try_from(self.group).unwrap_or(u32::MAX)
    }

    /// Reads the next rows that changed; `None` if there are no more. Blocks.
    pub(super) fn next_block(&mut self) -> Result<Option<ChangedBlock>> {
        let view = Arc::clone(&self.view);
        while let Some(group) = view.chunks().get(self.group) {
            let Some(reading) = &mut self.reading else {
                self.reading = self.open(&view, group)?;
                self.group += usize::from(self.reading.is_none());
                continue;
            };
            let Some(batch) = reading.batches.next() else {
                self.reading = None;
                self.group += 1;
                continue;
            };
            let batch = batch?;
            let first = reading.next_row;
            reading.next_row += batch.num_rows() as u32;
            let changed = rows_in(&self.changed, first, reading.next_row);
            if !changed.is_empty() {
                return Ok(Some(ChangedBlock::new(&batch, first, changed)?));
            }
        }
        Ok(None)
    }

    /// Opens a row group; `None` if nothing in it has changed.
    fn open(&mut self, view: &TableView, group: &RowGroup) -> Result<Option<GroupReader>> {
        let data_file = &view.parts()[group.data_file as usize].data_file;
        if self.data_file != Some(group.data_file) {
            self.changed.clear();
            if data_file.entry().may_have_changed_since(self.after.into()) {
                let entries = data_file.id_index().entries()?.into_iter();
                let changed = entries.filter(|entry| entry.versions.changed > self.after);
                self.changed.extend(changed.map(|entry| ChangedRow {
                    row: entry.row,
                    item: entry.id,
                    versions: entry.versions,
                }));
                self.changed.sort_unstable_by_key(|changed| changed.row);
            }
            self.data_file = Some(group.data_file);
        }
        let end = group.first_row + group.rows;
        if rows_in(&self.changed, group.first_row, end).is_empty() {
            return Ok(None);
        }
        Ok(Some(GroupReader {
            batches: data_file.batches_of(vec![group.group.into()], BLOCK_ROWS)?,
            next_row: group.first_row,
        }))
    }
}

/// Returns the changed rows from one row number up to another; they are sorted by row number.
fn rows_in(changed: &[ChangedRow], first: u32, end: u32) -> &[ChangedRow] {
    let from = changed.partition_point(|one| one.row < first);
    let to = changed.partition_point(|one| one.row < end);
    &changed[from..to]
}

impl ChangedBlock {
    /// Selects the changed rows of a batch whose first row has the number `first`.
    fn new(batch: &RecordBatch, first: u32, changed: &[ChangedRow]) -> Result<Self> {
        let mut is_changed = vec![false; batch.num_rows()];
        for one in changed {
            is_changed[(one.row - first) as usize] = true;
        }
        Ok(Self {
            rows: filter_record_batch(batch, &BooleanArray::from(is_changed))?,
            changed: changed.to_vec(),
        })
    }

    /// Returns the records that alerts match, each with the matching alerts.
    pub(super) fn matches(
        &self,
        dataset: Dataset,
        percolator: &Percolator,
    ) -> Result<Vec<MatchedRecord>> {
        let mut matched: Vec<MatchedRecord> = Vec::new();
        let records = self.rows.column_by_name(RECORD);
        let records = records.and_then(|column| column.as_string_opt::<i32>());
        for first in (0..self.rows.num_rows()).step_by(ROWS_MAX) {
            let count = ROWS_MAX.min(self.rows.num_rows() - first);
            let batch = DecodedBatch::new(dataset.schema(), self.rows.slice(first, count))?;
            let found = percolator.matches(dataset, &batch)?;
            for of_row in found.chunk_by(|one, next| one.row == next.row) {
                let row = first + of_row.first().map_or(0, |one| one.row);
                let text = records.map_or("", |records| records.value(row));
                let ChangedRow { item, versions, .. } = self.changed[row];
                matched.push(MatchedRecord {
                    item,
                    versions,
                    document: document::compress(text.as_bytes())?.into(),
                    alerts: of_row.iter().map(|one| one.alert).collect(),
                });
            }
        }
        Ok(matched)
    }
}
