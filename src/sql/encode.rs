//! Encodes rows in a format, batch by batch, for HTTP responses and the files that the command line writes.
//!
//! Memory use is constant: a batch is written as soon as it arrives, and a Parquet row group ends after
//! `ROW_GROUP_ROWS` rows or `ROW_GROUP_BYTES` bytes.

use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use bytes::Bytes;
use parking_lot::Mutex;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as ParquetCompression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};

use toise_base::formula::Formulas;
use toise_engine::csv_rows::CsvWriter;
use toise_engine::spatial::{self, SpatialFormat, SpatialWriter};

/// Rows of a Parquet row group.
const ROW_GROUP_ROWS: usize = 65_536;
/// Bytes of a row group in memory after which it ends early.
const ROW_GROUP_BYTES: usize = 32 << 20;
/// Bytes that are collected before they are sent as one piece.
const PIECE_BYTES: usize = 256 << 10;
/// Level of zstd: a fast one, since a client is waiting.
const ZSTD_LEVEL: i32 = 1;

toise_base::named! {
    /// A format of rows, with the name that requests use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum RowFormat {
        /// One JSON array.
        Json = "json",
        /// Arrow IPC stream.
        Arrow = "arrow",
        /// Parquet, compressed with zstd.
        Parquet = "parquet",
        /// CSV with a header; nested values as JSON text.
        Csv = "csv",
        /// One JSON object per line.
        Ndjson = "ndjson",
        /// GeoParquet 1.1: Parquet with a point for each row.
        GeoParquet = "geoparquet",
        /// One GeoJSON feature collection.
        GeoJson = "geojson",
        /// CSV with an apostrophe in front of cells that a spreadsheet would run as formulas.
        SafeCsv = "safe-csv",
    }
}

impl RowFormat {
    /// Returns the format of CSV with formulas kept or escaped.
    pub fn csv(formulas: Formulas) -> Self {
        match formulas {
            Formulas::Kept => RowFormat::Csv,
            Formulas::Escaped => RowFormat::SafeCsv,
        }
    }

    /// Returns its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            RowFormat::Arrow => "application/vnd.apache.arrow.stream",
            RowFormat::Parquet | RowFormat::GeoParquet => "application/vnd.apache.parquet",
            RowFormat::Csv | RowFormat::SafeCsv => "text/csv",
            RowFormat::Json => "application/json",
            RowFormat::Ndjson => "application/x-ndjson",
            RowFormat::GeoJson => "application/geo+json",
        }
    }

    /// Returns whether it is text, which is compressed as a whole.
    pub fn is_text(self) -> bool {
        use RowFormat::{Csv, GeoJson, Json, Ndjson, SafeCsv};
        matches!(self, Csv | SafeCsv | Json | Ndjson | GeoJson)
    }
}

