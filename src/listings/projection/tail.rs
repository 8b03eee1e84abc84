//! What changed since the table was written, as batches of rows, and where each changed property lies now.
//!
//! Batches are merged like runs of the lake: a new one with those before it while they are no more than twice as large.
//! So n changes make about log2(n) batches, and a row is copied as often.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{BooleanArray, BooleanBufferBuilder, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat_batches, filter_record_batch};
use uuid::Uuid;

use super::view::{Shown, View};
use super::{Error, Result};
use crate::engine::batch::DecodedBatch;
use crate::engine::decoded::CHUNK_ROWS_MAX;
use crate::engine::view::TableView;
use crate::listings::columns::{PropertyRows, properties};
use crate::listings::store::{Change, Changed};
use crate::wire::listings::Property;

/// Changes taken at once.
pub const TAKEN_AT_ONCE: usize = 10_000;

/// Changes since the table was written.
pub struct Tail {
    base: Arc<TableView>,
    /// Change the table reaches through.
    base_through: i64,
    /// Rows of the table's files that changed since, one bit a row; empty where none did.
    hidden: Vec<BooleanBufferBuilder>,
    batches: Vec<Batch>,
    /// Where each property that changed since lies now.
    places: HashMap<Uuid, Place>,
    through: i64,
    next_serial: u64,
}

/// Rows that came together, or were merged.
struct Batch {
    serial: u64,
    /// Number of the last change in it.
    through: i64,
    ids: Vec<Uuid>,
    rows: Arc<DecodedBatch>,
    /// Rows that changed again since, one bit a row.
    dead: BooleanBufferBuilder,
    dead_count: usize,
}

/// Where a changed property lies.
#[derive(Clone, Copy)]
enum Place {
    /// In a batch.
    Row { serial: u64, row: usize },
    /// Nowhere: it was joined to another by this change.
    Gone { sequence: i64 },
}

/// What a fold writes.
pub struct Waiting {
    /// The present rows of changed properties.
    pub rows: Vec<RecordBatch>,
    /// Properties that are none any more.
    pub gone: Vec<Uuid>,
    /// Change they reach through.
    pub through: i64,
}

impl Batch {
    fn alive(&self) -> usize {
        self.ids.len() - self.dead_count
    }

    fn hidden(&self) -> Option<BooleanBuffer> {
        (self.dead_count > 0).then(|| self.dead.finish_cloned())
    }

    /// Its rows that did not change again.
    fn alive_rows(&self) -> Result<RecordBatch> {
        let rows = self.rows.rows();
        Ok(match self.hidden() {
            None => rows.clone(),
            Some(hidden) => filter_record_batch(rows, &BooleanArray::new(!&hidden, None))?,
        })
    }
}

fn no_bits(count: usize) -> BooleanBufferBuilder {
    let mut bits = BooleanBufferBuilder::new(count);
    bits.append_n(count, false);
    bits
}

impl Tail {
    /// Nothing changed since this table was written.
    pub fn over(base: Arc<TableView>) -> Self {
        let base_through = base.snapshot().through.unwrap_or(0);
        Self {
            hidden: empty_sets(&base),
            base,
            base_through,
            batches: Vec::new(),
            places: HashMap::new(),
            through: base_through,
            next_serial: 0,
        }
    }

    /// Number of the last change it holds.
    pub fn through(&self) -> i64 {
        self.through
    }

