//! What alerts may be, and how their deliveries are kept: sections `[alerts]` and `[webhooks]`.

use serde::{Deserialize, Serialize};
use toise_net::receiver::Allowed;

/// `[alerts]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertLimits {
    /// Active alerts an account may have.
    pub per_account_max: usize,
    /// Alerts an account may have, ended ones included.
    pub kept_per_account_max: usize,
    /// Conditions an alert may hold.
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

/// `[webhooks]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Host names and addresses separated by commas.
    pub allow_hosts: String,
    /// Days.
    pub retention_days: u64,
    /// Notifications.
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
    /// The hosts that webhooks may reach wherever they are. The table of settings has checked the text.
    pub fn allowed(&self) -> Allowed {
        Allowed::parse(&self.allow_hosts).unwrap_or_default()
    }
}
