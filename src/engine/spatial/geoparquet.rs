//! GeoParquet 1.1: the columns unchanged, the points as WKB in `geometry`, and their boxes in `bbox`. Readers use the
//! statistics of the boxes to skip row groups that are elsewhere (the "covering" of the standard).

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, Float64Array, RecordBatch, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use serde_json::json;

use super::Error;
use super::position::PositionColumns;
use toise_lake::geoparquet::{BBOX, GEOMETRY, edges, metadata, properties};

/// Rows per row group: small enough that, in spatial order, a query for a city skips most of a country.
const GROUP_ROWS: usize = 65_536;
/// Length of a point in WKB: byte order, type, two numbers.
const POINT_BYTES: usize = 21;

/// Writes GeoParquet, compressed with zstd.
pub struct GeoParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    position: PositionColumns,
    /// West, south, east and north of all points so far.
    extent: Option<[f64; 4]>,
}

impl<W: Write + Send> GeoParquetWriter<W> {
    pub(super) fn start(
        out: W,
        schema: &SchemaRef,
        position: PositionColumns,
    ) -> Result<Self, Error> {
        let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
        for name in [GEOMETRY, BBOX] {
            if fields.iter().any(|field| field.name() == name) {
                return Err(Error::NameTaken(name.to_owned()));
            }
        }
        fields.push(Arc::new(Field::new(GEOMETRY, DataType::Binary, true)));
        fields.push(Arc::new(Field::new(BBOX, DataType::Struct(edges()), true)));
        let schema = Arc::new(Schema::new(fields));
        let properties = Some(properties(GROUP_ROWS));
        Ok(Self {
            writer: ArrowWriter::try_new(out, Arc::clone(&schema), properties)?,
            schema,
            position,
            extent: None,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let points = self.position.points(batch)?;
        let mut geometries = BinaryBuilder::with_capacity(points.len(), points.len() * POINT_BYTES);
        for point in &points {
            geometries.append_option(point.map(wkb));
            if let Some((lon, lat)) = point {
                let [west, south, east, north] = self.extent.unwrap_or([*lon, *lat, *lon, *lat]);
                self.extent = Some([
                    west.min(*lon),
                    south.min(*lat),
                    east.max(*lon),
                    north.max(*lat),
                ]);
            }
        }
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        columns.push(Arc::new(geometries.finish()));
        columns.push(Arc::new(boxes(&points)));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        Ok(self.writer.write(&batch)?)
    }

    pub(super) fn finish(mut self) -> Result<W, Error> {
        let geo = metadata(&json!(["Point"]), self.extent);
        self.writer.append_key_value_metadata(geo);
        let mut out = self.writer.into_inner()?;
        out.flush()?;
        Ok(out)
    }
}

/// Returns a point in well-known binary, little-endian.
fn wkb((lon, lat): (f64, f64)) -> [u8; POINT_BYTES] {
    let mut bytes = [0; POINT_BYTES];
    bytes[0] = 1;
    bytes[1..5].copy_from_slice(&1u32.to_le_bytes());
    bytes[5..13].copy_from_slice(&lon.to_le_bytes());
    bytes[13..].copy_from_slice(&lat.to_le_bytes());
    bytes
}

/// Returns the boxes of points, which have no extent.
fn boxes(points: &[Option<(f64, f64)>]) -> StructArray {
    let numbers = |of: fn((f64, f64)) -> f64| -> ArrayRef {
        let numbers = points.iter().map(|point| point.map_or(0.0, of));
        Arc::new(numbers.collect::<Float64Array>())
    };
    let (x, y) = (numbers(|(lon, _)| lon), numbers(|(_, lat)| lat));
    let nulls: NullBuffer = points.iter().map(Option::is_some).collect();
    let columns = vec![Arc::clone(&x), Arc::clone(&y), x, y];
    StructArray::new(edges(), columns, Some(nulls))
}
