//! The configuration of the service: one commented TOML file, the environment and flags, over the defaults.
//!
//! A setting has a section, a key, a kind and one sentence, all in [`settings`]: that table checks values, writes the
//! commented file and finds the nearest known key of a mistyped one. Values come in four layers, each over the one
//! before: default, file (`--config FILE`, or `toise.toml` in the data folder when it is there), environment
//! (`TOISE_SERVER__LISTEN` is `server.listen`), flags. A key that is not in the table is refused, with the place it
//! stands at. `toise config` prints the outcome with where each value came from.

mod layers;
pub mod print;
pub mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use layers::{Flag, Sources};
use settings::Setting;
use toise_accounts::limits::Limits;
use toise_accounts::prices;
use toise_alerts::settings::{AlertLimits, WebhookSettings};
use toise_collect::settings::CollectSettings;
use toise_engine::EngineSettings;
use toise_estimate::settings::EstimateSettings;
use toise_http::settings::ServerSettings;
use toise_telemetry::logs::LogSettings;

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
    pub server: ServerSettings,
    /// Log lines.
    pub log: LogSettings,
    /// Memory and threads of questions.
    pub engine: EngineSettings,
    /// What new keys get unless they are made with values of their own.
    pub limits: Limits,
    /// What alerts may be.
    pub alerts: AlertLimits,
    /// Values of homes.
    pub estimate: EstimateSettings,
    /// Deliveries of alerts.
    pub webhooks: WebhookSettings,
    /// Pages of listings, collected on demand.
    pub collect: CollectSettings,
    /// Credits by consumption type; every type is in it.
    pub prices: BTreeMap<String, u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: ServerSettings::default(),
            log: LogSettings::default(),
            engine: EngineSettings::default(),
            limits: Limits::default(),
            alerts: AlertLimits::default(),
            estimate: EstimateSettings::default(),
            webhooks: WebhookSettings::default(),
            collect: CollectSettings::default(),
            prices: prices::default_prices(),
        }
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
