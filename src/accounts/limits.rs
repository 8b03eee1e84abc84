//! Default limits of new keys: the `[limits]` section.

use serde::{Deserialize, Serialize};

/// Default maximum of concurrent estimates of one key.
pub const CONCURRENT_ESTIMATES: u32 = 2;

/// The `[limits]` section.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyLimits {
    /// Rate of a test key, requests per second.
    pub test_rate_per_s: u32,
    /// Quota of a test key, calls per month; 0 for unlimited.
    pub test_monthly_quota: u64,
    /// Rate of a production key, requests per second.
    pub production_rate_per_s: u32,
    /// Quota of a production key, calls per month; 0 for unlimited.
    pub production_monthly_quota: u64,
    /// Maximum concurrent estimates of one key.
    pub concurrent_estimates_max: u32,
}

impl Default for KeyLimits {
    fn default() -> Self {
        Self {
            test_rate_per_s: 5,
            test_monthly_quota: 10_000,
            production_rate_per_s: 50,
            production_monthly_quota: 0,
            concurrent_estimates_max: CONCURRENT_ESTIMATES,
        }
    }
}
