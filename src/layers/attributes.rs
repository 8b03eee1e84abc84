//! Reads the attributes of one feature from the data file of its layer.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow::json::LineDelimitedWriter;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use serde_json::{Map, Value};

use crate::metadata::LayerMetadata;
use crate::write::FEATURE;

/// Returns the attributes of a feature, in the order of the file, without nulls; `None` if no feature has this number.
///
/// # Errors
/// The data is not a data file of this layer.
pub(crate) fn read(
    data: Bytes,
    layer: &LayerMetadata,
    feature: i64,
) -> Result<Option<Map<String, Value>>, String> {
    let failed = |error: parquet::errors::ParquetError| error.to_string();
    let builder = ParquetRecordBatchReaderBuilder::try_new(data.clone()).map_err(failed)?;
    let numbers = ProjectionMask::columns(builder.parquet_schema(), [FEATURE]);
    let mut before = 0;
    let mut found = None;
    for batch in builder.with_projection(numbers).build().map_err(failed)? {
        let batch = batch.map_err(|error| error.to_string())?;
        let numbers = batch
            .column(0)
            .as_primitive_opt::<Int64Type>()
            .ok_or("the numbers of features have another type")?;
        if let Some(place) = numbers
            .values()
            .iter()
            .position(|number| *number == feature)
        {
            found = Some(before + place);
            break;
        }
        before += batch.num_rows();
    }
    let Some(row) = found else {
        return Ok(None);
    };
    if layer.columns.is_empty() {
        return Ok(Some(Map::new()));
    }
    let builder = ParquetRecordBatchReaderBuilder::try_new(data).map_err(failed)?;
    let names = layer.columns.iter().map(|column| column.name.as_str());
    let columns = ProjectionMask::columns(builder.parquet_schema(), names);
    let selection = RowSelection::from(vec![RowSelector::skip(row), RowSelector::select(1)]);
    let mut rows = builder
        .with_projection(columns)
        .with_row_selection(selection)
        .build()
        .map_err(failed)?;
    let Some(batch) = rows.next() else {
        return Ok(None);
    };
    object(&batch.map_err(|error| error.to_string())?).map(Some)
}

/// Returns the only row of a batch as a JSON object.
fn object(batch: &RecordBatch) -> Result<Map<String, Value>, String> {
    let mut text = Vec::new();
    let mut writer = LineDelimitedWriter::new(&mut text);
    let written = writer.write(batch).and_then(|()| writer.finish());
    written.map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}
