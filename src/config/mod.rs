//! The configuration of the service: one commented TOML file, the environment and flags, over the defaults.
//!
//! A setting has a section, a key, a kind and one sentence, all in [`settings`]: that table checks values, writes the
//! commented file and finds the nearest known key of a mistyped one. Values come in four layers, each over the one
//! before: default, file (`--config FILE`, or `toise.toml` in the data folder when it is there), environment
//! (`TOISE_SERVER__LISTEN` is `server.listen`), flags. A key that is not in the table is refused, with the place it
//! stands at. `toise config` prints the outcome with where each value came from.

mod layers;
pub mod prices;
pub mod print;
pub mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::estimate::valuer::Adjustments;
use crate::net::receiver::Allowed;
pub use layers::{Flag, Sources};
use settings::Setting;

/// Name of the configuration file in the data folder.
pub const FILE_NAME: &str = "toise.toml";
/// What the names of environment variables begin with; section and key follow, joined by two underscores.
pub const ENVIRONMENT_PREFIX: &str = "TOISE_";

/// What a configuration can be refused for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A key, value or line that is not allowed; the text begins with where it stands.
    #[error("{place}: {fault}")]
    Refused {
        /// File and line, environment variable, or flag.
        place: String,
        /// What is wrong and what is allowed.
        fault: String,
    },
    /// Settings that contradict one another.
    #[error("configuration: {0}")]
    Contradiction(&'static str),
    /// The table of settings and the structure they fill disagree.
    #[error("configuration: {0}")]
    Structure(String),
}

/// Everything an operator may set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Connections and requests.
    pub server: Server,
    /// Log lines.
    pub log: Log,
    /// Memory and threads of questions.
    pub engine: Engine,
    /// What new keys get unless they are made with values of their own.
    pub limits: Limits,
    /// What alerts may be.
    pub alerts: Alerts,
    /// Values of homes.
    pub estimate: Estimate,
    /// Deliveries of alerts.
    pub webhooks: Webhooks,
    /// Pages of listings, collected on demand.
    pub collect: Collect,
    /// Credits by consumption type; every type is in it.
    pub prices: BTreeMap<String, u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: Server::default(),
            log: Log::default(),
            engine: Engine::default(),
            limits: Limits::default(),
            alerts: Alerts::default(),
            estimate: Estimate::default(),
            webhooks: Webhooks::default(),
            collect: Collect::default(),
            prices: prices::default_prices(),
        }
    }
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// `HOST:PORT`.
    pub listen: String,
    /// PEM file; empty for none.
    pub tls_certificate: String,
    /// PEM file; empty for none.
    pub tls_key: String,
    /// Seconds.
    pub tls_handshake_timeout_s: u64,
    /// Connections open at once.
    pub connections_max: usize,
    /// Seconds.
    pub header_read_timeout_s: u64,
    /// Seconds.
    pub keep_alive_idle_s: u64,
    /// Seconds.
    pub request_timeout_s: u64,
    /// Seconds.
    pub drain_timeout_s: u64,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            tls_certificate: String::new(),
            tls_key: String::new(),
            tls_handshake_timeout_s: 10,
            connections_max: 4_096,
            header_read_timeout_s: 30,
            keep_alive_idle_s: 75,
            request_timeout_s: 30,
            drain_timeout_s: 20,
        }
    }
}

impl Server {
    /// Certificate and key, when the service speaks TLS.
    pub fn tls_files(&self) -> Option<(PathBuf, PathBuf)> {
        let both = !self.tls_certificate.is_empty() && !self.tls_key.is_empty();
        both.then(|| {
            (
                PathBuf::from(&self.tls_certificate),
                PathBuf::from(&self.tls_key),
            )
        })
    }

    /// Longest a request may take, its body included.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s)
    }
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// `text` or `json`.
    pub format: LogFormat,
    /// A level, or directives of `tracing`'s filter.
    pub level: String,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            level: "info".into(),
        }
    }
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// `[engine]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// MiB of decoded columns kept in memory.
    pub column_cache_mib: u64,
    /// MiB SQL queries may hold before they spill.
    pub sql_memory_mib: u64,
    /// Threads of the query pool; 0 for one per core.
    pub query_threads: usize,
    /// Questions that may wait for a thread.
    pub query_queue_max: usize,
}

