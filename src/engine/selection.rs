//! The rows that a predicate selects, as runs of whole zones, each with its mask.

use arrow::buffer::BooleanBuffer;

use super::kernels::narrow;

/// The rows of a chunk that the predicate selects: runs of whole zones, each with its mask.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Runs in row order.
    pub runs: Vec<RowRun>,
}

/// Contiguous rows of a chunk.
#[derive(Clone, Debug)]
pub struct RowRun {
    /// First row in the chunk; the start of a zone.
    pub start: usize,
    /// Number of rows.
    pub rows: usize,
    /// Mask of the selected rows; `None` if all are selected.
    pub mask: Option<BooleanBuffer>,
}

impl RowRun {
    /// Returns the number of selected rows.
    pub fn count(&self) -> u64 {
        self.mask
            .as_ref()
            .map_or(self.rows, BooleanBuffer::count_set_bits) as u64
    }

    /// Calls `visit` with each selected row of `first..last`; row numbers are relative to the chunk.
    pub fn for_each_in(&self, first: usize, last: usize, mut visit: impl FnMut(usize)) {
        let (first, last) = (first.max(self.start), last.min(self.start + self.rows));
        if first >= last {
            return;
        }
        match &self.mask {
            None => (first..last).for_each(visit),
            Some(mask) => {
                for row in mask.slice(first - self.start, last - first).set_indices() {
                    visit(first + row);
                }
            }
        }
    }
}

impl Selection {
    /// Removes hidden rows; `hidden` has one bit per row of the chunk.
    pub fn without(mut self, hidden: &BooleanBuffer) -> Self {
        for run in &mut self.runs {
            let shown = !&hidden.slice(run.start, run.rows);
            run.mask = Some(match run.mask.take() {
                Some(mask) => &mask & &shown,
                None => shown,
            });
        }
        self.runs.retain(|run| run.count() > 0);
        self
    }

    /// Retains the selected rows on which a test holds; row numbers are relative to the chunk.
    pub fn only(mut self, holds: impl Fn(usize) -> bool) -> Self {
        for run in &mut self.runs {
            let (start, rows) = (run.start, run.rows);
            let all = || BooleanBuffer::collect_bool(rows, |row| holds(start + row));
            let kept = narrow(run.mask.take(), start, rows, [None, None], all, |row| {
                holds(start + row)
            });
            run.mask = Some(kept);
        }
        self.runs.retain(|run| run.count() > 0);
        self
    }

    /// Returns the number of selected rows.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(RowRun::count).sum()
    }

    /// Calls `visit` with each selected row; row numbers are relative to the chunk.
    pub fn for_each(&self, mut visit: impl FnMut(usize)) {
        for run in &self.runs {
            run.for_each_in(run.start, run.start + run.rows, &mut visit);
        }
    }
}
