//! Settings of memory and query threads: the section `[engine]` of the configuration.

use serde::{Deserialize, Serialize};

/// The section `[engine]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// Size of the cache of decoded columns, in MiB.
    pub column_cache_mib: u64,
    /// Memory of SQL queries before they spill to disk, in MiB.
    pub sql_memory_mib: u64,
    /// Query threads; 0 for one per core.
    pub query_threads: usize,
    /// Maximum queries waiting for a thread.
    pub query_queue_max: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        // With footers and buffers, this stays below 4 GiB.
        Self {
            column_cache_mib: 2_048,
            sql_memory_mib: 1_024,
            query_threads: 0,
            query_queue_max: 256,
        }
    }
}

impl EngineSettings {
    /// Returns the number of query threads, at least one.
    pub fn threads(&self) -> usize {
        match self.query_threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}