impl Default for Engine {
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

impl Engine {
    /// Threads of the query pool, at least one.
    pub fn threads(&self) -> usize {
        match self.query_threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// `[alerts]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alerts {
    /// Active alerts an account may have.
    pub per_account_max: usize,
    /// Alerts an account may have, ended ones included.
    pub kept_per_account_max: usize,
    /// Conditions an alert may hold.
    pub conditions_max: usize,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            per_account_max: 100_000,
            kept_per_account_max: 200_000,
            conditions_max: 2_000,
        }
    }
}

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
            concurrent_estimates_max: 2,
        }
    }
}

/// `[estimate]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Whether what recorded sales cannot teach moves the price.
    pub adjustments: bool,
}

impl Default for Estimate {
    fn default() -> Self {
        Self { adjustments: true }
    }
}

impl Estimate {
    /// The same for the estimator.
    pub fn adjustments(&self) -> Adjustments {
        match self.adjustments {
            true => Adjustments::On,
            false => Adjustments::Off,
        }
    }
}

/// `[webhooks]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    /// Host names and addresses separated by commas.
    pub allow_hosts: String,
    /// Days.
    pub retention_days: u64,
    /// Notifications.
    pub outbox_max: u64,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            allow_hosts: String::new(),
            retention_days: 30,
            outbox_max: 5_000_000,
        }
    }
}

impl Webhooks {
    /// The hosts that webhooks may reach wherever they are. The table of settings has checked the text.
    pub fn allowed(&self) -> Allowed {
        Allowed::parse(&self.allow_hosts).unwrap_or_default()
    }
}

/// `[collect]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// Host names and addresses separated by commas.
    pub allow_hosts: String,
    /// `refused` or `allowed`.
    pub plain_http: String,
    /// `any` or `portals`.
    pub hosts: String,
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

impl Default for Collect {
    fn default() -> Self {
        Self {
            allow_hosts: String::new(),
            plain_http: "refused".into(),
            hosts: "any".into(),
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

impl Collect {
    /// The hosts whose pages may be fetched wherever they are. The table of settings has checked the text.
    pub fn allowed(&self) -> Allowed {
        Allowed::parse(&self.allow_hosts).unwrap_or_default()
    }

    /// Whether pages are fetched over plain http too.
    pub fn plain_http(&self) -> bool {
        self.plain_http == "allowed"
    }

    /// Whether only pages of portals there are rules for are fetched.
    pub fn portals_only(&self) -> bool {
        self.hosts == "portals"
    }

    /// Longest a page may take.
    pub fn page_timeout(&self) -> Duration {
        Duration::from_secs(self.page_timeout_s)
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of a file.
    File {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => formatter.write_str("default"),
            Origin::File { path, line } => write!(formatter, "{}:{line}", path.display()),
            Origin::Environment(name) => write!(formatter, "environment {name}"),
            Origin::Flag(flag) => write!(formatter, "flag {flag}"),
        }
    }
}

/// One setting as it stands.
#[derive(Clone, Debug)]
pub struct Value {
    /// Which setting.
    pub setting: &'static Setting,
    /// Its value.
    pub value: toml::Value,
    /// Where that came from.
    pub origin: Origin,
}

/// The configuration in effect, and where it came from.
#[derive(Clone, Debug)]
pub struct Effective {
    /// For the program.
    pub config: Config,
    /// For people, in the order of the table of settings.
    pub values: Vec<Value>,
}

impl Effective {
    /// The configuration for a data folder.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown key, a value out of its range, settings that contradict one another.
    pub fn load(data: &Path, sources: &Sources) -> Result<Self, Error> {
        Self::from_values(layers::apply(Some(data), sources)?)
    }

    /// The configuration without anything set.
    ///
    /// # Errors
    /// None: a test holds the defaults against the table of settings.
    pub fn defaults() -> Result<Self, Error> {
        Self::from_values(layers::apply(None, &Sources::default())?)
    }

    fn from_values(values: Vec<Value>) -> Result<Self, Error> {
        let mut table = toml::Table::new();
        for value in &values {
            let section = table
                .entry(value.setting.section)
                .or_insert_with(|| toml::Table::new().into());
            if let Some(section) = section.as_table_mut() {
                section.insert(value.setting.key.into(), value.value.clone());
            }
        }
        let config: Config = serde_path_to_error::deserialize(toml::Value::Table(table))
            .map_err(|error| Error::Structure(error.to_string()))?;
        let server = &config.server;
        if server.tls_certificate.is_empty() != server.tls_key.is_empty() {
            return Err(Error::Contradiction(
                "server.tls_certificate and server.tls_key go together: set both, or neither",
            ));
        }
        Ok(Self { config, values })
    }
}

#[cfg(test)]
mod tests;
