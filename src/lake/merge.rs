//! Merges sorted streams of rows into one. Memory is bounded: the current batch of each stream, the batches that the
//! next output is built from, and the output.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;

use super::Error;
use super::write::SortedBatch;

/// A sequence of sorted batches, in order.
pub type SortedStream = Box<dyn Iterator<Item = Result<SortedBatch, Error>> + Send>;

/// Merges sorted streams. Rows with equal keys keep the order of their streams.
pub struct Merge {
    streams: Vec<SortedStream>,
    /// Batches that the next output is built from; a stream's current one is `current[stream]`.
    held: Vec<SortedBatch>,
    current: Vec<usize>,
    next_row: Vec<usize>,
    heap: BinaryHeap<Reverse<(u128, usize)>>,
    output_rows: usize,
}

impl Merge {
    /// Starts merging; output batches have at most `output_rows` rows.
    pub fn start(streams: Vec<SortedStream>, output_rows: usize) -> Result<Self, Error> {
        let count = streams.len();
        let mut merge = Self {
            streams,
            held: Vec::new(),
            current: vec![usize::MAX; count],
            next_row: vec![0; count],
            heap: BinaryHeap::new(),
            output_rows,
        };
        for stream in 0..count {
            merge.advance(stream)?;
        }
        Ok(merge)
    }

    /// Reads the next batch of a stream whose current one is exhausted, and puts its first row on the heap.
    fn advance(&mut self, stream: usize) -> Result<(), Error> {
        for batch in self.streams[stream].by_ref() {
            let batch = batch?;
            if let Some(key) = batch.keys.first() {
                self.heap.push(Reverse((*key, stream)));
                self.current[stream] = self.held.len();
                self.next_row[stream] = 0;
                self.held.push(batch);
                return Ok(());
            }
        }
        self.current[stream] = usize::MAX;
        Ok(())
    }

    /// Drops batches that are no longer needed.
    fn release(&mut self) {
        let mut kept = Vec::new();
        for (index, batch) in std::mem::take(&mut self.held).into_iter().enumerate() {
            if let Some(stream) = self.current.iter().position(|current| *current == index) {
                kept.push((stream, batch));
            }
        }
        for (stream, batch) in kept {
            self.current[stream] = self.held.len();
            self.held.push(batch);
        }
    }

    fn next_output(&mut self) -> Result<Option<SortedBatch>, Error> {
        let mut indices = Vec::with_capacity(self.output_rows);
        let mut keys = Vec::with_capacity(self.output_rows);
        let mut contents = Vec::with_capacity(self.output_rows);
        let mut versions = Vec::with_capacity(self.output_rows);
        while indices.len() < self.output_rows {
            let Some(Reverse((key, stream))) = self.heap.pop() else {
                break;
            };
            let batch = self.current[stream];
            let row = self.next_row[stream];
            indices.push((batch, row));
            keys.push(key);
            contents.push(self.held[batch].contents[row]);
            versions.push(self.held[batch].versions[row]);
            self.next_row[stream] = row + 1;
            match self.held[batch].keys.get(row + 1) {
                Some(next) => self.heap.push(Reverse((*next, stream))),
                None => self.advance(stream)?,
            }
        }
        if indices.is_empty() {
            return Ok(None);
        }
        let batches: Vec<&RecordBatch> = self.held.iter().map(|batch| &batch.rows).collect();
        let rows = interleave_record_batch(&batches, &indices)?;
        self.release();
        Ok(Some(SortedBatch {
            rows,
            keys,
            contents,
            versions,
        }))
    }
}

impl Iterator for Merge {
    type Item = Result<SortedBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_output().transpose()
    }
}
