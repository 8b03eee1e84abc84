//! Reads texts as views, so that a text that a dictionary repeats in each row is held once.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, RecordBatch};
use arrow::compute::{can_cast_types, cast};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;

/// Returns the columns with views in place of texts and bytes, wherever the views can be cast back.
pub(super) fn schema(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let viewed = viewed(field);
        if can_cast_types(viewed.data_type(), field.data_type()) {
            viewed
        } else {
            Arc::clone(field)
        }
    });
    let fields: Fields = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn viewed(field: &FieldRef) -> FieldRef {
    let data_type = view_type(field.data_type());
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn view_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        // Dictionaries of numbers stay: their values are small.
        DataType::Dictionary(_, value) if view_type(value) != **value => view_type(value),
        DataType::List(item) => DataType::List(viewed(item)),
        DataType::LargeList(item) => DataType::LargeList(viewed(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(viewed).collect()),
        other => other.clone(),
    }
}

/// Returns the number of bytes of the texts in an array, each counted as often as it occurs.
pub(super) fn text_bytes(array: &ArrayRef) -> u64 {
    of_data(&array.to_data())
}

fn of_data(data: &ArrayData) -> u64 {
    let own = match data.data_type() {
        DataType::Utf8View | DataType::BinaryView => {
            let views: &[u128] = &data.buffer::<u128>(0)[..data.len()];
            // The lowest 32 bits of a view are the length of its text.
            views.iter().map(|view| u64::from(*view as u32)).sum()
        }
        DataType::Utf8 | DataType::Binary => {
            // An empty array may have no offsets at all.
            let ends = data.buffer::<i32>(0).get(..=data.len());
            let bytes = ends.and_then(|ends| ends.last().zip(ends.first()));
            bytes.map_or(0, |(end, start)| end.abs_diff(*start).into())
        }
        _ => 0,
    };
    own + data.child_data().iter().map(of_data).sum::<u64>()
}

/// Casts a batch to the types of the file.
pub(super) fn restored(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| {
        if column.data_type() == field.data_type() {
            Ok(Arc::clone(column))
        } else {
            cast(column, field.data_type())
        }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_, _>>()?)
}
