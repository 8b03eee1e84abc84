//! The actions of a Delta log, as the JSON objects that its entries hold, one per line.

use serde_json::{Value, json};

use super::super::snapshot::{DataFileEntry, Snapshot};
use super::{FILES, file_name};

/// Protocol versions that readers and writers must support. They require no optional features.
const READER_VERSION: u32 = 1;
const WRITER_VERSION: u32 = 2;

/// Returns the action that describes how a version was made, for the table's history.
pub(super) fn commit_info(version: &Snapshot, at_ms: i64) -> Value {
    let rows = version.rows().to_string();
    json!({"commitInfo": {
        "timestamp": at_ms,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "operationMetrics": {"tableRows": rows},
        "isBlindAppend": false,
        "engineInfo": concat!("toise/", env!("CARGO_PKG_VERSION")),
    }})
}

pub(super) fn protocol() -> Value {
    json!({"protocol": {"minReaderVersion": READER_VERSION, "minWriterVersion": WRITER_VERSION}})
}

/// Returns the action with the name and columns of a table. The identifier depends on the name alone, so that every log
/// of a table has the same identifier.
pub(super) fn metadata(table: &str, schema: &Value) -> Value {
    let digest = blake3::hash(format!("toise table {table}").as_bytes()).to_hex();
    let id = [0..8, 8..12, 12..16, 16..20, 20..32].map(|digits| digest[digits].to_owned());
    json!({"metaData": {
        "id": id.join("-"),
        "name": table,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema.to_string(),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }})
}

/// Returns the action for a file that belongs to the table from this version on.
pub(super) fn add(entry: &DataFileEntry, at_ms: i64, statistics: &Value) -> Value {
    json!({"add": {
        "path": path(entry),
        "partitionValues": {},
        "size": entry.bytes,
        "modificationTime": at_ms,
        "dataChange": true,
        "stats": statistics.to_string(),
    }})
}

/// Returns the action for a file that no longer belongs to the table.
pub(super) fn remove(entry: &DataFileEntry, at_ms: i64) -> Value {
    json!({"remove": {
        "path": path(entry),
        "deletionTimestamp": at_ms,
        "dataChange": true,
        "extendedFileMetadata": true,
        "partitionValues": {},
        "size": entry.bytes,
    }})
}

/// Returns the path of a data file relative to the shared folder; its characters need no escapes.
fn path(entry: &DataFileEntry) -> String {
    format!("{FILES}/{}", file_name(&entry.file))
}
