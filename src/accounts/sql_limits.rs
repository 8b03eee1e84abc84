//! What the queries of one key may take, below what the service allows every key.

use serde::{Deserialize, Serialize};

/// Maximum of each limit: what JSON numbers hold exactly.
pub const SQL_LIMIT_MAX: i64 = (1 << 53) - 1;

/// Limits of a key's SQL queries; `None` means that of the service. A limit above the service's has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SqlLimits {
    /// Maximum rows of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Maximum bytes of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Memory of a query before it spills to disk, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Maximum duration of a query, its answer included, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_s: Option<u64>,
    /// Maximum queries that run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u64>,
}

/// A change of a key's limits: `None` leaves one as it is, `Some(None)` takes it away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SqlLimitsChange {
    /// Maximum rows of an answer.
    pub rows: Option<Option<u64>>,
    /// Maximum bytes of an answer.
    pub bytes: Option<Option<u64>>,
    /// Memory of a query, in MiB.
    pub memory_mib: Option<Option<u64>>,
    /// Maximum duration of a query, in seconds.
    pub time_s: Option<Option<u64>>,
    /// Maximum queries that run at once.
    pub concurrent: Option<Option<u64>>,
}

impl SqlLimits {
    /// These limits with a change.
    pub fn changed(self, change: SqlLimitsChange) -> Self {
        Self {
            rows: change.rows.unwrap_or(self.rows),
            bytes: change.bytes.unwrap_or(self.bytes),
            memory_mib: change.memory_mib.unwrap_or(self.memory_mib),
            time_s: change.time_s.unwrap_or(self.time_s),
            concurrent: change.concurrent.unwrap_or(self.concurrent),
        }
    }

    /// The text the store holds; `None` for a key without limits of its own.
    pub(crate) fn stored(self) -> Option<String> {
        (self != Self::default()).then(|| serde_json::json!(self).to_string())
    }

    /// From the text the store holds.
    ///
    /// # Errors
    /// The text was not written by [`SqlLimits::stored`]; a key whose limits cannot be read has no right to run without.
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
