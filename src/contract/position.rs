//! The position at which a page of sorted rows ended; part of a cursor.

/// Sort value and id of the last row of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorPosition {
    /// Sort value of the row; `None` if it has none.
    pub value: Option<SortValue>,
    /// Identifier of the row.
    pub id: String,
    /// The state of the data that the page was read from, with which the next page must agree; `None` if it need not.
    pub state: Option<u64>,
}

/// A sort value.
#[derive(Clone, Debug, PartialEq)]
pub enum SortValue {
    /// Number; for a time, milliseconds since 1970-01-01 UTC.
    Number(f64),
    /// Days since 1970-01-01.
    Day(i32),
    /// Text, in byte order.
    Text(String),
}
