//! The settings of collection: section `[collect]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toise_net::receiver::Allowed;

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

/// Which hosts pages are fetched of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hosts {
    /// Any public host.
    #[default]
    Any,
    /// Hosts of portals there are rules for.
    Portals,
}

/// `[collect]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectSettings {
    /// Host names and addresses separated by commas.
    pub allow_hosts: String,
    /// `refused` or `allowed`.
    pub plain_http: PlainHttp,
    /// `any` or `portals`.
    pub hosts: Hosts,
    /// Seconds.
    pub fresh_s: u64,
    /// Seconds.
    pub wait_s: u64,
    /// Seconds.
    pub page_timeout_s: u64,
    /// Seconds.
    pub rejected_for_s: u64,
    /// Fetches at once.
    pub running_max: usize,
    /// Fetches at once of one host.
    pub per_host_max: usize,
    /// Milliseconds.
    pub host_delay_ms: u64,
    /// Jobs of one account that wait.
    pub waiting_per_account_max: u64,
    /// Days; 0 for none kept.
    pub keep_pages_days: u64,
    /// Whom portals may ask.
    pub contact: String,
}

impl Default for CollectSettings {
    fn default() -> Self {
        Self {
            allow_hosts: String::new(),
            plain_http: PlainHttp::default(),
            hosts: Hosts::default(),
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
    /// The hosts whose pages may be fetched wherever they are. The table of settings has checked the text.
    pub fn allowed(&self) -> Allowed {
        Allowed::parse(&self.allow_hosts).unwrap_or_default()
    }

    /// Whether pages are fetched over plain http too.
    pub fn plain_http(&self) -> bool {
        self.plain_http == PlainHttp::Allowed
    }

    /// Whether only pages of portals there are rules for are fetched.
    pub fn portals_only(&self) -> bool {
        self.hosts == Hosts::Portals
    }

    /// Longest a page may take.
    pub fn page_timeout(&self) -> Duration {
        Duration::from_secs(self.page_timeout_s)
    }
}
