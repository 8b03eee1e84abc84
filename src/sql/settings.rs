//! The settings of SQL over the network, and of workers: the `[sql]`, `[flight]` and `[cluster]` sections.

use serde::{Deserialize, Serialize};

/// `[sql]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlSettings {
    /// Maximum rows of an answer.
    pub rows_max: u64,
    /// Maximum bytes of an answer, in MiB.
    pub answer_mib: u64,
    /// Memory of one query before it spills to disk, in MiB.
    pub memory_mib: u64,
    /// Maximum disk space that one query spills to, in MiB.
    pub spill_mib: u64,
    /// Maximum duration of a query, including its answer, in seconds.
    pub time_s: u64,
    /// Maximum queries of one key that run at once.
    pub concurrent_max: u64,
    /// Threads that run queries; 0 for one per core.
    pub threads: usize,
    /// Retention of the audit log, in days.
    pub audit_days: u64,
}

impl Default for SqlSettings {
    fn default() -> Self {
        Self {
            rows_max: 50_000_000,
            answer_mib: 8_192,
            memory_mib: 256,
            spill_mib: 4_096,
            time_s: 30,
            concurrent_max: 2,
            threads: 0,
            audit_days: 90,
        }
    }
}

impl SqlSettings {
    /// Number of threads that run queries, at least one.
    pub fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// `[flight]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlightSettings {
    /// `HOST:PORT`; empty for off.
    pub listen: String,
}

/// `[cluster]`: for executables built with the feature `cluster`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// The token that callers show to workers; empty to use certificates instead.
    pub token: String,
    /// PEM file with the certificate of this process; empty for none.
    pub certificate: String,
    /// PEM file with its private key.
    pub key: String,
    /// PEM file with the certificate of the authority that signed those of workers and callers.
    pub ca: String,
    /// Rows per part of a bulk job.
    pub part_rows: usize,
    /// Addresses of the workers that run a server's queries, separated by commas; empty for none.
    pub workers: String,
    /// Bytes of data files from which a server's query is run by its workers, in MiB.
    pub sql_scan_mib: u64,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            token: String::new(),
            certificate: String::new(),
            key: String::new(),
            ca: String::new(),
            part_rows: 8_192,
            workers: String::new(),
            sql_scan_mib: 256,
        }
    }
}
