//! Reads Parquet files that toise did not write, in bounded memory.
//!
//! A file of a few kilobytes can announce gigabytes in three ways: pages that decompress to a thousand times their
//! length, a dictionary whose one long text is repeated in every row, and texts that are encoded as differences to the
//! text before. Therefore a file is examined before it is read (`bounds`, `pages`: footer and page headers, about 1 µs
//! per page). Texts are read as views of their pages rather than as copies (`views`), and the text bytes of a batch are
//! counted before it is returned. Code that reads a Parquet file that toise did not write uses [`ForeignParquet`], or
//! has it examine the file before another reader opens it.

mod bounds;
mod pages;
#[cfg(test)]
mod tests;
mod views;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;

/// Maximum bytes of all texts in one batch.
pub const BATCH_TEXT_BYTES_MAX: u64 = 128 << 20;

/// The reason why a Parquet file is refused. Callers add the name of the file.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file is not a Parquet file, or is damaged.
    #[error("not a readable Parquet file: {0}")]
    Unreadable(#[from] ParquetError),
    /// A batch of rows is damaged.
    #[error("after row {row}: damaged Parquet data: {source}")]
    Damaged {
        /// Rows read before the batch.
        row: u64,
        /// The cause.
        source: ArrowError,
    },
    /// A column exceeds a limit, or is malformed.
    #[error("row group {row_group}, column {column:?}: {reason}")]
    Column {
        /// Number of the row group, from 1.
        row_group: usize,
        /// Path of the column.
        column: String,
        /// The fault, for the message.
        reason: String,
    },
    /// The texts are too long.
    #[error(
        "after row {row}: more than {BATCH_TEXT_BYTES_MAX} bytes of text in {rows} rows, most of it in column {column:?}"
    )]
    Texts {
        /// Rows read before the batch.
        row: u64,
        /// Name of the column with the most text.
        column: String,
        /// Rows of the batch.
        rows: usize,
    },
    /// The file as a whole is refused.
    #[error("{0}")]
    File(String),
}

/// Reads the footer of a file. Catches panics: the library that decodes the Arrow schema panics on unknown types.
fn footer(file: &impl ChunkReader) -> Result<ArrowReaderMetadata, ForeignError> {
    let load = || ArrowReaderMetadata::load(file, ArrowReaderOptions::new());
    let loaded = catch_unwind(AssertUnwindSafe(load));
    let unknown = |_| ForeignError::File("its Arrow schema has unknown types".to_owned());
    Ok(loaded.map_err(unknown)??)
}

/// The rows of a Parquet file, in batches.
pub struct ForeignParquet {
    schema: SchemaRef,
    rows: u64,
    batches: ParquetRecordBatchReader,
    /// Rows read so far.
    row: u64,
}

impl ForeignParquet {
    /// Examines a file for another reader, which must read texts as views. Returns the number of rows that a batch may
    /// have, at most `batch_rows`.
    ///
    /// # Errors
    /// It is not a Parquet file, or exceeds a limit.
    pub fn examine(file: &impl ChunkReader, batch_rows: usize) -> Result<usize, ForeignError> {
        bounds::examine(file, footer(file)?.metadata(), batch_rows)
    }

    /// Opens a file and examines it; batches have at most `batch_rows` rows.
    ///
    /// # Errors
    /// It is not a Parquet file, or exceeds a limit.
    pub fn open(file: impl ChunkReader + 'static, batch_rows: usize) -> Result<Self, ForeignError> {
        let footer = footer(&file)?;
        let batch_rows = bounds::examine(&file, footer.metadata(), batch_rows)?;
        let schema = Arc::clone(footer.schema());
        let options = ArrowReaderOptions::new().with_schema(views::schema(&schema));
        let as_views = ArrowReaderMetadata::try_new(Arc::clone(footer.metadata()), options)?;
        let rows = footer.metadata().file_metadata().num_rows();
        Ok(Self {
            schema,
            rows: rows.max(0).unsigned_abs(),
            batches: ParquetRecordBatchReaderBuilder::new_with_metadata(file, as_views)
                .with_batch_size(batch_rows)
                .build()?,
            row: 0,
        })
    }

    /// Returns the columns with the types of the file. Batches have views in place of texts; see [`Self::restored`].
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the names of the columns.
    pub fn names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// Returns the number of rows, as the footer says.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Converts a batch to the types of [`Self::schema`], with copies of its texts.
    ///
    /// # Errors
    /// There is more text than an array of the file's type can hold.
    pub fn restored(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        views::restored(schema, batch)
    }
}

impl Iterator for ForeignParquet {
    type Item = Result<RecordBatch, ForeignError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.row;
        let batch = match self.batches.next()? {
            Ok(batch) => batch,
            Err(source) => return Some(Err(ForeignError::Damaged { row, source })),
        };
        self.row += batch.num_rows() as u64;
        let texts: Vec<u64> = batch.columns().iter().map(views::text_bytes).collect();
        if texts.iter().sum::<u64>() > BATCH_TEXT_BYTES_MAX {
            let longest = (0..texts.len()).max_by_key(|at| texts[*at]);
            let at = longest.unwrap_or_default();
            let column = batch.schema_ref().field(at).name().clone();
            let rows = batch.num_rows();
            return Some(Err(ForeignError::Texts { row, column, rows }));
        }
        Some(Ok(batch))
    }
}
