//! Reads columns that tables of several crates have: identifiers written as texts, and times.

use chrono::{DateTime, Utc};
use rusqlite::Row;
use rusqlite::types::Type;
use uuid::Uuid;

/// Reads an identifier from a column that stores it as text.
///
/// # Errors
/// The text is not an identifier.
pub fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    let text: String = row.get(column)?;
    Uuid::try_parse(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

/// Converts stored milliseconds since 1970 to a time.
pub fn moment(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or_default()
}
