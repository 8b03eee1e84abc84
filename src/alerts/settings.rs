//! Settings of alerts and their deliveries: the `[alerts]` and `[webhooks]` sections.

use serde::{Deserialize, Serialize};
use toise_net::egress::AllowedHosts;

/// The `[alerts]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertLimits {
    /// Maximum active alerts per account.
    pub per_account_max: usize,
    /// Maximum alerts per account, including inactive ones.
    pub kept_per_account_max: usize,
    /// Maximum conditions per alert.
    pub conditions_max: usize,
}

impl Default for AlertLimits {
    fn default() -> Self {
        Self {
            per_account_max: 100_000,
            kept_per_account_max: 200_000,
            conditions_max: 2_000,
        }
    }
}

/// The `[webhooks]` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Host names and addresses that webhooks may reach even if private, comma-separated.
    pub allow_hosts: String,
    /// Retention of notifications, in days.
    pub retention_days: u64,
    /// Maximum number of notifications in the outbox.
    pub outbox_max: u64,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            allow_hosts: String::new(),
            retention_days: 30,
            outbox_max: 5_000_000,
        }
    }
}

impl WebhookSettings {
    /// Returns the hosts that webhooks may always reach. The text was validated when the settings were read.
    pub fn allowed(&self) -> AllowedHosts {
        AllowedHosts::parse(&self.allow_hosts).unwrap_or_default()
    }
}
