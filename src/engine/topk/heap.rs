//! The best k rows that one thread has seen.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use arrow::array::{Array, AsArray, StringArray};
use arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType,
};

use super::column::SortColumn;
use super::keys::{MISSING, day_key, ordered, text_key};
use super::{Hit, SortKey};
use crate::cache::ZONE_ROWS;
use crate::selection::RowRun;

/// The best k rows seen so far that come after a given position.
pub(super) struct TopK<'a> {
    limit: usize,
    after: Option<&'a SortKey>,
    heap: BinaryHeap<Hit>,
    /// The worst key that can still enter the page, shared between threads.
    threshold: &'a AtomicU64,
}

impl<'a> TopK<'a> {
    /// Creates a heap of at most `limit` hits. `threshold` starts at `u64::MAX` and is shared by all threads of one
    /// query.
    pub fn new(limit: usize, after: Option<&'a SortKey>, threshold: &'a AtomicU64) -> Self {
        Self {
            limit,
            after,
            heap: BinaryHeap::with_capacity(limit + 1),
            threshold,
        }
    }

    /// Considers the selected rows of a run.
    pub fn consider(&mut self, chunk: usize, run: &RowRun, sort: &SortColumn) {
        let values = &sort.decoded.values;
        let nulls = values.nulls();
        macro_rules! with_key {
            ($key:expr) => {
                self.consider_keys(chunk, run, sort, |row| match nulls {
                    Some(nulls) if nulls.is_null(row) => MISSING,
                    _ => sort.directed($key(row)),
                })
            };
        }
        match values.data_type() {
            DataType::Float64 => {
                let column = values.as_primitive::<Float64Type>().values();
                with_key!(|row: usize| ordered(column[row]))
            }
            DataType::Int64 => {
                let column = values.as_primitive::<Int64Type>().values();
                with_key!(|row: usize| ordered(column[row] as f64))
            }
            DataType::Int32 => {
                let column = values.as_primitive::<Int32Type>().values();
                with_key!(|row: usize| ordered(f64::from(column[row])))
            }
            DataType::Timestamp(..) => {
                let column = values.as_primitive::<TimestampMillisecondType>().values();
                with_key!(|row: usize| ordered(column[row] as f64))
            }
            DataType::Date32 => {
                let column = values.as_primitive::<Date32Type>().values();
                with_key!(|row: usize| day_key(column[row]))
            }
            DataType::Dictionary(..) => {
                let codes = values.as_dictionary::<Int32Type>().keys().values();
                with_key!(|row: usize| sort.code_keys[codes[row] as usize])
            }
            _ => {
                let column = values.as_string::<i32>();
                with_key!(|row: usize| text_key(column.value(row)))
            }
        }
    }

    fn consider_keys(
        &mut self,
        chunk: usize,
        run: &RowRun,
        sort: &SortColumn,
        key: impl Fn(usize) -> u64,
    ) {
        let first_zone = run.start / ZONE_ROWS;
        let last_zone = (run.start + run.rows).div_ceil(ZONE_ROWS);
        for zone in first_zone..last_zone {
            let mut threshold = self.threshold.load(Memory::Relaxed);
            if sort.best_key(zone) > threshold {
                continue;
            }
            run.for_each_in(zone * ZONE_ROWS, (zone + 1) * ZONE_ROWS, |row| {
                let key = key(row);
                if key <= threshold {
                    self.offer(chunk, row, key, sort.text(row), sort.ids, sort.descending);
                    threshold = self.threshold.load(Memory::Relaxed);
                }
            });
        }
    }

    /// Considers a row by a key of [`super::number_key`] that is not in any column.
    #[inline]
    pub fn consider_one(&mut self, chunk: usize, row: usize, key: u64, ids: &StringArray) {
        if key <= self.threshold.load(Memory::Relaxed) {
            // The direction matters only for texts.
            self.offer(chunk, row, key, None, ids, false);
        }
    }

    fn offer(
        &mut self,
        chunk: usize,
        row: usize,
        key: u64,
        text: Option<&str>,
        ids: &StringArray,
        descending: bool,
    ) {
        let id = ids.value(row);
        if let Some(after) = self.after
            && after.compare(key, text, id) != Ordering::Less
        {
            return;
        }
        if self.heap.len() >= self.limit {
            match self.heap.peek() {
                Some(worst) if worst.place.compare(key, text, id) == Ordering::Greater => {
                    self.heap.pop();
                }
                _ => return,
            }
        }
        let place = SortKey {
            key,
            text: text.map(str::to_owned),
            descending,
            id: id.to_owned(),
        };
        self.heap.push(Hit { place, chunk, row });
        if self.heap.len() >= self.limit
            && let Some(worst) = self.heap.peek()
        {
            self.threshold.fetch_min(worst.place.key, Memory::Relaxed);
        }
    }

    /// Returns the hits, in no particular order.
    pub fn into_hits(self) -> Vec<Hit> {
        self.heap.into_vec()
    }
}
