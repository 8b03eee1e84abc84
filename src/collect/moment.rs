//! Converts the times of stored rows.

use chrono::DateTime;

use toise_contract::listings::codes::Timestamp;

/// Converts Unix milliseconds to a moment.
pub(super) fn moment(ms: i64) -> Timestamp {
    Timestamp::new(DateTime::from_timestamp_millis(ms).unwrap_or_default())
}
