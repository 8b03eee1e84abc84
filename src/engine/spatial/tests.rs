//! Tests that read geodata back with code other than the code that wrote it.

use std::sync::Arc;

use ::flatgeobuf::{FallibleStreamingIterator, FeatureProperties, FgbReader};
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::Float64Type;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::*;

const LYON: (f64, f64) = (4.835_659_123, 45.764_043);
const BREST: (f64, f64) = (-4.486_076, 48.390_394);

/// Returns three rows: two with a position and one without.
fn rows() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "city",
            Arc::new(StringArray::from(vec![
                Some("Lyon \"9e\""),
                Some("Brest"),
                None,
            ])),
        ),
        (
            "sales",
            Arc::new(Int32Array::from(vec![Some(7), None, Some(1)])),
        ),
        (
            "lon",
            Arc::new(Float64Array::from(vec![Some(LYON.0), Some(BREST.0), None])),
        ),
        (
            "lat",
            Arc::new(Float64Array::from(vec![LYON.1, BREST.1, 91.0])),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

fn written(format: SpatialFormat) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = SpatialWriter::start(&mut out, &rows().schema(), format).unwrap();
    writer.write(&rows()).unwrap();
    writer.write(&rows().slice(0, 0)).unwrap();
    writer.finish().unwrap();
    out
}

#[test]
fn geojson_is_one_collection_with_every_column_as_property() {
    let read: Value = serde_json::from_slice(&written(SpatialFormat::GeoJson)).unwrap();
    let features = read["features"].as_array().unwrap();
    assert_eq!(
        (&read["type"], features.len()),
        (&"FeatureCollection".into(), 3)
    );
    let lyon = &features[0];
    assert_eq!(
        lyon["geometry"]["coordinates"],
        serde_json::json!([LYON.0, LYON.1])
    );
    assert_eq!(lyon["properties"]["city"], "Lyon \"9e\"");
    assert_eq!(features[1]["properties"]["sales"], Value::Null);
    assert_eq!(features[2]["geometry"], Value::Null);
    let mut out = Vec::new();
    let empty = SpatialWriter::start(&mut out, &rows().schema(), SpatialFormat::GeoJson).unwrap();
    empty.finish().unwrap();
    let empty: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(empty["features"], serde_json::json!([]));
}

#[test]
fn geoparquet_has_points_in_wkb_boxes_and_the_extent() {
    let bytes = Bytes::from(written(SpatialFormat::GeoParquet));
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let metadata = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap();
    let geo = metadata.iter().find(|pair| pair.key == "geo").unwrap();
    let geo: Value = serde_json::from_str(geo.value.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&geo["version"], &geo["primary_column"]),
        (&"1.1.0".into(), &"geometry".into())
    );
    let column = &geo["columns"]["geometry"];
    assert_eq!(column["encoding"], "WKB");
    assert_eq!(
        column["bbox"],
        serde_json::json!([BREST.0, LYON.1, LYON.0, BREST.1])
    );
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let geometry = batch
        .column_by_name("geometry")
        .unwrap()
        .as_binary::<i32>()
        .clone();
    let point = geometry.value(0);
    assert_eq!(point[..5], [1, 1, 0, 0, 0]);
    assert_eq!(point[5..13], LYON.0.to_le_bytes());
    assert_eq!(point[13..], LYON.1.to_le_bytes());
    assert!(geometry.iter().nth(2).unwrap().is_none());
    let boxes = batch.column_by_name("bbox").unwrap().as_struct();
    let north = boxes
        .column_by_name("ymax")
        .unwrap()
        .as_primitive::<Float64Type>()
        .value(1);
    assert_eq!((north, boxes.nulls().unwrap().null_count()), (BREST.1, 1));
}

#[test]
fn flatgeobuf_finds_the_rows_in_a_box_and_leaves_out_those_without_a_position() {
    let bytes = written(SpatialFormat::FlatGeobuf);
    let all = FgbReader::open(std::io::Cursor::new(&bytes)).unwrap();
    assert_eq!(
        (
            all.header().features_count(),
            all.header().crs().unwrap().code()
        ),
        (2, 4326)
    );
    let mut near = all.select_bbox(4.0, 45.0, 5.0, 46.0).unwrap();
    let properties = near.next().unwrap().unwrap().properties().unwrap();
    assert_eq!(properties["city"], "Lyon \"9e\"");
    assert_eq!(properties["sales"], "7");
    assert!(near.next().unwrap().is_none());
}

#[test]
fn a_flatgeobuf_without_rows_has_its_layer_and_no_index() {
    let schema = rows().schema();
    let writer = SpatialWriter::start(Vec::new(), &schema, SpatialFormat::FlatGeobuf).unwrap();
    let bytes = writer.finish().unwrap();
    let layer = FgbReader::open(std::io::Cursor::new(&bytes)).unwrap();
    let header = layer.header();
    assert_eq!(header.name(), Some("toise"));
    assert_eq!(header.columns().unwrap().len(), schema.fields().len());
    // With an index, GDAL looks for one in the file, finds none and lists no layer.
    assert_eq!((header.index_node_size(), header.features_count()), (0, 0));
}

#[test]
fn rows_without_a_position_or_with_a_taken_name_are_refused() {
    let of = |names: &[&str]| {
        let number: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
        let columns = names.iter().map(|name| (*name, Arc::clone(&number)));
        RecordBatch::try_from_iter(columns).unwrap().schema()
    };
    let start = |names: &[&str]| {
        SpatialWriter::start(Vec::new(), &of(names), SpatialFormat::GeoParquet).map(|_| ())
    };
    assert!(start(&["longitude", "latitude"]).is_ok());
    assert!(start(&["shop_lon", "home_lat", "shop_lat"]).is_ok());
    let refused = start(&["x", "lat"]).unwrap_err().to_string();
    assert!(refused.contains("columns x, lat"), "{refused}");
    let taken = start(&["lon", "lat", "bbox"]).unwrap_err().to_string();
    assert!(taken.contains("bbox as other"), "{taken}");
}
