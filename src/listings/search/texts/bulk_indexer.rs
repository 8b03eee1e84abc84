//! The words of many properties at once, into an index that holds none.
//!
//! Several threads write large segments and nothing is committed before the end: a process that stops on the way leaves
//! the index as it was.

use std::sync::Arc;

use tantivy::IndexWriter;

use super::{NumberedIndex, Result, TextSearch};
use toise_contract::listings::Property;

/// Threads that take texts apart.
const THREADS: usize = 2;
/// Memory in which they gather words before they are written, all together, bytes: few segments, so few merges.
const WRITER_BYTES: usize = 256 << 20;

/// Words being gathered.
pub struct BulkIndexer {
    index: Arc<NumberedIndex>,
    writer: IndexWriter,
}

impl TextSearch {
    /// Begins with the words of many properties, each added once; [`BulkIndexer::finish`] ends it. What the index holds goes.
    ///
    /// # Errors
    /// The index cannot be written, or another process does.
    pub fn fill(&self) -> Result<BulkIndexer> {
        let index = self.present.load_full();
        if index.words.through() > 0 {
            index.words.clear()?;
        }
        let writer = index.words.bulk_writer(THREADS, WRITER_BYTES)?;
        Ok(BulkIndexer { index, writer })
    }
}

impl BulkIndexer {
    /// Adds the words of a property under its number in the store; waits while too many wait. Any thread may.
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

    /// Has all be found, and the index hold every change through a number. Durable on return.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn finish(self, through: i64) -> Result<()> {
        self.index.words.commit_bulk(self.writer, through)
    }
}
