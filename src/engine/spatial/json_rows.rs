//! Writes the rows of a batch as JSON objects: texts, numbers, lists and structs unchanged, days and timestamps as ISO
//! 8601.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::json::WriterBuilder;
use arrow::json::writer::LineDelimited;

/// Returns the rows of a batch, one JSON object per line; missing values are null.
pub(super) fn lines(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut text = Vec::new();
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    let mut writer = builder.build::<_, LineDelimited>(&mut text);
    writer.write(batch)?;
    writer.finish()?;
    Ok(text)
}

/// Splits the text that [`lines`] returned into its lines.
pub(super) fn each(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}
