//! Reads a data file back as a sorted stream, without removed rows. The rows keep their versions.

use std::collections::HashSet;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;

use super::data_file::DataFile;
use super::merge::SortedStream;
use super::schema::TableSchema;
use super::write::{SortedBatch, content_digests};
use super::{Error, cluster};

/// Rows per batch; few, since a merge holds one such batch per file.
const BATCH_ROWS: usize = 1_024;

/// Returns the rows of a data file in order, except the row numbers in `dead`.
pub fn data_file_stream(
    data_file: &DataFile,
    schema: &'static TableSchema,
    dead: HashSet<u32>,
) -> Result<SortedStream, Error> {
    let versions = data_file.id_index().row_versions()?;
    let mut first_row = 0u32;
    let batches = data_file.batches(BATCH_ROWS)?.map(move |batch| {
        let mut rows = batch?;
        let count = rows.num_rows() as u32;
        let numbers = first_row..first_row + count;
        if !dead.is_empty() {
            let kept: BooleanArray = numbers
                .clone()
                .map(|row| Some(!dead.contains(&row)))
                .collect();
            rows = filter_record_batch(&rows, &kept)?;
        }
        first_row += count;
        Ok(SortedBatch {
            keys: cluster::keys(schema, &rows),
            contents: content_digests(schema, &rows)?,
            versions: numbers
                .filter(|row| !dead.contains(row))
                .map(|row| versions.get(row as usize).copied().unwrap_or_default())
                .collect(),
            rows,
        })
    });
    Ok(Box::new(batches))
}
