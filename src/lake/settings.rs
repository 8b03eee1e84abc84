//! Settings of the lake: the section `lake` of the configuration.

use serde::{Deserialize, Serialize};
use toise_geo::departments;

/// Versions of a table that are kept by default: the current one and the one before.
pub const KEEP_VERSIONS: usize = 2;
/// Maximum versions of a table that can be kept.
pub const KEEP_VERSIONS_MAX: usize = 1_000;

/// Default seconds between two checks for something to publish.
const PUBLISH_EVERY_S: u64 = 1;
/// Default seconds between two shipments of metered consumption.
const METERING_EVERY_S: u64 = 60;

/// Default space for data that a replica fetches from departments it does not hold, in MiB.
const REPLICA_FETCHED_MIB: u64 = 4_096;

/// Settings of the lake, of its publication and of replicas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LakeSettings {
    /// Versions of each table that stay readable, the current one included; at least 1.
    pub keep_versions: usize,
    /// Object store that a server publishes its data folder to; empty for none.
    pub publish: String,
    /// Pause between two checks for something to publish, in seconds.
    pub publish_every_s: u64,
    /// Pause between two shipments of the consumption that replicas meter, and between two checks of the writer for
    /// shipments, in seconds.
    pub metering_every_s: u64,
    /// Address at which this server takes the requests that its replicas refuse; empty if replicas do not name it.
    pub writer_address: String,
    /// Object store whose publications a server follows as a replica; empty for a server with its own data.
    pub replica: String,
    /// Codes of the departments whose data files a replica holds on its disk, separated by commas; empty for all.
    pub replica_departments: String,
    /// Space for data that a replica of some departments fetches from other departments, in MiB.
    pub replica_fetched_mib: u64,
}

/// Parses department codes that are separated by commas; `None` if one is unknown.
pub fn departments(text: &str) -> Option<Vec<String>> {
    let codes = text
        .split(',')
        .map(str::trim)
        .filter(|code| !code.is_empty());
    codes
        .map(|code| departments::name(code).map(|_| code.to_owned()))
        .collect()
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
            replica_departments: String::new(),
            replica_fetched_mib: REPLICA_FETCHED_MIB,
        }
    }
}
