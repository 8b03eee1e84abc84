//! Limits on the SQL queries of one key, below the service's limits for all keys.

use serde::{Deserialize, Serialize};

/// Maximum value of each limit: the largest integer that JSON numbers represent exactly.
pub const SQL_LIMIT_MAX: i64 = (1 << 53) - 1;

/// Limits of a key's SQL queries; `None` means the limit of the service. A limit above the service's has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SqlLimits {
    /// Maximum rows of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Maximum bytes of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Memory that a query may use before it spills to disk, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Maximum duration of a query, its response included, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_s: Option<u64>,
    /// Maximum queries that may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u64>,
}

/// A change of a key's limits: `None` leaves a limit unchanged, `Some(None)` removes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SqlLimitsChange {
    /// Maximum rows of a response.
    pub rows: Option<Option<u64>>,
    /// Maximum bytes of a response.
    pub bytes: Option<Option<u64>>,
    /// Memory of a query, in MiB.
    pub memory_mib: Option<Option<u64>>,
    /// Maximum duration of a query, in seconds.
    pub time_s: Option<Option<u64>>,
    /// Maximum queries that may run at once.
    pub concurrent: Option<Option<u64>>,
}

impl SqlLimits {
    /// Returns these limits with a change applied.
    pub fn changed(self, change: SqlLimitsChange) -> Self {
        Self {
            rows: change.rows.unwrap_or(self.rows),
            bytes: change.bytes.unwrap_or(self.bytes),
            memory_mib: change.memory_mib.unwrap_or(self.memory_mib),
            time_s: change.time_s.unwrap_or(self.time_s),
            concurrent: change.concurrent.unwrap_or(self.concurrent),
        }
    }

    /// Returns the text for the store; `None` for a key without its own limits.
    pub(crate) fn stored(self) -> Option<String> {
        (self != Self::default()).then(|| serde_json::json!(self).to_string())
    }

    /// Parses the text from the store.
    ///
    /// # Errors
    /// The text was not written by [`SqlLimits::stored`]. This is an error so that a key never runs without its limits.
    pub(crate) fn from_stored(text: Option<&str>) -> serde_json::Result<Self> {
        text.map_or(Ok(Self::default()), serde_json::from_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_the_store_and_a_change_leaves_the_others() {
        let limits = SqlLimits {
            rows: Some(10),
            time_s: Some(2),
            ..SqlLimits::default()
        };
        let text = limits.stored().unwrap();
        assert_eq!(SqlLimits::from_stored(Some(&text)).unwrap(), limits);
        assert_eq!(SqlLimits::default().stored(), None);
        assert!(SqlLimits::from_stored(Some("{\"rows\": -1}")).is_err());
        let change = SqlLimitsChange {
            rows: Some(None),
            concurrent: Some(Some(1)),
            ..SqlLimitsChange::default()
        };
        let expected = SqlLimits {
            time_s: Some(2),
            concurrent: Some(1),
            ..SqlLimits::default()
        };
        assert_eq!(limits.changed(change), expected);
    }
}
