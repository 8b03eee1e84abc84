//! What new keys may use unless they are made with values of their own: section `[limits]`.

use serde::{Deserialize, Serialize};

/// Estimates of one key that may run at once, unless configured otherwise.
pub const CONCURRENT_ESTIMATES: u32 = 2;

/// `[limits]`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests a second of a test key.
    pub test_rate_per_s: u32,
    /// Calls a month of a test key; 0 for no quota.
    pub test_monthly_quota: u64,
    /// Requests a second of a production key.
    pub production_rate_per_s: u32,
    /// Calls a month of a production key; 0 for no quota.
    pub production_monthly_quota: u64,
    /// Estimates of one key that may run at once.
    pub concurrent_estimates_max: u32,
}

impl Default for Limits {
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