/// The reason why rows cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// A value has no form in the format.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// Parquet cannot hold a column.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The rows have no position, or a column has a name that the format reserves.
    #[error(transparent)]
    Spatial(#[from] spatial::Error),
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A writer of batches of one schema to `W`.
pub enum RowWriter<W: Write + Send> {
    /// Arrow IPC stream.
    Arrow(Box<StreamWriter<W>>),
    /// Parquet.
    Parquet(Box<ArrowWriter<W>>),
    /// CSV.
    Csv(Box<CsvWriter<W>>),
    /// JSON array.
    Json(Box<arrow::json::ArrayWriter<W>>),
    /// JSON lines.
    Ndjson(Box<arrow::json::LineDelimitedWriter<W>>),
    /// GeoParquet or GeoJSON.
    Spatial(Box<SpatialWriter<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Starts to write rows of a schema. `compresses` applies only to Arrow, which compresses inside the format.
    ///
    /// # Errors
    /// The format cannot hold a column of the schema, or `out` fails.
    pub fn new(
        mut out: W,
        format: RowFormat,
        schema: &SchemaRef,
        compresses: bool,
    ) -> Result<Self, EncodeError> {
        let json = || arrow::json::WriterBuilder::new().with_explicit_nulls(true);
        Ok(match format {
            RowFormat::Arrow => {
                let codec = compresses.then_some(CompressionType::ZSTD);
                let options = IpcWriteOptions::default().try_with_compression(codec)?;
                let writer = StreamWriter::try_new_with_options(out, schema, options)?;
                Self::Arrow(Box::new(writer))
            }
            RowFormat::Parquet => {
                let zstd = ParquetCompression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?);
                let properties = WriterProperties::builder()
                    .set_compression(zstd)
                    .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
                    .build();
                let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties))?;
                Self::Parquet(Box::new(writer))
            }
            RowFormat::Csv => Self::Csv(Box::new(CsvWriter::new(out, schema, Formulas::Kept)?)),
            RowFormat::SafeCsv => {
                Self::Csv(Box::new(CsvWriter::new(out, schema, Formulas::Escaped)?))
            }
            RowFormat::Json => Self::Json(Box::new(json().build(out))),
            RowFormat::Ndjson => {
                out.flush()?;
                Self::Ndjson(Box::new(json().build(out)))
            }
            RowFormat::GeoParquet => {
                let writer = SpatialWriter::start(out, schema, SpatialFormat::GeoParquet)?;
                Self::Spatial(Box::new(writer))
            }
            RowFormat::GeoJson => {
                let writer = SpatialWriter::start(out, schema, SpatialFormat::GeoJson)?;
                Self::Spatial(Box::new(writer))
            }
        })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// A value has no form in the format, or `out` fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), EncodeError> {
        match self {
            Self::Arrow(writer) => writer.write(batch)?,
            Self::Parquet(writer) => {
                writer.write(batch)?;
                if writer.in_progress_size() > ROW_GROUP_BYTES {
                    writer.flush()?;
                }
            }
            Self::Csv(writer) => writer.write(batch)?,
            Self::Json(writer) => writer.write(batch)?,
            Self::Ndjson(writer) => writer.write(batch)?,
            Self::Spatial(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Writes the end of the format, and returns the output.
    ///
    /// # Errors
    /// `out` fails.
    pub fn finish(self) -> Result<W, EncodeError> {
        Ok(match self {
            Self::Arrow(mut writer) => {
                writer.finish()?;
                writer.into_inner()?
            }
            Self::Parquet(writer) => writer.into_inner()?,
            Self::Csv(writer) => writer.into_inner(),
            Self::Json(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Self::Ndjson(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Self::Spatial(writer) => writer.finish()?,
        })
    }
}

/// A buffer shared by the writer and the encoder.
#[derive(Clone, Debug, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An encoder of batches into pieces of bytes.
pub struct Encoder {
    writer: RowWriter<Box<dyn Write + Send>>,
    format: RowFormat,
    written: SharedBuffer,
}

impl Encoder {
    /// Starts a result. JSON is wrapped as `{"data": …}`. If `compresses`, a text format is one zstd frame, and Arrow
    /// compresses its buffers.
    ///
    /// # Errors
    /// The format cannot hold a column of the schema.
    pub fn new(
        format: RowFormat,
        schema: &SchemaRef,
        compresses: bool,
    ) -> Result<Self, EncodeError> {
        let written = SharedBuffer::default();
        let mut out: Box<dyn Write + Send> = if compresses && format.is_text() {
            let frame = zstd::stream::write::Encoder::new(written.clone(), ZSTD_LEVEL)?;
            Box::new(frame.auto_finish())
        } else {
            Box::new(written.clone())
        };
        if format == RowFormat::Json {
            out.write_all(br#"{"data":"#)?;
        }
        Ok(Self {
            writer: RowWriter::new(out, format, schema, compresses)?,
            format,
            written,
        })
    }

    /// Encodes rows, and returns a piece once enough bytes are collected.
    ///
    /// # Errors
    /// A value has no form in the format.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<Option<Bytes>, EncodeError> {
        self.writer.write(batch)?;
        let mut written = self.written.0.lock();
        let bytes = written.len();
        // The next piece will be about as long.
        let mut take = || std::mem::replace(&mut *written, Vec::with_capacity(bytes));
        Ok((bytes >= PIECE_BYTES).then(|| Bytes::from(take())))
    }

    /// Ends the result and returns the last piece.
    ///
    /// # Errors
    /// The encoder fails, for a reason other than the rows.
    pub fn finish(self) -> Result<Bytes, EncodeError> {
        let mut out = self.writer.finish()?;
        if self.format == RowFormat::Json {
            out.write_all(b"}")?;
        }
        // Ends the frame of compressed text.
        drop(out);
        let mut written = self.written.0.lock();
        Ok(Bytes::from(std::mem::take(&mut *written)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        ArrayRef, DictionaryArray, Int64Array, ListArray, StringArray, StringViewArray,
    };
    use arrow::datatypes::{Int32Type, Int64Type};

    fn batch() -> RecordBatch {
        let lists =
            ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None]);
        let columns: [(&str, ArrayRef, bool); 3] = [
            ("n", Arc::new(Int64Array::from(vec![1, 2])), true),
            (
                "t",
                Arc::new(StringArray::from(vec![Some("a,b"), None])),
                true,
            ),
            ("l", Arc::new(lists), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn encoded(format: RowFormat, compresses: bool, batches: &[RecordBatch]) -> Vec<u8> {
        let mut encoder = Encoder::new(format, &batch().schema(), compresses).unwrap();
        let mut all = Vec::new();
        for batch in batches {
            all.extend(encoder.write(batch).unwrap().unwrap_or_default());
        }
        all.extend(encoder.finish().unwrap());
        all
    }

    #[test]
    fn lists_are_json_in_csv_and_an_answer_without_rows_keeps_its_header() {
        let text = |rows: &[RecordBatch]| String::from_utf8(encoded(RowFormat::Csv, false, rows));
        assert_eq!(text(&[]).unwrap(), "n,t,l\n");
        assert_eq!(
            text(&[batch()]).unwrap(),
            "n,t,l\n1,\"a,b\",\"[1,null]\"\n2,,\n"
        );
    }

    #[test]
    fn a_spreadsheet_runs_no_cell_of_safe_csv() {
        let words: DictionaryArray<Int32Type> = [Some("@x"), None].into_iter().collect();
        let columns: [(&str, ArrayRef, bool); 4] = [
            ("=n", Arc::new(Int64Array::from(vec![-1, 2])), true),
            ("t", Arc::new(StringArray::from(vec!["=1+1", "-1.5"])), true),
            ("v", Arc::new(StringViewArray::from(vec!["+1", "a"])), true),
            ("d", Arc::new(words), true),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let text = |format| {
            let mut encoder = Encoder::new(format, &batch.schema(), false).unwrap();
            encoder.write(&batch).unwrap();
            String::from_utf8(encoder.finish().unwrap().to_vec()).unwrap()
        };
        let safe = "'=n,t,v,d\n-1,'=1+1,'+1,'@x\n2,-1.5,a,\n";
        assert_eq!(text(RowFormat::SafeCsv), safe);
        assert_eq!(text(RowFormat::Csv), safe.replace('\'', ""));
    }

    #[test]
    fn json_names_every_column_and_is_wrapped() {
        let text = |rows: &[RecordBatch]| String::from_utf8(encoded(RowFormat::Json, false, rows));
        assert_eq!(text(&[]).unwrap(), r#"{"data":[]}"#);
        assert_eq!(
            text(&[batch()]).unwrap(),
            r#"{"data":[{"n":1,"t":"a,b","l":[1,null]},{"n":2,"t":null,"l":null}]}"#
        );
        let lines = encoded(RowFormat::Ndjson, true, &[batch()]);
        let lines = zstd::decode_all(lines.as_slice()).unwrap();
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 2);
    }

    #[test]
    fn arrow_and_parquet_are_read_back_as_they_were() {
        for compresses in [false, true] {
            let bytes = encoded(RowFormat::Arrow, compresses, &[batch(), batch()]);
            let reader = arrow::ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
            assert_eq!(
                reader.map(Result::unwrap).collect::<Vec<_>>(),
                [batch(), batch()]
            );
        }
        let bytes = Bytes::from(encoded(RowFormat::Parquet, false, &[batch()]));
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(bytes, 10);
        assert_eq!(
            reader.unwrap().map(Result::unwrap).collect::<Vec<_>>(),
            [batch()]
        );
    }
}
