//! Cells of CSV: lists, structs and maps become JSON text, since a cell holds one text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::writer::{EncoderOptions, make_encoder};

/// Returns the schema with nested columns as text.
pub fn flat_schema(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        if is_nested(field) {
            Arc::new(Field::new(field.name(), DataType::Utf8, true))
        } else {
            Arc::clone(field)
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>()))
}

/// Returns the rows with nested columns as JSON text; `flat` is their [`flat_schema`].
///
/// # Errors
/// A value cannot be written as JSON.
pub fn flattened(batch: &RecordBatch, flat: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| is_nested(field)) {
        return Ok(batch.clone());
    }
    let columns = schema.fields().iter().zip(batch.columns());
    let columns: Result<Vec<ArrayRef>, ArrowError> = columns
        .map(|(field, column)| {
            if is_nested(field) {
                json_texts(field, column)
            } else {
                Ok(Arc::clone(column))
            }
        })
        .collect();
    RecordBatch::try_new(Arc::clone(flat), columns?)
}

fn is_nested(field: &Field) -> bool {
    field.data_type().is_nested()
}

fn json_texts(field: &FieldRef, column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let options = EncoderOptions::default().with_explicit_nulls(true);
    let mut encoder = make_encoder(field, column, &options)?;
    let mut texts = StringBuilder::new();
    let mut cell = Vec::new();
    for row in 0..column.len() {
        if column.is_null(row) {
            texts.append_null();
            continue;
        }
        cell.clear();
        encoder.encode(row, &mut cell);
        texts.append_value(String::from_utf8_lossy(&cell));
    }
    Ok(Arc::new(texts.finish()))
}
