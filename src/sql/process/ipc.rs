//! Converts rows, columns and parameters to Arrow streams and back.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use bytes::Bytes;
use datafusion::common::ParamValues;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::error::Result;
use datafusion::scalar::ScalarValue;

use super::messages::ParameterStyle;

/// Writes rows as an Arrow stream.
///
/// # Errors
/// A batch does not have the schema.
pub(super) fn to_stream(schema: &Schema, rows: &[RecordBatch]) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    for batch in rows {
        writer.write(batch)?;
    }
    writer.into_inner()
}

/// Reads an Arrow stream.
///
/// # Errors
/// The bytes are not one.
pub(super) fn from_stream(bytes: Bytes) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    let reader = StreamReader::try_new(Cursor::new(bytes), None)?;
    let schema = reader.schema();
    Ok((schema, reader.collect::<Result<_, _>>()?))
}

/// Writes parameters as one row.
///
/// # Errors
/// A value has no form in Arrow.
pub(super) fn from_parameters(values: &ParamValues) -> Result<(ParameterStyle, Vec<u8>)> {
    let (style, values): (_, Vec<(&str, &ScalarAndMetadata)>) = match values {
        ParamValues::List(values) => {
            let values = values.iter().map(|value| ("", value));
            (ParameterStyle::Numbered, values.collect())
        }
        ParamValues::Map(values) => {
            let values = values.iter();
            let values = values.map(|(name, value)| (name.as_str(), value));
            (ParameterStyle::Named, values.collect())
        }
    };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (name, value) in values {
        let mut field = Field::new(name, value.value().data_type(), true);
        if let Some(metadata) = value.metadata() {
            field = metadata.add_to_field(field);
        }
        fields.push(field);
        columns.push(value.value().to_array()?);
    }
    let schema = Arc::new(Schema::new(fields));
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
    Ok((style, to_stream(&schema, &[row])?))
}

/// Reads parameters from one row.
///
/// # Errors
/// The bytes are not an Arrow stream.
pub(super) fn to_parameters(style: ParameterStyle, bytes: Bytes) -> Result<ParamValues> {
    let (schema, rows) = from_stream(bytes)?;
    let columns = rows.first().map(RecordBatch::columns).unwrap_or_default();
    let mut values = schema.fields().iter().zip(columns).map(|(field, column)| {
        let value = ScalarValue::try_from_array(column, 0)?;
        let metadata = (!field.metadata().is_empty()).then(|| field.as_ref().into());
        let value = ScalarAndMetadata::new(value, metadata);
        Ok((field.name().clone(), value))
    });
    Ok(match style {
        ParameterStyle::Numbered => {
            let values = values.map(|value: Result<_>| value.map(|(_, value)| value));
            ParamValues::List(values.collect::<Result<_>>()?)
        }
        ParameterStyle::Named => ParamValues::Map(values.by_ref().collect::<Result<_>>()?),
    })
}

/// Returns the bytes of one bit per row.
pub(super) fn from_bits(bits: &BooleanBuffer) -> Vec<u8> {
    bits.sliced().as_slice().to_vec()
}

/// Returns one bit per row from their bytes; bits that are missing are unset.
pub(super) fn to_bits(bytes: &[u8], rows: usize) -> BooleanBuffer {
    let mut bytes = bytes.to_vec();
    bytes.resize(rows.div_ceil(8), 0);
    BooleanBuffer::new(Buffer::from_vec(bytes), 0, rows)
}
