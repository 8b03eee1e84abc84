//! One state of a table of listings: files, batches in memory, and the rows of either that no longer count.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;

use toise_engine::batch::DecodedBatch;
use toise_engine::decoded::Decoded;
use toise_engine::interrupt::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::scan::{Selected, Visited};
use toise_engine::select::Columns;
use toise_engine::session::ChangedTable;
use toise_engine::view::{Chunk, TableView};
use toise_engine::{Engine, Error};

/// Files, batches, and what is hidden in them.
#[derive(Debug)]
pub struct View {
    pub(super) base: Arc<TableView>,
    /// Hidden rows of each file, one bit a row; `None`: none.
    pub(super) hidden: Vec<Option<BooleanBuffer>>,
    pub(super) tail: Vec<Shown>,
    /// Number of the last change it shows.
    pub(super) through: i64,
}

/// A batch in memory with its hidden rows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub batch: Arc<DecodedBatch>,
    pub hidden: Option<BooleanBuffer>,
}

impl Shown {
    /// The rows that are not hidden.
    pub fn alive_rows(&self) -> Result<RecordBatch, ArrowError> {
        let rows = self.batch.rows();
        match &self.hidden {
            None => Ok(rows.clone()),
            Some(hidden) => filter_record_batch(rows, &BooleanArray::new(!hidden, None)),
        }
    }
}

/// Selected rows of a chunk of a view.
pub struct Rows<'a> {
    /// Number of the chunk in the view: row groups of files first, then batches.
    pub index: usize,
    /// The rows, at least one.
    pub selected: Selected,
    source: Source<'a>,
}

enum Source<'a> {
    File(&'a Visited<'a>),
    Memory(&'a DecodedBatch),
}

impl Rows<'_> {
    /// Those of the rows on which a test holds; rows are counted in the chunk.
    pub fn only(self, holds: impl Fn(usize) -> bool) -> Self {
        let selected = self.selected.only(holds);
        Self { selected, ..self }
    }

    /// A column of the chunk.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn column(&self, column: usize) -> Result<Arc<Decoded>, Error> {
        match self.source {
            Source::File(visited) => visited.column(column),
            Source::Memory(batch) => batch.column(column),
        }
    }
}

impl View {
    /// Number of the last change of the store it shows.
    pub fn through(&self) -> i64 {
        self.through
    }

    /// The same as a table for SQL.
    ///
    /// # Errors
    /// Arrow refuses to leave rows out, which it does for no batch made here.
    pub fn in_sql(self) -> Result<ChangedTable, ArrowError> {
        let rows: Result<_, _> = self.tail.iter().map(Shown::alive_rows).collect();
        Ok(ChangedTable {
            view: self.base,
            hidden: self.hidden,
            rows: rows?,
        })
    }

    /// Visits the rows that a predicate selects, chunk by chunk; see [`Engine::scan`].
    ///
    /// # Errors
    /// A column cannot be read, or nobody waits any more.
    pub fn scan<S: Send>(
        &self,
        engine: &Engine,
        predicate: &Predicate,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, Rows<'_>) -> Result<(), Error> + Sync,
    ) -> Result<Vec<S>, Error> {
        let in_file = |state: &mut S, visited: &Visited| {
            let selected = match self.hidden_in(visited.chunk) {
                Some(hidden) => visited.selected.clone().without(&hidden),
                None => visited.selected.clone(),
            };
            let rows = Rows {
                index: visited.index,
                selected,
                source: Source::File(visited),
            };
            match rows.selected.runs.is_empty() {
                true => Ok(()),
                false => visit(state, rows),
            }
        };
        let mut states = engine.scan(&self.base, predicate, interrupt, &start, in_file)?;
        let mut state = start();
        for (nth, shown) in self.tail.iter().enumerate() {
            interrupt.check()?;
            let mut selected = shown.batch.select(predicate)?;
            if let Some(hidden) = &shown.hidden {
                selected = selected.without(hidden);
            }
            if !selected.runs.is_empty() {
                let rows = Rows {
                    index: self.base.chunks().len() + nth,
                    selected,
                    source: Source::Memory(&shown.batch),
                };
                visit(&mut state, rows)?;
            }
        }
        states.push(state);
        Ok(states)
    }

    /// A column of a chunk by its number.
    ///
    /// # Errors
    /// It cannot be read, or there is no such chunk.
    pub fn column(
        &self,
        engine: &Engine,
        index: usize,
        column: usize,
    ) -> Result<Arc<Decoded>, Error> {
        if let Some(chunk) = self.base.chunks().get(index) {
            return Ok(self.base.column(engine.cache(), chunk, column)?);
        }
        let nth = index - self.base.chunks().len();
        let shown = self.tail.get(nth);
        let shown = shown.ok_or_else(|| Error::UnknownTable(format!("chunk {index}")))?;
        shown.batch.column(column)
    }

    fn hidden_in(&self, chunk: &Chunk) -> Option<BooleanBuffer> {
        let hidden = self.hidden.get(chunk.part as usize)?.as_ref()?;
        Some(hidden.slice(chunk.first_row as usize, chunk.rows as usize))
    }
}
