//! Measures the bytes of a function's arguments, row by row, without copying them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::scalar::ScalarValue;

/// Bytes of a value that is neither text nor list.
const PLAIN_BYTES: f64 = 16.0;

/// A number per row: the same for all of them, or one each.
pub(super) enum PerRow {
    Same(f64),
    Each(Vec<f64>),
}

impl PerRow {
    /// Returns the number in a row.
    pub fn at(&self, row: usize) -> f64 {
        match self {
            PerRow::Same(value) => *value,
            PerRow::Each(values) => values.get(row).copied().unwrap_or(0.0),
        }
    }
}

/// Returns the bytes of an argument in each row.
pub(super) fn bytes(argument: &ColumnarValue) -> PerRow {
    match argument {
        ColumnarValue::Scalar(scalar) => PerRow::Same(scalar_bytes(scalar)),
        ColumnarValue::Array(array) => array_bytes(array),
    }
}

fn scalar_bytes(scalar: &ScalarValue) -> f64 {
    match scalar {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => text.len() as f64,
        scalar => scalar.size() as f64,
    }
}

fn array_bytes(array: &ArrayRef) -> PerRow {
    let rows = 0..array.len();
    let lengths: Vec<f64> = match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            rows.map(|row| f64::from(texts.value_length(row))).collect()
        }
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            rows.map(|row| texts.value_length(row) as f64).collect()
        }
        DataType::Utf8View => {
            let views = array.as_string_view().views().iter();
            // The lowest 32 bits of a view are the length.
            views.map(|view| f64::from(*view as u32)).collect()
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let item = item_bytes(lists.values());
            rows.map(|row| f64::from(lists.value_length(row)) * item)
                .collect()
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let item = item_bytes(lists.values());
            rows.map(|row| lists.value_length(row) as f64 * item)
                .collect()
        }
        DataType::Struct(_) | DataType::Map(..) | DataType::FixedSizeList(..) => {
            return PerRow::Same(item_bytes(array));
        }
        _ => return PerRow::Same(PLAIN_BYTES),
    };
    PerRow::Each(lengths)
}

/// Returns the items of a list in each row; 1 for a value that is not a list.
pub(super) fn items(argument: &ColumnarValue) -> PerRow {
    match argument {
        ColumnarValue::Scalar(ScalarValue::List(list)) => PerRow::Same(list.values().len() as f64),
        ColumnarValue::Scalar(ScalarValue::LargeList(list)) => {
            PerRow::Same(list.values().len() as f64)
        }
        ColumnarValue::Scalar(ScalarValue::FixedSizeList(list)) => {
            PerRow::Same(list.values().len() as f64)
        }
        ColumnarValue::Scalar(_) => PerRow::Same(1.0),
        ColumnarValue::Array(array) => match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                let rows = 0..lists.len();
                PerRow::Each(rows.map(|row| f64::from(lists.value_length(row))).collect())
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                let rows = 0..lists.len();
                PerRow::Each(rows.map(|row| lists.value_length(row) as f64).collect())
            }
            DataType::FixedSizeList(_, length) => PerRow::Same(f64::from(*length)),
            _ => PerRow::Same(1.0),
        },
    }
}

/// Returns the mean bytes of a value in an array.
fn item_bytes(array: &ArrayRef) -> f64 {
    array.get_array_memory_size() as f64 / array.len().max(1) as f64
}

/// Returns an argument as a number in each row; 0 for null.
pub(super) fn numbers(argument: &ColumnarValue) -> Result<PerRow> {
    let (array, is_same) = match argument {
        ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
        ColumnarValue::Array(array) => (ArrayRef::clone(array), false),
    };
    let numbers = match array.data_type() {
        DataType::Date32 => cast(&cast(&array, &DataType::Int32)?, &DataType::Float64)?,
        DataType::Timestamp(..) | DataType::Date64 => {
            cast(&cast(&array, &DataType::Int64)?, &DataType::Float64)?
        }
        _ => cast(&array, &DataType::Float64)?,
    };
    let numbers = numbers.as_primitive::<Float64Type>();
    let mut numbers = numbers.iter().map(|number| number.unwrap_or(0.0));
    Ok(if is_same {
        PerRow::Same(numbers.next().unwrap_or(0.0))
    } else {
        PerRow::Each(numbers.collect())
    })
}
