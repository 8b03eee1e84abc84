//! Settings of collection: the `[collect]` section.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toise_net::egress::AllowedHosts;

/// Whether pages are fetched over plain http.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainHttp {
    /// Over https only.
    #[default]
    Refused,
    /// Over both.
    Allowed,
}

/// Hosts from which pages are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hosts {
    /// Any public host.
    #[default]
    Any,
    /// Hosts of portals that have rules.
    Portals,
}

/// Which pages requested with a test key reach the alerts of other accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// None.
    None,
    /// Those of portals with rules.
    #[default]
    Portals,
    /// All.
    All,
}

/// The `[collect]` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectSettings {
    /// Host names and addresses that may be fetched even if private, comma-separated.
    pub allow_hosts: String,
    /// `refused` or `allowed`.
    pub plain_http: PlainHttp,
    /// `any` or `portals`.
    pub hosts: Hosts,
    /// `none`, `portals` or `all`.
    pub share: Share,
    /// How long an advert counts as fresh after it was last seen, in seconds.
    pub fresh_s: u64,
    /// Maximum wait of a call for its page, in seconds.
    pub wait_s: u64,
    /// Maximum duration of fetching a page, in seconds.
    pub page_timeout_s: u64,
    /// How long a rejection is remembered, in seconds.
    pub rejected_for_s: u64,
    /// Maximum concurrent fetches.
    pub running_max: usize,
    /// Maximum concurrent fetches per host.
    pub per_host_max: usize,
    /// Minimum time between two fetches at one host, in milliseconds.
    pub host_delay_ms: u64,
    /// Maximum waiting jobs per account.
    pub waiting_per_account_max: u64,
    /// Retention of collected pages, in days; 0 to store none.
    pub keep_pages_days: u64,
    /// Contact that portals can write to.
    pub contact: String,
}

impl Default for CollectSettings {
    fn default() -> Self {
        Self {
            allow_hosts: String::new(),
            plain_http: PlainHttp::default(),
            hosts: Hosts::default(),
            share: Share::default(),
            fresh_s: 6 * 3_600,
            wait_s: 45,
            page_timeout_s: 30,
            rejected_for_s: 6 * 3_600,
            running_max: 256,
            per_host_max: 2,
            host_delay_ms: 1_000,
            waiting_per_account_max: 20_000,
            keep_pages_days: 0,
            contact: String::new(),
        }
    }
}

impl CollectSettings {
    /// Returns the hosts whose pages may always be fetched. The text was validated when the settings were read.
    pub fn allowed(&self) -> AllowedHosts {
        AllowedHosts::parse(&self.allow_hosts).unwrap_or_default()
    }

    /// Returns whether pages may also be fetched over plain HTTP.
    pub fn plain_http(&self) -> bool {
        self.plain_http == PlainHttp::Allowed
    }

    /// Returns whether only pages of portals with rules are fetched.
    pub fn portals_only(&self) -> bool {
        self.hosts == Hosts::Portals
    }

    /// Returns the maximum duration of fetching a page.
    pub fn page_timeout(&self) -> Duration {
        Duration::from_secs(self.page_timeout_s)
    }
}
