//! The memtable: rows changed since the last compaction, and the location of each changed record.
//!
//! Batches are merged like sorted runs of the lake: a new batch is merged with the previous one while the previous one
//! is at most twice as large. So n changes make about log2(n) batches, and each row is copied about that often.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{BooleanBufferBuilder, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::concat_batches;
use uuid::Uuid;

use super::Result;
use super::rows::{RecordKeyMode, RowDelta, build_rows};
use super::view::{ProjectionView, VisibleBatch};
use crate::columns::table_of;
use crate::records::changes::ListingChanges;
use toise_contract::listings::filters::ListingKind;
use toise_engine::batch::DecodedBatch;
use toise_engine::decoded::CHUNK_ROWS_MAX;
use toise_engine::view::TableView;
use toise_lake::schema::TableSchema;

/// Changes since the last compaction of a table.
pub struct Memtable {
    listing: ListingKind,
    base: Arc<TableView>,
    /// Sequence of the last change in the table's files.
    base_through: i64,
    /// Hidden rows of each data file, one bit per row; empty for a file without any.
    hidden: Vec<BooleanBufferBuilder>,
    batches: Vec<MemtableBatch>,
    /// Location of each record that changed since the last compaction.
    places: HashMap<Uuid, RecordLocation>,
    through: i64,
    next_serial: u64,
}

/// Rows that were applied together, or merged.
struct MemtableBatch {
    serial: u64,
    /// Sequence of the last change in the batch.
    through: i64,
    ids: Vec<Uuid>,
    rows: Arc<DecodedBatch>,
    /// Rows that a later change replaced, one bit per row.
    dead: BooleanBufferBuilder,
    dead_count: usize,
}

/// The location of a changed record.
#[derive(Clone, Copy)]
enum RecordLocation {
    /// In a batch.
    Row { serial: u64, row: usize },
    /// The record is gone: this change merged the property into another.
    Gone { sequence: i64 },
}

impl MemtableBatch {
    fn alive(&self) -> usize {
        self.ids.len() - self.dead_count
    }

    fn hidden(&self) -> Option<BooleanBuffer> {
        (self.dead_count > 0).then(|| self.dead.finish_cloned())
    }

    fn shown(&self) -> VisibleBatch {
        VisibleBatch {
            batch: Arc::clone(&self.rows),
            hidden: self.hidden(),
        }
    }

    /// Returns the rows that no later change replaced.
    fn alive_rows(&self) -> Result<RecordBatch> {
        Ok(self.shown().alive_rows()?)
    }
}

fn zero_bits(count: usize) -> BooleanBufferBuilder {
    let mut bits = BooleanBufferBuilder::new(count);
    bits.append_n(count, false);
    bits
}

impl Memtable {
    /// Creates an empty memtable over a table.
    pub fn new(listing: ListingKind, base: Arc<TableView>) -> Self {
        let base_through = base.snapshot().through.unwrap_or(0);
        Self {
            listing,
            hidden: empty_sets(&base),
            base,
            base_through,
            batches: Vec::new(),
            places: HashMap::new(),
            through: base_through,
            next_serial: 0,
        }
    }

    /// Returns the sequence of the last change it holds.
    pub fn through(&self) -> i64 {
        self.through
    }

    /// Returns whether a view is over the same snapshot of the table.
    pub fn is_over(&self, view: &ProjectionView) -> bool {
        Arc::ptr_eq(&self.base, &view.base)
    }

