//! Opens the files of a portfolio, and reads them block by block.

use std::fs::File;
use std::path::Path;

use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::error::{Error, Result};
use crate::files::values_file;
use crate::state::{ValuedHome, from_batch};
use toise_base::missing::optional;

/// Opens a Parquet file from a row on; `None` if it does not exist.
pub(super) fn open(
    path: &Path,
    batch_rows: usize,
    first: u64,
) -> Result<Option<ParquetRecordBatchReader>> {
    let Some(file) = optional(File::open(path))? else {
        return Ok(None);
    };
    let rows = ParquetRecordBatchReaderBuilder::try_new(file)?
        .with_batch_size(batch_rows)
        .with_offset(usize::try_from(first).unwrap_or(usize::MAX));
    Ok(Some(rows.build()?))
}

/// Opens the file of a valuation from a row on.
///
/// # Errors
/// [`Error::DamagedValues`] if it is damaged or missing.
pub(super) fn open_values(
    folder: &Path,
    valuation: u32,
    batch_rows: usize,
    first: u64,
) -> Result<ParquetRecordBatchReader> {
    let path = folder.join(values_file(valuation));
    let found = open(&path, batch_rows, first).map_err(Error::of_values)?;
    found.ok_or_else(|| Error::DamagedValues("it is missing".into()))
}

/// Reads the next homes of the file of a valuation; `None` after the last ones.
///
/// # Errors
/// [`Error::DamagedValues`] if it is damaged.
pub(super) fn next_values(rows: &mut ParquetRecordBatchReader) -> Result<Option<Vec<ValuedHome>>> {
    let Some(batch) = rows.next() else {
        return Ok(None);
    };
    let homes = batch
        .map_err(Error::from)
        .and_then(|batch| from_batch(&batch));
    homes.map(Some).map_err(Error::of_values)
}
