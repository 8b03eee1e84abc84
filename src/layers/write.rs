//! Writes the data file of a layer: GeoParquet 1.1 with the number of each feature, its attributes, its geometry as WKB
//! and its bounding box, which lets other programs skip row groups.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Float64Array, Int64Array, RecordBatch, StructArray, UInt32Array,
};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use serde_json::json;

use crate::metadata::Attribute;
use crate::prepare::{Feature, Prepared};
use crate::wkb;
pub(crate) use toise_lake::geoparquet::GEOMETRY;
use toise_lake::geoparquet::{BBOX, edges, metadata, properties};

/// Column of the number of a feature: its position in the source file, counted from 1.
pub(crate) const FEATURE: &str = "feature";
/// Columns that every layer has.
pub(crate) const OWN_COLUMNS: [&str; 3] = [FEATURE, GEOMETRY, BBOX];
/// Maximum number of rows in a row group.
const GROUP_ROWS: usize = 16_384;

/// Returns the columns of a layer with these attributes.
pub(crate) fn schema(attributes: &[Attribute]) -> SchemaRef {
    let mut fields = vec![Arc::new(Field::new(FEATURE, DataType::Int64, false))];
    fields.extend(attributes.iter().map(Attribute::field));
    fields.push(Arc::new(Field::new(GEOMETRY, DataType::Binary, false)));
    fields.push(Arc::new(Field::new(BBOX, DataType::Struct(edges()), false)));
    Arc::new(Schema::new(fields))
}

/// Writes the data file. `attributes` has one row for each feature of the source file.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn write(
    out: impl Write + Send,
    prepared: &Prepared,
    attributes: &RecordBatch,
    columns: &[Attribute],
    geometry_types: &[String],
) -> Result<(), ParquetError> {
    let schema = schema(columns);
    let properties = Some(properties(GROUP_ROWS));
    let mut writer = ArrowWriter::try_new(out, Arc::clone(&schema), properties)?;
    for features in prepared.features.chunks(GROUP_ROWS) {
        writer.write(&batch(&schema, features, attributes)?)?;
    }
    let geo = metadata(&json!(geometry_types), Some(prepared.bbox));
    writer.append_key_value_metadata(geo);
    writer.close()?;
    Ok(())
}

fn batch(
    schema: &SchemaRef,
    features: &[Feature],
    attributes: &RecordBatch,
) -> Result<RecordBatch, ParquetError> {
    let places: UInt32Array = features
        .iter()
        .map(|feature| feature.place as u32)
        .collect();
    let numbers: Int64Array = features
        .iter()
        .map(|feature| feature.place as i64 + 1)
        .collect();
    let mut columns: Vec<ArrayRef> = vec![Arc::new(numbers)];
    for column in attributes.columns() {
        columns.push(take(column, &places, None)?);
    }
    let (mut geometries, mut bytes) = (BinaryBuilder::new(), Vec::new());
    for feature in features {
        bytes.clear();
        wkb::write(&feature.geometry, &mut bytes);
        geometries.append_value(&bytes);
    }
    columns.push(Arc::new(geometries.finish()));
    let edge = |nth: usize| -> ArrayRef {
        let edges = features.iter().map(|feature| feature.bbox[nth]);
        Arc::new(edges.collect::<Float64Array>())
    };
    let edges = edges();
    let boxes = (0..edges.len()).map(edge).collect();
    columns.push(Arc::new(StructArray::new(edges, boxes, None)));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
