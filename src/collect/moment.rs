//! Converts the times in stored rows.

use chrono::DateTime;

use toise_contract::listings::codes::Timestamp;

/// Converts Unix milliseconds to a timestamp.
pub(super) fn moment(ms: i64) -> Timestamp {
    Timestamp::new(DateTime::from_timestamp_millis(ms).unwrap_or_default())
}
