//! The words of many properties at once, into an index that holds none.
//!
//! Several threads write large segments and nothing is committed before the end: a process that stops on the way leaves
//! the index as it was.

use std::sync::PoisonError;

use tantivy::IndexWriter;

use super::{Result, Texts};
use crate::wire::listings::Property;

/// Threads that take texts apart.
const THREADS: usize = 2;
/// Memory in which they gather words before they are written, all together, bytes: few segments, so few merges.
const WRITER_BYTES: usize = 256 << 20;

/// Words being gathered.
pub struct Filling<'t> {
    texts: &'t Texts,
    writer: IndexWriter,
}

impl Texts {
    /// Begins with the words of many properties, each added once; [`Filling::finish`] ends it. What the index holds goes.
    ///
    /// # Errors
    /// The index cannot be written, or another process does.
    pub fn fill(&self) -> Result<Filling<'_>> {
        if self.through() > 0 {
            self.clear()?;
        }
        // A folder has one writer: the one for changes is opened again when the next one comes.
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(Filling {
            writer: self.index.writer_with_num_threads(THREADS, WRITER_BYTES)?,
            texts: self,
        })
    }
}

impl Filling<'_> {
    /// Adds the words of a property under its number in the store; waits while too many wait. Any thread may.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn add(&self, number: i64, property: &Property) -> Result<()> {
        let texts = [&property.title, &property.description];
        let texts = texts.into_iter().flatten().chain(&property.tags);
        self.writer
            .add_document(self.texts.document(number, texts))?;
        Ok(())
    }

    /// Has all be found, and the index hold every change through a number. Durable on return.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn finish(mut self, through: i64) -> Result<()> {
        self.texts.commit(&mut self.writer, through)?;
        self.writer.wait_merging_threads()?;
        self.texts.reader.reload()?;
        Ok(())
    }
}