    /// Rows in memory, those that changed again included.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(|batch| batch.ids.len()).sum()
    }

    /// Rows of the table.
    pub fn base_rows(&self) -> usize {
        self.base.snapshot().rows() as usize
    }

    /// The state questions see.
    pub fn view(&self) -> View {
        let hidden = self.hidden.iter();
        View {
            base: Arc::clone(&self.base),
            hidden: hidden
                .map(|bits| (!bits.is_empty()).then(|| bits.finish_cloned()))
                .collect(),
            tail: self
                .batches
                .iter()
                .map(|batch| Shown {
                    batch: Arc::clone(&batch.rows),
                    hidden: batch.hidden(),
                })
                .collect(),
            through: self.through,
        }
    }

    /// Goes over to a table that was written anew; says whether it is another one.
    ///
    /// # Errors
    /// Its id indexes cannot be read; the tail then stays on the former table.
    pub fn rebase(&mut self, base: Arc<TableView>) -> Result<bool> {
        if Arc::ptr_eq(&base, &self.base) {
            return Ok(false);
        }
        let base_through = base.snapshot().through.unwrap_or(0);
        if base_through > self.through || base_through < self.base_through {
            // Written by who saw more, or put back: what lies here says nothing about it.
            let next_serial = self.next_serial;
            *self = Self::over(base);
            self.next_serial = next_serial;
            return Ok(true);
        }
        let mut hidden = empty_sets(&base);
        let is_kept = |batch: &Batch| batch.through > base_through;
        let kept: Vec<u64> = self
            .batches
            .iter()
            .filter(|batch| is_kept(batch))
            .map(|batch| batch.serial)
            .collect();
        let mut places = HashMap::new();
        for (id, place) in &self.places {
            let stays = match place {
                Place::Row { serial, .. } => kept.contains(serial),
                Place::Gone { sequence } => *sequence > base_through,
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
        Ok(true)
    }

    /// Takes changes in the order of their numbers; says whether properties are among them.
    ///
    /// # Errors
    /// A record cannot be read: nothing was taken.
    pub fn take(&mut self, changes: Vec<Change>) -> Result<bool> {
        let Some(through) = changes.last().map(|change| change.sequence) else {
            return Ok(false);
        };
        let (mut rows, mut ids, mut gone) = (PropertyRows::default(), Vec::new(), Vec::new());
        for change in changes {
            match change.record {
                Changed::Advert { .. } => {}
                Changed::Property {
                    id, record: None, ..
                } => gone.push((id.0, change.sequence)),
                Changed::Property {
                    number,
                    id,
                    record: Some(record),
                } => {
                    let property: Property =
                        serde_json::from_slice(&record).map_err(|error| Error::Record {
                            id: id.to_string(),
                            error,
                        })?;
                    rows.push(number, &property)?;
                    ids.push(id.0);
                }
            }
        }
        let is_changed = !ids.is_empty() || !gone.is_empty();
        if !ids.is_empty() {
            let rows = DecodedBatch::new(properties(), rows.finish()?)?;
            self.push(rows, ids, through)?;
        }
        for (id, sequence) in gone {
            self.replace(id, Place::Gone { sequence })?;
        }
        self.through = through;
        self.merge()?;
        Ok(is_changed)
    }

    /// What a fold has to write; `None` when nothing changed.
    pub fn waiting(&self) -> Result<Option<Waiting>> {
        if self.through == self.base_through {
            return Ok(None);
        }
        let rows: Result<Vec<RecordBatch>> = self.batches.iter().map(Batch::alive_rows).collect();
        let gone = self.places.iter();
        Ok(Some(Waiting {
            rows: rows?,
            gone: gone
                .filter(|(_, place)| matches!(place, Place::Gone { .. }))
                .map(|(id, _)| *id)
                .collect(),
            through: self.through,
        }))
    }

    fn push(&mut self, rows: DecodedBatch, ids: Vec<Uuid>, through: i64) -> Result<()> {
        let serial = self.next_serial;
        self.next_serial += 1;
        for (row, id) in ids.iter().enumerate() {
            self.replace(*id, Place::Row { serial, row })?;
        }
        self.batches.push(Batch {
            serial,
            through,
            dead: no_bits(ids.len()),
            dead_count: 0,
            ids,
            rows: Arc::new(rows),
        });
        Ok(())
    }

    /// Notes where a property lies from now on, and hides it where it lay before.
    fn replace(&mut self, id: Uuid, place: Place) -> Result<()> {
        match self.places.insert(id, place) {
            None => hide(&self.base, &mut self.hidden, id)?,
            Some(Place::Gone { .. }) => {}
            Some(Place::Row { serial, row }) => {
                let mut batches = self.batches.iter_mut();
                if let Some(batch) = batches.find(|batch| batch.serial == serial) {
                    batch.dead.set_bit(row, true);
                    batch.dead_count += 1;
                }
            }
        }
        Ok(())
    }

    /// Merges the last batches while the one before is no more than twice as large.
    fn merge(&mut self) -> Result<()> {
        while let [.., one, other] = &self.batches[..] {
            let rows = one.alive() + other.alive();
            if one.ids.len() > 2 * other.ids.len() || rows > CHUNK_ROWS_MAX {
                return Ok(());
            }
            let through = one.through.max(other.through);
            let joined = concat_batches(
                properties().arrow(),
                [&one.alive_rows()?, &other.alive_rows()?],
            )?;
            let joined = DecodedBatch::new(properties(), joined)?;
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
                // Both are gone already, so that nothing of them is marked.
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

/// Hides a row of the table, if it holds the property.
fn hide(base: &TableView, hidden: &mut [BooleanBufferBuilder], id: Uuid) -> Result<()> {
    let Some(row) = base
        .row_of(&id.to_string())
        .map_err(crate::engine::Error::from)?
    else {
        return Ok(());
    };
    let part = row.part as usize;
    let bits = &mut hidden[part];
    if bits.is_empty() {
        *bits = no_bits(base.parts()[part].part.entry().rows as usize);
    }
    bits.set_bit(row.row as usize, true);
    Ok(())
}
