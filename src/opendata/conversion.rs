//! Code shared by the conversions of source rows to batches: the selection of departments, and columns made from rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, ListBuilder, StringArray, StringBuilder};
#[cfg(test)]
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field};

use toise_lake::schema::ITEM;

/// Reason of a position that no home of the row's commune can have.
pub(crate) const FAR_FROM_COMMUNE: &str = "position far from its commune";

/// Formats a position that is far from its commune, for an example.
pub(crate) fn distance_shown((lat, lon): (f64, f64), metres: f64, commune: &str) -> String {
    format!("{lat}, {lon} is {:.0} km from {commune}", metres / 1_000.0)
}

/// Returns whether the rows of a department are imported; no departments mean all.
pub(crate) fn is_wanted(departments: &[String], department: &str) -> bool {
    departments.is_empty() || departments.iter().any(|code| code == department)
}

/// Returns communes and years as the report has them.
pub(crate) fn named_places(places: BTreeSet<([u8; 5], i32)>) -> BTreeSet<(String, i32)> {
    let name = |commune: [u8; 5]| String::from_utf8_lossy(&commune).into_owned();
    let named = places
        .into_iter()
        .map(|(commune, year)| (name(commune), year));
    named.collect()
}

/// Returns a text, unless it is empty.
pub(crate) fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Makes a column of texts.
pub(crate) fn texts<'r, R>(rows: &'r [R], value: impl Fn(&'r R) -> Option<&'r str>) -> ArrayRef {
    Arc::new(rows.iter().map(value).collect::<StringArray>())
}

/// Makes a column of numbers.
pub(crate) fn numbers<R>(rows: &[R], value: impl Fn(&R) -> Option<f64>) -> ArrayRef {
    Arc::new(rows.iter().map(value).collect::<Float64Array>())
}

/// Makes a column of lists of texts.
pub(crate) fn text_lists<'r, R, L>(rows: &'r [R], list: impl Fn(&'r R) -> L) -> ArrayRef
where
    L: IntoIterator<Item: AsRef<str>>,
{
    let item = Field::new(ITEM, DataType::Utf8, true);
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item);
    for row in rows {
        for text in list(row) {
            lists.values().append_value(text);
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// Returns the lists of a column of texts, for tests.
#[cfg(test)]
pub(crate) fn lists(batch: &RecordBatch, name: &str) -> Vec<Vec<String>> {
    let column = batch.column_by_name(name).unwrap().as_list::<i32>();
    let rows = column.iter().flatten();
    rows.map(|items| {
        items
            .as_string::<i32>()
            .iter()
            .flatten()
            .map(str::to_owned)
            .collect()
    })
    .collect()
}