    fn table(&self) -> &'static TableSchema {
        table_of(self.listing)
    }

    /// Returns a view of the table with these changes, for queries.
    pub fn view(&self) -> ProjectionView {
        let hidden = self.hidden.iter();
        ProjectionView {
            base: Arc::clone(&self.base),
            hidden: hidden
                .map(|bits| (!bits.is_empty()).then(|| bits.finish_cloned()))
                .collect(),
            memtable: self.batches.iter().map(MemtableBatch::shown).collect(),
            through: self.through,
        }
    }

    /// Switches to a newer snapshot of the table; does nothing if `base` is the current one. A record that changed
    /// while the snapshot was written may be missing from it or in its previous form. The result must therefore not be
    /// shown before every change committed until now is applied.
    ///
    /// # Errors
    /// The id indexes of `base` cannot be read; the memtable then stays on the previous snapshot.
    pub fn rebase(&mut self, base: Arc<TableView>) -> Result<()> {
        if Arc::ptr_eq(&base, &self.base) {
            return Ok(());
        }
        let base_through = base.snapshot().through.unwrap_or(0);
        if base_through > self.through || base_through < self.base_through {
            // The snapshot holds changes that this memtable has not seen, or was restored from a backup: the memtable's
            // rows do not apply to it.
            self.reset(base);
            return Ok(());
        }
        let mut hidden = empty_sets(&base);
        let is_kept = |batch: &MemtableBatch| batch.through > base_through;
        let kept: Vec<u64> = self
            .batches
            .iter()
            .filter(|batch| is_kept(batch))
            .map(|batch| batch.serial)
            .collect();
        let mut places = HashMap::new();
        for (id, place) in &self.places {
            let stays = match place {
                RecordLocation::Row { serial, .. } => kept.contains(serial),
                RecordLocation::Gone { sequence } => *sequence > base_through,
            };
            if stays {
                hide(&base, &mut hidden, *id)?;
                places.insert(*id, *place);
            }
        }
        self.batches.retain(is_kept);
        self.places = places;
        self.hidden = hidden;
        self.base = base;
        self.base_through = base_through;
        Ok(())
    }

    /// Applies the changes after those it holds. A damaged record is hidden and logged.
    ///
    /// # Errors
    /// A record, or the table's id indexes, cannot be read. After a failure midway the memtable is empty, and all
    /// changes since the last compaction must be applied again.
    pub fn take(&mut self, changes: &ListingChanges) -> Result<()> {
        for damaged in &changes.damaged {
            tracing::error!(
                table = self.table().name,
                "left out of searches: {damaged}; ingest its adverts again, or restore a backup"
            );
        }
        let delta = build_rows(self.listing, RecordKeyMode::Kept, &changes.records)?;
        let result = self.take_rows(changes, delta);
        if result.is_err() {
            self.reset(Arc::clone(&self.base));
        }
        result
    }

    fn take_rows(&mut self, changes: &ListingChanges, delta: RowDelta) -> Result<()> {
        if !delta.ids.is_empty() {
            let rows = DecodedBatch::new(self.table(), delta.rows)?;
            self.push(rows, delta.ids, changes.through)?;
        }
        for (id, sequence) in delta.gone {
            self.replace(id, RecordLocation::Gone { sequence })?;
        }
        self.through = changes.through;
        self.merge()
    }

    /// Drops all changes and continues over `base`.
    fn reset(&mut self, base: Arc<TableView>) {
        let next_serial = self.next_serial;
        *self = Self::new(self.listing, base);
        self.next_serial = next_serial;
    }

    fn push(&mut self, rows: DecodedBatch, ids: Vec<Uuid>, through: i64) -> Result<()> {
        let serial = self.next_serial;
        self.next_serial += 1;
        for (row, id) in ids.iter().enumerate() {
            self.replace(*id, RecordLocation::Row { serial, row })?;
        }
        self.batches.push(MemtableBatch {
            serial,
            through,
            dead: zero_bits(ids.len()),
            dead_count: 0,
            ids,
            rows: Arc::new(rows),
        });
        Ok(())
    }

    /// Records the new location of a record and hides its previous row.
    fn replace(&mut self, id: Uuid, place: RecordLocation) -> Result<()> {
        match self.places.insert(id, place) {
            None => hide(&self.base, &mut self.hidden, id)?,
            Some(RecordLocation::Gone { .. }) => {}
            Some(RecordLocation::Row { serial, row }) => {
                let mut batches = self.batches.iter_mut();
                if let Some(batch) = batches.find(|batch| batch.serial == serial) {
                    batch.dead.set_bit(row, true);
                    batch.dead_count += 1;
                }
            }
        }
        Ok(())
    }

    /// Merges the last two batches while the earlier one is no more than twice as large.
    fn merge(&mut self) -> Result<()> {
        while let [.., one, other] = &self.batches[..] {
            let rows = one.alive() + other.alive();
            if one.ids.len() > 2 * other.ids.len() || rows > CHUNK_ROWS_MAX {
                return Ok(());
            }
            let through = one.through.max(other.through);
            let table = self.table();
            let joined = concat_batches(table.arrow(), [&one.alive_rows()?, &other.alive_rows()?])?;
            let joined = DecodedBatch::new(table, joined)?;
            let ids: Vec<Uuid> = [one, other]
                .into_iter()
                .flat_map(|batch| {
                    let ids = batch.ids.iter().enumerate();
                    ids.filter(|(row, _)| !batch.dead.get_bit(*row))
                        .map(|(_, id)| *id)
                })
                .collect();
            self.batches.truncate(self.batches.len() - 2);
            if !ids.is_empty() {
                // Both batches are already removed, so `push` marks none of their rows.
                self.push(joined, ids, through)?;
            }
        }
        Ok(())
    }
}

fn empty_sets(base: &TableView) -> Vec<BooleanBufferBuilder> {
    base.parts()
        .iter()
        .map(|_| BooleanBufferBuilder::new(0))
        .collect()
}

/// Hides the row of a record in the data files, if they hold it.
fn hide(base: &TableView, hidden: &mut [BooleanBufferBuilder], id: Uuid) -> Result<()> {
    let Some(row) = base
        .row_of(&id.to_string())
        .map_err(toise_engine::Error::from)?
    else {
        return Ok(());
    };
    let data_file = row.data_file as usize;
    let bits = &mut hidden[data_file];
    if bits.is_empty() {
        *bits = zero_bits(base.parts()[data_file].data_file.entry().rows as usize);
    }
    bits.set_bit(row.row as usize, true);
    Ok(())
}
