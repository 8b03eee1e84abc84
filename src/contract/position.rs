//! Where a page of sorted rows ended: what a cursor carries.

/// Value of the sort column and id of a row: where a page ended. `None` = the row has no sort value.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// Sort value of the row.
    pub value: Option<SortValue>,
    /// Identifier of the row.
    pub id: String,
    /// Number of the state of the rows that the page was of, where states are kept for who goes on.
    pub state: Option<u64>,
}

/// A value rows are sorted by.
#[derive(Clone, Debug, PartialEq)]
pub enum SortValue {
    /// Number; of a moment, its milliseconds since 1970-01-01 UTC.
    Number(f64),
    /// Days since 1970-01-01.
    Day(i32),
    /// Text, in byte order.
    Text(String),
}
