//! Views of a table of listings: data files, memtable batches, and the hidden rows of both.
//!
//! A view never changes. Searches scan it, and SQL reads it as a merge-on-read table.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;

use toise_engine::batch::DecodedBatch;
use toise_engine::cancellation::Interrupt;
use toise_engine::decoded::DecodedColumn;
use toise_engine::predicate::Predicate;
use toise_engine::scan::{ScannedChunk, Selection};
use toise_engine::select::ColumnSource;
use toise_engine::session::MergeOnReadTable;
use toise_engine::view::{RowGroup, TableView};
use toise_engine::{Engine, Error};

/// Data files and memtable batches with their hidden rows.
#[derive(Debug)]
pub struct ProjectionView {
    pub(super) base: Arc<TableView>,
    /// Hidden rows of each data file, one bit per row; `None` for a file without any.
    pub(super) hidden: Vec<Option<BooleanBuffer>>,
    pub(super) memtable: Vec<VisibleBatch>,
    /// Sequence of the last change it shows.
    pub(super) through: i64,
}

/// A memtable batch with its hidden rows.
#[derive(Clone, Debug)]
pub(super) struct VisibleBatch {
    pub batch: Arc<DecodedBatch>,
    pub hidden: Option<BooleanBuffer>,
}

impl VisibleBatch {
    /// Copies the rows that are not hidden.
    pub fn alive_rows(&self) -> Result<RecordBatch, ArrowError> {
        let rows = self.batch.rows();
        match &self.hidden {
            None => Ok(rows.clone()),
            Some(hidden) => filter_record_batch(rows, &BooleanArray::new(!hidden, None)),
        }
    }
}

/// Selected rows of a chunk of a view.
pub struct SelectedRows<'a> {
    /// Number of the chunk in the view: row groups of data files first, then batches.
    pub index: usize,
    /// The rows, at least one.
    pub selected: Selection,
    source: ChunkSource<'a>,
}

enum ChunkSource<'a> {
    File(&'a ScannedChunk<'a>),
    Memory(&'a DecodedBatch),
}

impl SelectedRows<'_> {
    /// Keeps the rows whose position in the chunk passes a test.
    pub fn only(self, holds: impl Fn(usize) -> bool) -> Self {
        let selected = self.selected.only(holds);
        Self { selected, ..self }
    }

    /// Decodes a column of the chunk.
    ///
    /// # Errors
    /// The column cannot be read.
    pub fn column(&self, column: usize) -> Result<Arc<DecodedColumn>, Error> {
        match self.source {
            ChunkSource::File(visited) => visited.column(column),
            ChunkSource::Memory(batch) => batch.column(column),
        }
    }
}

impl ProjectionView {
    /// Returns the sequence of the last change of the store that it shows.
    pub fn through(&self) -> i64 {
        self.through
    }

    /// Converts the view to a merge-on-read table for SQL.
    ///
    /// # Errors
    /// Arrow fails to filter a batch, which cannot happen with batches built here.
    pub fn into_merge_on_read(self) -> Result<MergeOnReadTable, ArrowError> {
        let rows: Result<_, _> = self.memtable.iter().map(VisibleBatch::alive_rows).collect();
        Ok(MergeOnReadTable {
            through: self.through,
            view: self.base,
            hidden: self.hidden,
            rows: rows?,
        })
    }

    /// Visits the rows that a predicate selects, chunk by chunk; see [`Engine::scan`].
    ///
    /// # Errors
    /// A column cannot be read, or the query is cancelled.
    pub fn scan<S: Send>(
        &self,
        engine: &Engine,
        predicate: &Predicate,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, SelectedRows<'_>) -> Result<(), Error> + Sync,
    ) -> Result<Vec<S>, Error> {
        let in_file = |state: &mut S, visited: &ScannedChunk| {
            let selected = match self.hidden_in(visited.chunk) {
                Some(hidden) => visited.selected.clone().without(&hidden),
                None => visited.selected.clone(),
            };
            let rows = SelectedRows {
                index: visited.index,
                selected,
                source: ChunkSource::File(visited),
            };
            if rows.selected.runs.is_empty() {
                Ok(())
            } else {
                visit(state, rows)
            }
        };
        let mut states = engine.scan(&self.base, predicate, interrupt, &start, in_file)?;
        let mut state = start();
        for (nth, shown) in self.memtable.iter().enumerate() {
            interrupt.check()?;
            let mut selected = shown.batch.select(predicate)?;
            if let Some(hidden) = &shown.hidden {
                selected = selected.without(hidden);
            }
            if !selected.runs.is_empty() {
                let rows = SelectedRows {
                    index: self.base.chunks().len() + nth,
                    selected,
                    source: ChunkSource::Memory(&shown.batch),
                };
                visit(&mut state, rows)?;
            }
        }
        states.push(state);
        Ok(states)
    }

    /// Decodes a column of a chunk, given by its number.
    ///
    /// # Errors
    /// The column cannot be read, or there is no such chunk.
    pub fn column(
        &self,
        engine: &Engine,
        index: usize,
        column: usize,
    ) -> Result<Arc<DecodedColumn>, Error> {
        if let Some(chunk) = self.base.chunks().get(index) {
            return Ok(self.base.column(engine.cache(), chunk, column)?);
        }
        let nth = index - self.base.chunks().len();
        let shown = self.memtable.get(nth);
        let shown = shown.ok_or_else(|| Error::UnknownTable(format!("chunk {index}")))?;
        shown.batch.column(column)
    }

    fn hidden_in(&self, chunk: &RowGroup) -> Option<BooleanBuffer> {
        let hidden = self.hidden.get(chunk.data_file as usize)?.as_ref()?;
        Some(hidden.slice(chunk.first_row as usize, chunk.rows as usize))
    }
}
