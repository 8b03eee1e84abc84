//! Writes the data file of a layer: GeoParquet 1.1 with the number of each feature, its attributes, its geometry as WKB
//! and its bounding box, which lets other programs skip row groups.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Float64Array, Int64Array, RecordBatch, StructArray, UInt32Array,
};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::json;

use crate::metadata::Attribute;
use crate::prepare::{Feature, Prepared};
use crate::wkb;

/// Column of the number of a feature: its position in the source file, counted from 1.
pub(crate) const FEATURE: &str = "feature";
/// Column of geometries.
pub(crate) const GEOMETRY: &str = "geometry";
/// Column of bounding boxes.
pub(crate) const BBOX: &str = "bbox";
/// Columns that every layer has.
pub(crate) const OWN_COLUMNS: [&str; 3] = [FEATURE, GEOMETRY, BBOX];
/// Edges of a box, in the order of GeoParquet.
const EDGES: [&str; 4] = ["xmin", "ymin", "xmax", "ymax"];
const VERSION: &str = "1.1.0";
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

fn edges() -> Fields {
    let edge = |name| Field::new(name, DataType::Float64, false);
    EDGES.into_iter().map(edge).collect()
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
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_created_by(concat!("toise ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
    for features in prepared.features.chunks(GROUP_ROWS) {
        writer.write(&batch(&schema, features, attributes)?)?;
    }
    // In GeoParquet, a missing reference system means longitude and latitude on WGS 84.
    let geo = json!({
        "version": VERSION,
        "primary_column": GEOMETRY,
        "columns": {GEOMETRY: {
            "encoding": "WKB",
            "geometry_types": geometry_types,
            "bbox": prepared.bbox,
            "covering": {"bbox": {
                "xmin": [BBOX, "xmin"], "ymin": [BBOX, "ymin"], "xmax": [BBOX, "xmax"], "ymax": [BBOX, "ymax"],
            }},
        }},
    });
    writer.append_key_value_metadata(KeyValue::new("geo".to_owned(), geo.to_string()));
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
    let boxes = (0..EDGES.len()).map(edge).collect();
    columns.push(Arc::new(StructArray::new(edges(), boxes, None)));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
