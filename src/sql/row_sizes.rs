//! Measures the bytes of the rows of a batch, without other rows in the same buffers.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;

/// Returns the bytes of the longest value of a column.
pub(crate) fn longest(column: &ArrayRef) -> usize {
    let rows = 0..column.len();
    let spread = |bytes: usize| bytes / column.len().max(1);
    match column.data_type() {
        DataType::Utf8 => lengths(rows, |row| {
            column.as_string::<i32>().value_length(row) as usize
        }),
        DataType::Binary => lengths(rows, |row| {
            column.as_binary::<i32>().value_length(row) as usize
        }),
        DataType::LargeUtf8 => lengths(rows, |row| {
            column.as_string::<i64>().value_length(row) as usize
        }),
        DataType::Utf8View => view_lengths(column.as_string_view().views())
            .max()
            .unwrap_or(0),
        DataType::BinaryView => view_lengths(column.as_binary_view().views())
            .max()
            .unwrap_or(0),
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            let item = bytes_of(lists.values()) / lists.values().len().max(1);
            lengths(rows, |row| lists.value_length(row) as usize * item)
        }
        _ => spread(bytes_of(column)),
    }
}

fn lengths(rows: std::ops::Range<usize>, length: impl Fn(usize) -> usize) -> usize {
    rows.map(length).max().unwrap_or(0)
}

/// Returns the lengths of the values of views: the lowest 32 bits of each view.
fn view_lengths(views: &[u128]) -> impl Iterator<Item = usize> {
    views.iter().map(|view| *view as u32 as usize)
}

/// Returns the bytes of the rows of a column.
fn bytes_of(column: &ArrayRef) -> usize {
    let shown: usize = match column.data_type() {
        DataType::Utf8View => view_lengths(column.as_string_view().views()).sum(),
        DataType::BinaryView => view_lengths(column.as_binary_view().views()).sum(),
        _ => 0,
    };
    shown + column.to_data().get_slice_memory_size().unwrap_or(0)
}

/// Returns the bytes of the rows of a batch.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(bytes_of).sum()
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
            assert_eq!(longest(batch.column(0)), 10_000);
            assert!(batch_bytes(&batch) >= 10_002);
            let first = batch.slice(0, 2);
            assert_eq!(longest(first.column(0)), 1);
            assert!(batch_bytes(&first) < 100);
        }
    }
}
