//! Bulk indexing: fills an empty text index with many properties at once.
//!
//! Called by bulk loads. Several threads write large segments and nothing is committed before the end, so a process
//! that stops midway leaves the index as it was.

use std::sync::Arc;

use tantivy::IndexWriter;

use super::{NumberedIndex, Result, TextSearch};
use toise_contract::listings::Property;

/// Threads that tokenise texts.
const THREADS: usize = 2;
/// Memory for all of them to buffer postings before writing, bytes: few segments, so few merges.
const WRITER_BYTES: usize = 256 << 20;

/// A bulk load of the text index in progress.
pub struct BulkIndexer {
    index: Arc<NumberedIndex>,
    writer: IndexWriter,
}

impl TextSearch {
    /// Starts a bulk load in which each property is added once; [`BulkIndexer::finish`] ends it. Deletes the current
    /// contents of the index.
    ///
    /// # Errors
    /// The index cannot be written, or another process is writing it.
    pub fn fill(&self) -> Result<BulkIndexer> {
        let index = self.present()?;
        if index.words.through() > 0 {
            index.words.clear()?;
        }
        let writer = index.words.bulk_writer(THREADS, WRITER_BYTES)?;
        Ok(BulkIndexer { index, writer })
    }
}

impl BulkIndexer {
    /// Adds the texts of a property under its number in the store. Blocks while the writer's queue is full. May be
    /// called from any thread.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn add(&self, number: i64, property: &Property) -> Result<()> {
        let texts = [&property.title, &property.description];
        let texts = texts.into_iter().flatten().chain(&property.tags);
        self.writer
            .add_document(self.index.words.document(number, texts))?;
        Ok(())
    }

    /// Commits all added properties as the state of the index at sequence `through`, and makes them searchable. Returns
    /// once the write is durable.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn finish(self, through: i64) -> Result<()> {
        self.index.words.commit_bulk(self.writer, through)
    }
}
