//! Writes rows as geodata: GeoParquet 1.1, GeoJSON and FlatGeobuf, from a stream of batches to any writer.
//!
//! Each row is a point, from a column of longitudes and one of latitudes (WGS 84, degrees). Called by `toise sql` for
//! `--geo`, `.geojson` and `.fgb`, and by SQL over HTTP for all formats but FlatGeobuf. Rows are written as they
//! arrive; only FlatGeobuf keeps something of every row until the end, because its index comes before the rows.

mod flatgeobuf;
mod geojson;
mod geoparquet;
mod json_rows;
mod position;

use std::io::Write;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::error::DataFusionError;

use self::flatgeobuf::FlatGeobufWriter;
use geojson::GeoJsonWriter;
use geoparquet::GeoParquetWriter;
pub use position::PositionColumns;

/// The reason why rows cannot be written as geodata.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rows have no position.
    #[error(
        "no position among the columns {columns}: select a longitude and a latitude as numbers, named lon and lat or \
         longitude and latitude"
    )]
    NoPosition {
        /// Names of the columns, separated by commas.
        columns: String,
    },
    /// A column has a name that the format reserves.
    #[error("the format reserves the column name {0}; rename the column: {0} as other")]
    NameTaken(String),
    /// More rows than fit into the index of a FlatGeobuf file.
    #[error("more than {0} rows; write GeoParquet or GeoJSON instead")]
    TooMany(usize),
    /// The query failed while it ran.
    #[error(transparent)]
    Query(#[from] DataFusionError),
    /// Columns could not be converted.
    #[error("columns: {0}")]
    Arrow(#[from] ArrowError),
    /// Parquet refused the rows.
    #[error("parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A row could not be written as JSON.
    #[error("json: {0}")]
    Json(#[from] serde_json::Error),
    /// FlatGeobuf refused the rows.
    #[error("flatgeobuf: {0}")]
    FlatGeobuf(String),
    /// The output could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A format of geodata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpatialFormat {
    /// GeoParquet 1.1: points as WKB in the column `geometry`, and their boxes in `bbox`.
    GeoParquet,
    /// One GeoJSON feature collection (RFC 7946).
    GeoJson,
    /// FlatGeobuf with a spatial index; rows without a position are skipped.
    FlatGeobuf,
}

impl SpatialFormat {
    /// Returns the format for the name of a file; `.parquet` is GeoParquet only if `geo` is set.
    pub fn of_path(path: &Path, geo: bool) -> Option<Self> {
        match path.extension()?.to_str()? {
            "parquet" if geo => Some(Self::GeoParquet),
            "geojson" => Some(Self::GeoJson),
            "fgb" => Some(Self::FlatGeobuf),
            _ => None,
        }
    }
}

/// Writes batches as geodata.
pub enum SpatialWriter<W: Write + Send> {
    /// GeoParquet.
    GeoParquet(Box<GeoParquetWriter<W>>),
    /// GeoJSON.
    GeoJson(Box<GeoJsonWriter<W>>),
    /// FlatGeobuf.
    FlatGeobuf(Box<FlatGeobufWriter<W>>),
}

impl<W: Write + Send> SpatialWriter<W> {
    /// Starts an output for rows of a schema.
    ///
    /// # Errors
    /// The schema has no position or a name that the format needs; the output cannot be written.
    pub fn start(out: W, schema: &SchemaRef, format: SpatialFormat) -> Result<Self, Error> {
        let position = PositionColumns::of(schema)?;
        Ok(match format {
            SpatialFormat::GeoParquet => {
                Self::GeoParquet(Box::new(GeoParquetWriter::start(out, schema, position)?))
            }
            SpatialFormat::GeoJson => Self::GeoJson(Box::new(GeoJsonWriter::start(out, position)?)),
            SpatialFormat::FlatGeobuf => {
                Self::FlatGeobuf(Box::new(FlatGeobufWriter::start(out, schema, position)?))
            }
        })
    }

    /// Writes the next rows.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match self {
            Self::GeoParquet(writer) => writer.write(batch),
            Self::GeoJson(writer) => writer.write(batch),
            Self::FlatGeobuf(writer) => writer.write(batch),
        }
    }

    /// Ends the output and returns the writer.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(self) -> Result<W, Error> {
        match self {
            Self::GeoParquet(writer) => writer.finish(),
            Self::GeoJson(writer) => writer.finish(),
            Self::FlatGeobuf(writer) => writer.finish(),
        }
    }
}

#[cfg(test)]
mod tests;
