//! Converts Arrow files and streams to Parquet, so that callers read columns in only one way.

use std::fs::File;
use std::io::{BufReader, Read, Seek};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;

use crate::error::Error;

/// First bytes of the file format; the stream format has none.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Converts a file; returns a temporary file, positioned at its beginning.
///
/// # Errors
/// The file is damaged, or has a column that Parquet cannot hold.
pub(crate) fn to_parquet(mut file: File) -> Result<File, Error> {
    let mut magic = Vec::with_capacity(FILE_MAGIC.len());
    (&mut file)
        .take(FILE_MAGIC.len() as u64)
        .read_to_end(&mut magic)?;
    file.rewind()?;
    let damaged = |error: ArrowError| Error::Refused(format!("damaged Arrow data: {error}"));
    let source = BufReader::new(file);
    if magic == FILE_MAGIC {
        let batches = FileReader::try_new(source, None).map_err(damaged)?;
        write(batches.schema(), batches)
    } else {
        let batches = StreamReader::try_new(source, None).map_err(damaged)?;
        write(batches.schema(), batches)
    }
}

fn write(
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
) -> Result<File, Error> {
    let failed = |error: ParquetError| Error::Refused(format!("a column cannot be read: {error}"));
    let mut file = tempfile::tempfile()?;
    let mut writer = ArrowWriter::try_new(file.try_clone()?, schema, None).map_err(failed)?;
    for batch in batches {
        let batch =
            batch.map_err(|error| Error::Refused(format!("damaged Arrow data: {error}")))?;
        writer.write(&batch).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    file.rewind()?;
    Ok(file)
}
