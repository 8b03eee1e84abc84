//! Cuts pages of sorted results: the best k rows after a position, with the exact total number of rows, in bounded
//! memory.
//!
//! Every sort value becomes an order-preserving 64-bit key (for texts, the first eight bytes), inverted for descending
//! order; missing values come last in both directions. Almost every row then costs one integer comparison with the k-th
//! key so far; texts and ids are compared only if keys are equal, so ties are ordered by id.
//!
//! Searches of open data and listings, matches, similar properties and previews all cut their pages here: the caller
//! creates a [`TopPage`], each thread of a scan fills a [`Part`] of it, and [`TopPage::finish`] combines the parts.

mod column;
mod heap;
mod keys;
mod place;

use std::sync::atomic::AtomicU64;

use arrow::array::StringArray;

pub use self::column::SortColumn;
use self::heap::TopK;
pub use self::keys::number_key;
pub use self::place::{Hit, SortKey};
use super::selection::Selection;
use toise_contract::position::{CursorPosition, SortValue};

/// A page that is being searched.
pub struct TopPage {
    size: usize,
    after: Option<SortKey>,
    /// The worst key that can still enter the page, shared between threads.
    threshold: AtomicU64,
}

/// The part of a page that one thread found.
pub struct Part<'p> {
    total: u64,
    best: TopK<'p>,
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPage {
    /// Its rows, in order.
    pub hits: Vec<Hit>,
    /// Number of all rows that were offered, on the page or not.
    pub total: u64,
    /// Whether there are rows after it.
    pub has_next: bool,
}

impl TopPage {
    /// Creates a page of `size` rows: those right after a position, or the first ones.
    pub fn new(size: usize, after: Option<SortKey>) -> Self {
        Self {
            size,
            after,
            threshold: AtomicU64::new(u64::MAX),
        }
    }

    /// Creates the part that one thread fills.
    pub fn part(&self) -> Part<'_> {
        // One more than the page, to find out whether there is a next page.
        let limit = self.size + 1;
        Part {
            total: 0,
            best: TopK::new(limit, self.after.as_ref(), &self.threshold),
        }
    }

    /// Combines the parts of all threads.
    pub fn finish(&self, parts: Vec<Part<'_>>) -> FoundPage {
        let (mut total, mut hits) = (0, Vec::new());
        for part in parts {
            total += part.total;
            hits.extend(part.best.into_hits());
        }
        hits.sort_unstable();
        let has_next = hits.len() > self.size;
        hits.truncate(self.size);
        FoundPage {
            hits,
            total,
            has_next,
        }
    }
}

impl Part<'_> {
    /// Offers the selected rows of a chunk, by the values of a column.
    pub fn offer_sorted(&mut self, chunk: usize, selected: &Selection, sort: &SortColumn<'_>) {
        self.total += selected.count();
        for run in &selected.runs {
            self.best.consider(chunk, run, sort);
        }
    }

    /// Offers a row of a chunk by a key of [`number_key`] that is not in any column; `ids` are the ids of the chunk.
    #[inline]
    pub fn offer_scored(&mut self, chunk: usize, row: usize, key: u64, ids: &StringArray) {
        self.total += 1;
        self.best.consider_one(chunk, row, key, ids);
    }

    /// Counts rows that match but have no position in the order.
    pub fn count_unplaced(&mut self, rows: u64) {
        self.total += rows;
    }
}

impl FoundPage {
    /// Returns where the next page starts, if there is one: after the last row, whose sort value `value` returns.
    ///
    /// # Errors
    /// The value cannot be read.
    pub fn next<E>(
        &self,
        state: Option<u64>,
        value: impl FnOnce(&Hit) -> Result<Option<SortValue>, E>,
    ) -> Result<Option<CursorPosition>, E> {
        let (true, Some(last)) = (self.has_next, self.hits.last()) else {
            return Ok(None);
        };
        Ok(Some(CursorPosition {
            value: value(last)?,
            id: last.id().to_owned(),
            state,
        }))
    }
}
