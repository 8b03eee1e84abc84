//! Runs a predicate over a view and passes the selected rows, chunk by chunk, to a visitor.
//!
//! Both search and match use this scan, so both see the same rows. Small queries run on the calling thread, large ones
//! on all threads of the caller's rayon pool. Cost: 0.2–2 ns per row and clause in memory; zones and row groups that
//! cannot match cost nothing.

use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::cache::DecodedColumn;
use super::cancellation::Interrupt;
use super::predicate::Predicate;
use super::select::{ColumnSource, select};
pub use super::select::{RowRun, Selection};
use super::view::{RowGroup, TableView};
use super::{Engine, Error};

/// Minimum rows left after pruning for which a scan uses all threads.
const PARALLEL_ROWS_MIN: u64 = 262_144;

/// A chunk with its selected rows.
pub struct ScannedChunk<'a> {
    /// The chunk.
    pub chunk: &'a RowGroup,
    /// Index of the chunk in the view.
    pub index: usize,
    /// The selected rows of the chunk, at least one.
    pub selected: &'a Selection,
    /// The view.
    pub view: &'a TableView,
    engine: &'a Engine,
}

impl ScannedChunk<'_> {
    /// Returns a column of the chunk.
    pub fn column(&self, column: usize) -> Result<Arc<DecodedColumn>, Error> {
        Ok(self.view.column(&self.engine.cache, self.chunk, column)?)
    }
}

impl Engine {
    /// Visits the chunks with rows that the predicate selects. Each thread creates its own state with `start`; the
    /// states are returned in no particular order. Checks `interrupt` between two chunks.
    pub fn scan<S: Send>(
        &self,
        view: &TableView,
        predicate: &Predicate,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &ScannedChunk) -> Result<(), Error> + Sync,
    ) -> Result<Vec<S>, Error> {
        let chunks: Vec<usize> = (0..view.chunks().len())
            .filter(|index| predicate.may_match(&view.chunks()[*index]))
            .collect();
        let one = |state: &mut S, index: usize| -> Result<(), Error> {
            interrupt.check()?;
            let chunk = &view.chunks()[index];
            let selected = select(&ChunkColumns(self, view, chunk), predicate)?;
            if selected.runs.is_empty() {
                return Ok(());
            }
            visit(
                state,
                &ScannedChunk {
                    chunk,
                    index,
                    selected: &selected,
                    view,
                    engine: self,
                },
            )
        };
        let rows: u64 = chunks
            .iter()
            .map(|index| u64::from(view.chunks()[*index].rows))
            .sum();
        if rows < PARALLEL_ROWS_MIN {
            let mut state = start();
            for index in chunks {
                one(&mut state, index)?;
            }
            return Ok(vec![state]);
        }
        chunks
            .par_iter()
            .try_fold(&start, |mut state, index| {
                one(&mut state, *index)?;
                Ok(state)
            })
            .collect()
    }
}

/// The columns of a row group, decoded on demand.
struct ChunkColumns<'a>(&'a Engine, &'a TableView, &'a RowGroup);

impl ColumnSource for ChunkColumns<'_> {
    fn rows(&self) -> usize {
        self.2.rows as usize
    }

    fn column(&self, column: usize) -> Result<Arc<DecodedColumn>, Error> {
        let Self(engine, view, chunk) = self;
        Ok(view.column(&engine.cache, chunk, column)?)
    }

    fn may_hold(&self, column: usize, texts: &[String]) -> Result<bool, Error> {
        let Self(_, view, chunk) = self;
        Ok(view.may_hold(chunk, column, texts)?)
    }
}
