//! Reads the rows of a Parquet file as JSON objects.

use arrow::array::RecordBatch;
use arrow::json::LineDelimitedWriter;
use parquet::file::reader::ChunkReader;
use toise_lake::foreign::ForeignParquet;

use super::lines::Line;

/// Maximum rows decoded at a time.
const BATCH_ROWS: usize = 1_024;

/// The rows of a Parquet file, in order; dates and times are strings in the contract's format.
pub struct ParquetRows {
    batches: ForeignParquet,
    header: Vec<String>,
    rows: std::vec::IntoIter<Result<serde_json::Value, String>>,
    number: u64,
}

impl ParquetRows {
    /// Opens a file and reads the names of its columns.
    ///
    /// # Errors
    /// The file is not a Parquet file, is damaged, or exceeds a limit.
    pub fn new(input: impl ChunkReader + 'static) -> Result<Self, String> {
        let batches = ForeignParquet::open(input, BATCH_ROWS);
        let batches = batches.map_err(|error| error.to_string())?;
        Ok(Self {
            header: batches.names(),
            batches,
            rows: Vec::new().into_iter(),
            number: 0,
        })
    }

    /// Returns the names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }
}

fn rows(batch: &RecordBatch) -> Result<Vec<Result<serde_json::Value, String>>, String> {
    let mut lines = Vec::new();
    let mut writer = LineDelimitedWriter::new(&mut lines);
    writer.write(batch).map_err(|error| error.to_string())?;
    writer.finish().map_err(|error| error.to_string())?;
    let texts = lines.split(|byte| *byte == b'\n');
    let texts = texts.filter(|text| !text.is_empty());
    Ok(texts
        .map(|text| serde_json::from_slice(text).map_err(|error| error.to_string()))
        .collect())
}

impl Iterator for ParquetRows {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                self.number += 1;
                return Some(Ok(Line {
                    number: self.number,
                    row,
                }));
            }
            let batch = self.batches.next()?.map_err(|error| error.to_string());
            match batch.and_then(|batch| rows(&batch)) {
                Ok(rows) => self.rows = rows.into_iter(),
                Err(error) => return Some(Err(std::io::Error::other(error))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, ListArray, StringArray, TimestampMillisecondArray};
    use arrow::datatypes::Int32Type;
    use bytes::Bytes;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn rows_are_objects_without_what_is_null() {
        let seen = TimestampMillisecondArray::from(vec![1_772_841_600_000, 0]);
        let batch = RecordBatch::try_from_iter([
            (
                "titre",
                Arc::new(StringArray::from(vec![Some("T3"), None])) as arrow::array::ArrayRef,
            ),
            ("prix", Arc::new(Float64Array::from(vec![250_000.0, 1.5]))),
            ("vu", Arc::new(seen.with_timezone("UTC"))),
            (
                "pieces",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
                    Some([Some(3)]),
                    None,
                ])),
            ),
        ])
        .unwrap();
        let mut file = Vec::new();
        let writer = parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), None);
        let mut writer = writer.unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let rows = ParquetRows::new(Bytes::from(file)).unwrap();
        assert_eq!(rows.header(), ["titre", "prix", "vu", "pieces"]);
        let read: Vec<_> = rows.map(|line| line.unwrap().row.unwrap()).collect();
        assert_eq!(
            read[0],
            json!({"titre": "T3", "prix": 250_000.0, "vu": "2026-03-07T00:00:00Z", "pieces": [3]})
        );
        assert_eq!(read[1], json!({"prix": 1.5, "vu": "1970-01-01T00:00:00Z"}));
        assert!(ParquetRows::new(Bytes::from_static(b"url,title")).is_err());
    }
}
