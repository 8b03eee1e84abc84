//! Reads Parquet files whose columns have the published names. Values become text cells as in other containers, so that
//! dates, codes and decimals are parsed in one place.

use std::io::Read;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::block::{Block, Header};
use super::{BlockReader, Error, SourceLocation};

/// Rows decoded per batch: with 230 columns, a few megabytes.
const BATCH_ROWS: usize = 2_048;

/// Reads Parquet. The source is copied to a temporary file first, because the footer is at its end.
pub(super) struct ParquetReader {
    batches: ParquetRecordBatchReader,
    name: String,
    header: Arc<Header>,
    row: u64,
}

impl ParquetReader {
    pub(super) fn new(mut source: impl Read, name: &str) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::reading(SourceLocation::file(name), error);
        let damaged = |error: parquet::errors::ParquetError| {
            Error::malformed(
                SourceLocation::file(name),
                format!("not a readable Parquet file: {error}"),
            )
        };
        let mut file = tempfile::tempfile().map_err(failed)?;
        std::io::copy(&mut source, &mut file).map_err(failed)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
        let names = builder
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        let batches = builder
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(damaged)?;
        Ok(Self {
            batches,
            name: name.to_owned(),
            header: Arc::new(Header { names }),
            row: 0,
        })
    }
}

impl BlockReader for ParquetReader {
    fn next_block(&mut self) -> Result<Option<Block>, Error> {
        let Some(batch) = self.batches.next() else {
            return Ok(None);
        };
        let damaged = |error: arrow::error::ArrowError, row| {
            Error::malformed(
                SourceLocation::line(&self.name, row),
                format!("damaged Parquet data: {error}"),
            )
        };
        let batch = batch.map_err(|error| damaged(error, self.row + 1))?;
        let texts = batch
            .columns()
            .iter()
            .map(|column| match column.data_type() {
                DataType::List(_)
                | DataType::Struct(_)
                | DataType::Map(_, _)
                | DataType::Binary => Ok(None),
                _ => cast(column, &DataType::Utf8).map(Some),
            })
            .collect::<Result<Vec<Option<ArrayRef>>, _>>()
            .map_err(|error| damaged(error, self.row + 1))?;
        let mut block = Block::new(Arc::clone(&self.header));
        for row in 0..batch.num_rows() {
            self.row += 1;
            block.start_row(self.row);
            for text in &texts {
                match text {
                    Some(text) if text.is_valid(row) => {
                        block.push_cell(text.as_string::<i32>().value(row));
                    }
                    _ => block.push_cell(""),
                }
            }
        }
        Ok(Some(block))
    }
}
