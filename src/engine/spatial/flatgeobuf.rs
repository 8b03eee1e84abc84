//! FlatGeobuf: points with a spatial index, for QGIS, GDAL and web maps that read a part of a file.
//!
//! The index comes before the features and its order is known only at the end, so the crate keeps the features in a
//! temporary file and about 140 bytes per feature in memory.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use flatgeobuf::geozero::error::Result as GeozeroResult;
use flatgeobuf::geozero::{ColumnValue, GeomProcessor, GeozeroGeometry, PropertyProcessor};
use flatgeobuf::{ColumnType, FgbCrs, FgbWriter, FgbWriterOptions, GeometryType};
use serde_json::{Map, Value};

use super::position::PositionColumns;
use super::{Error, json_rows};

/// Maximum features of a file: 0.7 GB of memory.
const FEATURES_MAX: usize = 5_000_000;
/// WGS 84, longitude and latitude.
const EPSG: i32 = 4326;
/// Name of the layer.
const LAYER: &str = "toise";

/// Writes FlatGeobuf. Columns with lists and structs hold JSON text; rows without a position are skipped.
pub struct FlatGeobufWriter<W: Write> {
    out: W,
    writer: FgbWriter<'static>,
    columns: Vec<(String, ColumnType)>,
    position: PositionColumns,
    features: usize,
}

/// A point in the form that the crate takes.
struct Point(f64, f64);

impl GeozeroGeometry for Point {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> GeozeroResult<()> {
        processor.point_begin(0)?;
        processor.xy(self.0, self.1, 0)?;
        processor.point_end(0)
    }
}

impl<W: Write> FlatGeobufWriter<W> {
    pub(super) fn start(
        out: W,
        schema: &SchemaRef,
        position: PositionColumns,
    ) -> Result<Self, Error> {
        let columns = columns_of(schema);
        let writer = layer(&columns, true)?;
        Ok(Self {
            out,
            writer,
            columns,
            position,
            features: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let points = self.position.points(batch)?;
        let text = json_rows::lines(batch)?;
        for (point, row) in points.into_iter().zip(json_rows::each(&text)) {
            let Some((lon, lat)) = point else {
                continue;
            };
            if self.features == FEATURES_MAX {
                return Err(Error::TooMany(FEATURES_MAX));
            }
            self.features += 1;
            let row: Map<String, Value> = serde_json::from_slice(row)?;
            let (columns, mut outcome) = (&self.columns, Ok(()));
            self.writer
                .add_feature_geom(Point(lon, lat), |feature| {
                    outcome = set_properties(feature, columns, &row);
                })
                .and(outcome)
                .map_err(refused)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<W, Error> {
        let writer = match self.features {
            0 => layer(&self.columns, false)?,
            _ => self.writer,
        };
        writer.write(&mut self.out).map_err(refused)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Creates the crate's writer of a layer with these columns. A layer without features must be written without an index:
/// otherwise the crate announces an index but writes none, and readers do not find the layer.
fn layer(columns: &[(String, ColumnType)], write_index: bool) -> Result<FgbWriter<'static>, Error> {
    let options = FgbWriterOptions {
        write_index,
        crs: FgbCrs {
            code: EPSG,
            ..FgbCrs::default()
        },
        promote_to_multi: false,
        ..FgbWriterOptions::default()
    };
    let writer = FgbWriter::create_with_options(LAYER, GeometryType::Point, options);
    let mut writer = writer.map_err(refused)?;
    for (name, kind) in columns {
        writer.add_column(name, *kind, |_, _| {});
    }
    Ok(writer)
}

fn refused(error: impl ToString) -> Error {
    Error::FlatGeobuf(error.to_string())
}

fn columns_of(schema: &Schema) -> Vec<(String, ColumnType)> {
    let columns = schema.fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::Boolean => ColumnType::Bool,
            DataType::Int8 | DataType::Int16 | DataType::Int32 => ColumnType::Int,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::Int64 => {
                ColumnType::Long
            }
            DataType::UInt64 => ColumnType::ULong,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => ColumnType::Double,
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => ColumnType::DateTime,
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::Struct(_)
            | DataType::Map(..) => ColumnType::Json,
            _ => ColumnType::String,
        };
        (field.name().clone(), kind)
    });
    columns.collect()
}

/// Sets the values of a row. Missing values are omitted, which means null in this format.
fn set_properties(
    feature: &mut impl PropertyProcessor,
    columns: &[(String, ColumnType)],
    row: &Map<String, Value>,
) -> GeozeroResult<()> {
    for (index, (name, kind)) in columns.iter().enumerate() {
        let Some(value) = row.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let text;
        let number = value.as_i64();
        let value = match (*kind, value) {
            (ColumnType::Bool, Value::Bool(flag)) => ColumnValue::Bool(*flag),
            (ColumnType::Int, _) => match number.and_then(|number| i32::try_from(number).ok()) {
                Some(number) => ColumnValue::Int(number),
                None => continue,
            },
            (ColumnType::Long, _) => match number {
                Some(number) => ColumnValue::Long(number),
                None => continue,
            },
            (ColumnType::ULong, _) => match value.as_u64() {
                Some(number) => ColumnValue::ULong(number),
                None => continue,
            },
            (ColumnType::Double, _) => match value.as_f64() {
                Some(number) => ColumnValue::Double(number),
                None => continue,
            },
            (ColumnType::DateTime, Value::String(moment)) => ColumnValue::DateTime(moment),
            (ColumnType::Json, other) => {
                text = other.to_string();
                ColumnValue::Json(&text)
            }
            (_, Value::String(text)) => ColumnValue::String(text),
            (_, other) => {
                text = other.to_string();
                ColumnValue::String(&text)
            }
        };
        feature.property(index, name, &value)?;
    }
    Ok(())
}
