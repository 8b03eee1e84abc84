//! Writes a checkpoint of a Delta log: the state of a version as one Parquet file, so that earlier entries are not
//! needed.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use arrow::json::ReaderBuilder;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::Value;

use super::super::Error;

/// Writes the actions of a state: protocol, metadata, and the files of the version. Durable on return.
pub(super) fn write(path: &Path, actions: &[Value]) -> Result<(), Error> {
    let mut decoder = ReaderBuilder::new(schema())
        .with_batch_size(actions.len().max(1))
        .build_decoder()?;
    decoder.serialize(actions)?;
    let file = File::create(path).map_err(|error| Error::io(path, error))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer = ArrowWriter::try_new(file, schema(), Some(properties))?;
    while let Some(batch) = decoder.flush()? {
        writer.write(&batch)?;
    }
    let file = writer.into_inner()?;
    file.sync_all().map_err(|error| Error::io(path, error))
}

/// Returns the columns of a checkpoint: one struct per kind of action; each row fills one of them.
fn schema() -> SchemaRef {
    let add = [
        field("path", DataType::Utf8),
        text_map("partitionValues"),
        field("size", DataType::Int64),
        field("modificationTime", DataType::Int64),
        field("dataChange", DataType::Boolean),
        field("stats", DataType::Utf8),
    ];
    let remove = [
        field("path", DataType::Utf8),
        field("deletionTimestamp", DataType::Int64),
        field("dataChange", DataType::Boolean),
        field("extendedFileMetadata", DataType::Boolean),
        text_map("partitionValues"),
        field("size", DataType::Int64),
    ];
    let element = Field::new("element", DataType::Utf8, true);
    let format = [field("provider", DataType::Utf8), text_map("options")];
    let metadata = [
        field("id", DataType::Utf8),
        field("name", DataType::Utf8),
        structure("format", format),
        field("schemaString", DataType::Utf8),
        Field::new("partitionColumns", DataType::List(Arc::new(element)), true),
        text_map("configuration"),
        field("createdTime", DataType::Int64),
    ];
    let protocol = [
        field("minReaderVersion", DataType::Int32),
        field("minWriterVersion", DataType::Int32),
    ];
    Arc::new(Schema::new(vec![
        structure("protocol", protocol),
        structure("metaData", metadata),
        structure("add", add),
        structure("remove", remove),
    ]))
}

fn field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

fn structure<const N: usize>(name: &str, fields: [Field; N]) -> Field {
    Field::new(name, DataType::Struct(Fields::from(fields.to_vec())), true)
}

/// Returns a field that maps text to text, with the names that Parquet prescribes.
fn text_map(name: &str) -> Field {
    let pairs = [
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ];
    let pairs = DataType::Struct(Fields::from(pairs.to_vec()));
    let pairs = Field::new("key_value", pairs, false);
    Field::new(name, DataType::Map(Arc::new(pairs), false), true)
}
