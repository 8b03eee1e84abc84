//! The common part of all GeoParquet 1.1 files that toise writes, layers and results of SQL: the columns of geometries
//! and boxes, the metadata, and the settings of the writer. Readers use the statistics of the boxes to skip row groups
//! that are elsewhere (the "covering" of the standard).

use arrow::datatypes::{DataType, Field, Fields};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

/// Column of the geometries, as WKB.
pub const GEOMETRY: &str = "geometry";
/// Column of the boxes.
pub const BBOX: &str = "bbox";
/// Edges of a box, in the order of the standard.
const EDGES: [&str; 4] = ["xmin", "ymin", "xmax", "ymax"];
const VERSION: &str = "1.1.0";

/// Returns the fields of a box: its western, southern, eastern and northern edge.
pub fn edges() -> Fields {
    let edge = |name| Field::new(name, DataType::Float64, false);
    EDGES.into_iter().map(edge).collect()
}

/// Returns the settings of a writer: zstd, and at most `group_rows` rows in a row group.
pub fn properties(group_rows: usize) -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(group_rows))
        .set_created_by(concat!("toise ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

/// Returns the metadata of a file: the types of its geometries, and the box around all of them, if it has any.
pub fn metadata(geometry_types: &Value, bbox: Option<[f64; 4]>) -> KeyValue {
    let mut column = json!({
        "encoding": "WKB",
        "geometry_types": geometry_types,
        "covering": {"bbox": {
            "xmin": [BBOX, "xmin"], "ymin": [BBOX, "ymin"], "xmax": [BBOX, "xmax"], "ymax": [BBOX, "ymax"],
        }},
    });
    if let Some(bbox) = bbox {
        column["bbox"] = json!(bbox);
    }
    // Without a reference system, coordinates are longitude and latitude on WGS 84.
    let geo = json!({
        "version": VERSION,
        "primary_column": GEOMETRY,
        "columns": {GEOMETRY: column},
    });
    KeyValue::new("geo".to_owned(), geo.to_string())
}
