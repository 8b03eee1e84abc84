//! Counts the bytes of the rows of a batch, without other rows in the same buffers.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;

/// Bytes of the rows that are encoded at once.
const PART_BYTES: usize = 2 << 20;

/// Splits a batch into parts of about [`PART_BYTES`], because the encoded form of a part, such as text, is larger than
/// the part.
pub(crate) fn parts(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + use<> {
    let batch = batch.clone();
    let count = batch_bytes(&batch).div_ceil(PART_BYTES).max(1);
    let rows = batch.num_rows().div_ceil(count).max(1);
    let starts = (0..batch.num_rows().max(1)).step_by(rows);
    starts.map(move |start| batch.slice(start, rows.min(batch.num_rows() - start)))
}

/// Returns the bytes of the rows of a batch.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(bytes_of).sum()
}

/// Returns the bytes of the rows of a column.
fn bytes_of(column: &ArrayRef) -> usize {
    let shown: usize = match column.data_type() {
        DataType::Utf8View => view_bytes(column.as_string_view().views()),
        DataType::BinaryView => view_bytes(column.as_binary_view().views()),
        _ => 0,
    };
    shown + column.to_data().get_slice_memory_size().unwrap_or(0)
}

/// Returns the bytes of the values of views: the lowest 32 bits of each are its length.
fn view_bytes(views: &[u128]) -> usize {
    views.iter().map(|view| *view as u32 as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow::array::{StringArray, StringViewArray};

    #[test]
    fn a_slice_has_the_bytes_of_its_own_rows() {
        let long = "x".repeat(10_000);
        let texts = ["a", "b", long.as_str()];
        let columns: [ArrayRef; 2] = [
            Arc::new(StringArray::from(texts.to_vec())),
            Arc::new(StringViewArray::from(texts.to_vec())),
        ];
        for column in columns {
            let batch = RecordBatch::try_from_iter([("t", column)]).unwrap();
            assert!(batch_bytes(&batch) >= 10_002);
            assert!(batch_bytes(&batch.slice(0, 2)) < 100);
        }
    }
}
