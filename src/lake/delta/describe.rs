//! Describes a data file for the Delta log: its columns and their statistics, read from its footer.

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use parquet::arrow::parquet_to_arrow_schema;
use serde_json::Value;

use super::super::Error;
use super::super::checked::CheckedFile;
use super::super::checksums::DataFileChecksums;
use super::super::data_file::footer;
use super::super::snapshot::DataFileEntry;
use super::statistics;

/// Columns and statistics of a data file.
#[derive(Debug)]
pub(super) struct FileDescription {
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Its statistics in the form of a Delta log.
    pub(super) statistics: Value,
}

/// Reads the footer of a data file, verified against its checksums.
pub(super) fn describe(own: &Path, entry: &DataFileEntry) -> Result<FileDescription, Error> {
    let path = own.join(&entry.file);
    let sums = DataFileChecksums::load(own, &entry.file, &entry.sums)?;
    let file = Arc::new(CheckedFile::open(&path, sums.parquet)?);
    let metadata = footer(&file)?;
    let about = metadata.file_metadata();
    let schema = parquet_to_arrow_schema(about.schema_descr(), about.key_value_metadata())
        .map_err(|error| Error::damaged(&path, error))?;
    Ok(FileDescription {
        statistics: statistics::of_file(&metadata, &schema),
        schema: Arc::new(schema),
    })
}
