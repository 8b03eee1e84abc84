//! Settings of the lake: the section `lake` of the configuration.

use serde::{Deserialize, Serialize};

/// Versions of a table that are kept by default: the current one and the one before.
pub const KEEP_VERSIONS: usize = 2;
/// Maximum versions of a table that can be kept.
pub const KEEP_VERSIONS_MAX: usize = 1_000;

/// How the lake keeps its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LakeSettings {
    /// Versions of each table that stay readable, the current one included; at least 1.
    pub keep_versions: usize,
}

impl Default for LakeSettings {
    fn default() -> Self {
        Self {
            keep_versions: KEEP_VERSIONS,
        }
    }
}
