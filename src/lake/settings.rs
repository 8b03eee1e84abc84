//! Settings of the lake: the section `lake` of the configuration.

use serde::{Deserialize, Serialize};

/// Versions of a table that are kept by default: the current one and the one before.
pub const KEEP_VERSIONS: usize = 2;
/// Maximum versions of a table that can be kept.
pub const KEEP_VERSIONS_MAX: usize = 1_000;

/// Seconds between two looks for something to publish, by default.
const PUBLISH_EVERY_S: u64 = 1;
/// Seconds between two shipments of metered consumption, by default.
const METERING_EVERY_S: u64 = 60;

/// How the lake keeps its tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LakeSettings {
    /// Versions of each table that stay readable, the current one included; at least 1.
    pub keep_versions: usize,
    /// Object store that a server publishes its data folder to; empty for none.
    pub publish: String,
    /// Pause between two looks for something to publish, seconds.
    pub publish_every_s: u64,
    /// Pause between two shipments of the consumption that replicas meter, and between two looks of the writer for them,
    /// seconds.
    pub metering_every_s: u64,
    /// Where this server takes requests that its replicas refuse; empty if they do not say.
    pub writer_address: String,
    /// Object store whose publications a server follows as a replica; empty for a server with data of its own.
    pub replica: String,
}

impl Default for LakeSettings {
    fn default() -> Self {
        Self {
            keep_versions: KEEP_VERSIONS,
            publish: String::new(),
            publish_every_s: PUBLISH_EVERY_S,
            metering_every_s: METERING_EVERY_S,
            writer_address: String::new(),
            replica: String::new(),
        }
    }
}
