//! The settings of memory and threads of questions: section `[engine]`.

use serde::{Deserialize, Serialize};

/// `[engine]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// MiB of decoded columns kept in memory.
    pub column_cache_mib: u64,
    /// MiB SQL queries may hold before they spill.
    pub sql_memory_mib: u64,
    /// Threads of the query pool; 0 for one per core.
    pub query_threads: usize,
    /// Questions that may wait for a thread.
    pub query_queue_max: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        // Together with footers and buffers this stays under 4 GiB.
        Self {
            column_cache_mib: 2_048,
            sql_memory_mib: 1_024,
            query_threads: 0,
            query_queue_max: 256,
        }
    }
}

impl EngineSettings {
    /// Threads of the query pool, at least one.
    pub fn threads(&self) -> usize {
        match self.query_threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}
