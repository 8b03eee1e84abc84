//! Converts attributes to columns of the few types that a layer has. Attributes come from the columns of a file or from
//! JSON objects; the type of a JSON attribute is decided from all features.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::json::ReaderBuilder;
use arrow::json::reader::infer_json_schema_from_iterator;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Map, Value};

use crate::metadata::AttributeKind;

/// Converts the properties of features to columns. Lists and objects become JSON text.
///
/// # Errors
/// There is more text than a column can hold.
pub(super) fn of_properties(mut rows: Vec<Map<String, Value>>) -> Result<RecordBatch, String> {
    for row in &mut rows {
        for value in row.values_mut() {
            if value.is_array() || value.is_object() {
                *value = Value::String(value.to_string());
            }
        }
    }
    let count = rows.len();
    // Names in the order of their first occurrence.
    let mut names: Map<String, Value> = Map::new();
    for name in rows.iter().flat_map(Map::keys) {
        if !names.contains_key(name) {
            names.insert(name.clone(), Value::Null);
        }
    }
    let rows: Vec<Value> = rows.into_iter().map(Value::Object).collect();
    let failed = |error: arrow::error::ArrowError| error.to_string();
    let inferred = infer_json_schema_from_iterator(rows.iter().map(Ok)).map_err(failed)?;
    let field = |name: &String| {
        let kind = inferred.field_with_name(name).ok().map(Field::data_type);
        let kind = match kind {
            Some(DataType::Null) | None => DataType::Utf8,
            Some(kind) => kind.clone(),
        };
        Field::new(name, kind, true)
    };
    let fields: Fields = names.keys().map(field).collect();
    if fields.is_empty() {
        return without_columns(count);
    }
    let schema = Arc::new(Schema::new(fields));
    let mut decoder = ReaderBuilder::new(Arc::clone(&schema))
        .with_coerce_primitive(true)
        .with_batch_size(count.max(1))
        .build_decoder()
        .map_err(failed)?;
    decoder.serialize(&rows).map_err(failed)?;
    let batch = decoder.flush().map_err(failed)?;
    Ok(batch.unwrap_or_else(|| RecordBatch::new_empty(schema)))
}

fn without_columns(rows: usize) -> Result<RecordBatch, String> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::empty());
    RecordBatch::try_new_with_options(schema, Vec::new(), &options)
        .map_err(|error| error.to_string())
}

/// Converts columns to the types of a layer. Lists and structs become text; binary columns are dropped.
///
/// # Errors
/// A value cannot be converted.
pub(super) fn normalised(batch: &RecordBatch) -> Result<RecordBatch, String> {
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let failed =
            |error: arrow::error::ArrowError| format!("column {:?}: {error}", field.name());
        let is_binary = matches!(
            column.data_type(),
            DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_)
        );
        if is_binary {
            continue;
        }
        let converted = match AttributeKind::of(column.data_type()) {
            Some(kind) => cast(column, &kind.data_type()).map_err(failed)?,
            None => as_text(column).map_err(failed)?,
        };
        fields.push(Field::new(
            field.name(),
            converted.data_type().clone(),
            true,
        ));
        columns.push(converted);
    }
    if columns.is_empty() {
        return without_columns(batch.num_rows());
    }
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns).map_err(|error| error.to_string())
}

fn as_text(column: &ArrayRef) -> Result<ArrayRef, arrow::error::ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    let texts = (0..column.len()).map(|row| {
        let text = formatter.value(row).try_to_string();
        if column.is_null(row) {
            Ok(None)
        } else {
            text.map(Some)
        }
    });
    let texts: StringArray = texts.collect::<Result<Vec<Option<String>>, _>>()?.into();
    Ok(Arc::new(texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_decided_over_all_features() {
        let rows = [
            json!({"code": "01", "niveau": 1, "part": 1, "liste": [1, 2]}),
            json!({"niveau": null, "part": 0.5, "mixed": 3, "code": "2A"}),
            json!({"mixed": "c", "niveau": 3, "vide": null}),
        ];
        let rows = rows.iter().map(|row| row.as_object().unwrap().clone());
        let batch = of_properties(rows.collect()).unwrap();
        let batch = normalised(&batch).unwrap();
        let kinds: Vec<_> = batch
            .schema()
            .fields()
            .iter()
            .map(|field| (field.name().clone(), field.data_type().clone()))
            .collect();
        let expected = [
            ("code", DataType::Utf8),
            ("niveau", DataType::Int64),
            ("part", DataType::Float64),
            ("liste", DataType::Utf8),
            ("mixed", DataType::Utf8),
            ("vide", DataType::Utf8),
        ];
        assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
        assert_eq!((batch.num_rows(), batch.column(4).null_count()), (3, 1));
        assert_eq!(of_properties(vec![Map::new(); 4]).unwrap().num_rows(), 4);
    }
}
