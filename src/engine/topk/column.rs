//! The column by which the rows of a chunk are sorted.

use arrow::array::{Array, AsArray, StringArray};
use arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType,
};

use super::keys::{MISSING, day_key, ordered, text_key};
use crate::cache::{DecodedColumn, ZoneMap};
use toise_contract::position::SortValue;

/// The sort column of a chunk.
pub struct SortColumn<'a> {
    pub(super) decoded: &'a DecodedColumn,
    pub(super) ids: &'a StringArray,
    pub(super) descending: bool,
    /// Keys by dictionary code, for a category.
    pub(super) code_keys: Vec<u64>,
}

impl<'a> SortColumn<'a> {
    /// Prepares a column for sorting; `ids` are the ids of the same chunk.
    pub fn new(decoded: &'a DecodedColumn, ids: &'a StringArray, descending: bool) -> Self {
        let code_keys = match decoded.values.data_type() {
            DataType::Dictionary(..) => {
                let values = decoded.values.as_dictionary::<Int32Type>().values();
                values
                    .as_string::<i32>()
                    .iter()
                    .map(|text| text.map_or(MISSING, text_key))
                    .collect()
            }
            _ => Vec::new(),
        };
        Self {
            decoded,
            ids,
            descending,
            code_keys,
        }
    }

    #[inline]
    pub(super) fn directed(&self, key: u64) -> u64 {
        if self.descending { !key } else { key }
    }

    /// Returns the best key that a zone can hold; 0 if that is not known.
    pub(super) fn best_key(&self, zone: usize) -> u64 {
        match &self.decoded.zones {
            ZoneMap::Bounds(bounds) => match bounds.get(zone) {
                Some((least, greatest)) if least <= greatest => {
                    let best = if self.descending { *greatest } else { *least };
                    match self.decoded.values.data_type() {
                        DataType::Date32 => self.directed(day_key(best as i32)),
                        _ => self.directed(ordered(best)),
                    }
                }
                Some(_) => MISSING,
                None => 0,
            },
            _ => 0,
        }
    }

    pub(super) fn text(&self, row: usize) -> Option<&str> {
        let values = &self.decoded.values;
        match values.data_type() {
            DataType::Utf8 => values
                .is_valid(row)
                .then(|| values.as_string::<i32>().value(row)),
            DataType::Dictionary(..) => {
                let column = values.as_dictionary::<Int32Type>();
                column
                    .key(row)
                    .map(|code| column.values().as_string::<i32>().value(code))
            }
            _ => None,
        }
    }

    /// Returns the value of a row in the form that a cursor holds.
    pub fn value(&self, row: usize) -> Option<SortValue> {
        let values = &self.decoded.values;
        if values.is_null(row) {
            return None;
        }
        match values.data_type() {
            DataType::Float64 => Some(SortValue::Number(
                values.as_primitive::<Float64Type>().value(row),
            )),
            DataType::Int64 => Some(SortValue::Number(
                values.as_primitive::<Int64Type>().value(row) as f64,
            )),
            DataType::Int32 => Some(SortValue::Number(
                values.as_primitive::<Int32Type>().value(row).into(),
            )),
            // Milliseconds of any year of four digits are exact in a double.
            DataType::Timestamp(..) => Some(SortValue::Number(
                values.as_primitive::<TimestampMillisecondType>().value(row) as f64,
            )),
            DataType::Date32 => Some(SortValue::Day(
                values.as_primitive::<Date32Type>().value(row),
            )),
            _ => self.text(row).map(|text| SortValue::Text(text.to_owned())),
        }
    }
}
