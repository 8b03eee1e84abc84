//! The limits of one query, and the messages of queries that reach one.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::SqlSettings;
use toise_accounts::sql_limits::SqlLimits;

/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;
/// Minimum memory of a query, in MiB: with less it cannot sort or join anything.
pub const MEMORY_MIB_MIN: u64 = 16;
/// Bytes of a query that the engine does not count as its memory: batches between operators, buffers of files, and what
/// the allocator holds. Reading all columns of 98,000 real sales takes about 200 MiB.
const IN_TRANSIT_BYTES: usize = 256 << 20;

/// The limits of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryLimits {
    /// Maximum rows of the answer.
    pub rows_max: u64,
    /// Maximum bytes of the answer.
    pub bytes_max: u64,
    /// Memory before it spills to disk, in MiB.
    pub memory_mib: u64,
    /// Maximum disk space it spills to, in MiB.
    pub spill_mib: u64,
    /// Maximum duration, the answer included.
    pub time_max: Duration,
}

impl From<&SqlSettings> for QueryLimits {
    fn from(settings: &SqlSettings) -> Self {
        Self {
            rows_max: settings.rows_max,
            bytes_max: settings.answer_mib * MIB,
            memory_mib: settings.memory_mib,
            spill_mib: settings.spill_mib,
            time_max: Duration::from_secs(settings.time_s),
        }
    }
}

impl QueryLimits {
    /// Returns the lower of these limits and those requested.
    pub fn lowered_to(self, requested: SqlLimits) -> Self {
        let lower = |limit: u64, wanted: Option<u64>| limit.min(wanted.unwrap_or(limit));
        let memory_mib = lower(self.memory_mib, requested.memory_mib);
        Self {
            rows_max: lower(self.rows_max, requested.rows),
            bytes_max: lower(self.bytes_max, requested.bytes),
            memory_mib: memory_mib.max(MEMORY_MIB_MIN.min(self.memory_mib)),
            time_max: match requested.time_s {
                Some(seconds) => self.time_max.min(Duration::from_secs(seconds)),
                None => self.time_max,
            },
            spill_mib: self.spill_mib,
        }
    }

    /// Memory in bytes.
    pub fn memory_bytes(self) -> usize {
        usize::try_from(self.memory_mib * MIB).unwrap_or(usize::MAX)
    }

    /// Returns the bytes that a process may use for a query, in addition to its own memory. They cover the memory of
    /// the query, and the batches between its operators, which the engine does not count.
    pub fn process_bytes(self) -> usize {
        self.memory_bytes().saturating_add(IN_TRANSIT_BYTES)
    }

    /// Disk space in bytes.
    pub fn spill_bytes(self) -> u64 {
        self.spill_mib * MIB
    }
}

/// A limit that a query reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// More rows than allowed.
    Rows(u64),
    /// More bytes than allowed.
    Bytes(u64),
    /// More memory or disk space than allowed.
    Memory,
    /// More time than allowed.
    Time(Duration),
    /// More time on the processor than its time limit allows on all its threads.
    Processor,
    /// More of some construct in the text than allowed.
    Text(Cow<'static, str>, usize),
}

impl Limit {
    /// A limit of the text: at most `count_max` of `what`.
    pub fn text(what: &'static str, count_max: usize) -> Self {
        Limit::Text(what.into(), count_max)
    }

    /// A word for the audit log and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Limit::Rows(_) => "rows",
            Limit::Bytes(_) => "bytes",
            Limit::Memory => "memory",
            Limit::Time(_) | Limit::Processor => "time",
            Limit::Text(..) => "text",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Rows(max) => write!(formatter, "the answer has more than {max} rows"),
            Limit::Bytes(max) => write!(formatter, "the answer has more than {max} bytes"),
            Limit::Memory => formatter.write_str(
                "the query needs more memory and disk space than allowed: read fewer columns or rows",
            ),
            Limit::Time(max) => write!(formatter, "the query took more than {} s", max.as_secs_f64()),
            Limit::Processor => formatter.write_str("the query took more time on the processor than allowed"),
            Limit::Text(what, max) => write!(formatter, "the query has more than {max} {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_lowers_limits_and_never_raises_them() {
        let limits = QueryLimits::from(&SqlSettings::default());
        let wanted = SqlLimits {
            rows: Some(10),
            bytes: Some(u64::MAX),
            memory_mib: Some(1),
            time_s: Some(1_000_000),
            concurrent: None,
        };
        let lowered = limits.lowered_to(wanted);
        assert_eq!(lowered.rows_max, 10);
        assert_eq!(lowered.bytes_max, limits.bytes_max);
        assert_eq!(lowered.memory_mib, MEMORY_MIB_MIN);
        assert_eq!(lowered.time_max, limits.time_max);
    }
}
