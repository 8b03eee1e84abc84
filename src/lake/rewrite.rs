//! Reads a data file back as a sorted stream, without removed rows.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;

use super::data_file::DataFile;
use super::merge::SortedStream;
use super::schema::TableSchema;
use super::write::{SortedBatch, content_digests};
use super::{Error, cluster};

/// Rows per batch; few, since a merge holds one such batch per file.
const BATCH_ROWS: usize = 1_024;

/// The rows of a data file in order, except the row numbers in `dead`.
pub fn data_file_stream(
    data_file: &DataFile,
    schema: &'static TableSchema,
    dead: HashSet<u32>,
) -> Result<SortedStream, Error> {
    let mut first_row = 0u32;
    let batches = data_file.batches(BATCH_ROWS)?.map(move |batch| {
        let batch = batch?;
        // The file's own schema may differ in metadata, so the table's schema is used.
        let mut rows = RecordBatch::try_new(Arc::clone(schema.arrow()), batch.columns().to_vec())?;
        let count = rows.num_rows() as u32;
        if !dead.is_empty() {
            let kept: BooleanArray = (first_row..first_row + count)
                .map(|row| Some(!dead.contains(&row)))
                .collect();
            rows = filter_record_batch(&rows, &kept)?;
        }
        first_row += count;
        Ok(SortedBatch {
            keys: cluster::keys(schema, &rows),
            contents: content_digests(&rows)?,
            rows,
        })
    });
    Ok(Box::new(batches))
}
