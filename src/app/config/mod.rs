//! The configuration of the service: one commented TOML file, the environment and flags, on top of the defaults.
//!
//! A setting has a section, a key, a kind and one sentence of documentation, all in [`settings`]. That table is used to
//! check values, to write the commented file and to find the nearest known key of a mistyped one. Values come from four
//! layers; later layers take precedence: default, file (`--config FILE`, or `toise.toml` in the data folder if it
//! exists), environment (`TOISE_SERVER__LISTEN` is `server.listen`), flags. A key that is not in the table is refused,
//! and the error gives its position. `toise config` prints the result with the origin of each value.

mod layers;
pub mod print;
pub mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use layers::{ConfigSources, Flag};
use settings::Setting;
use toise_accounts::limits::KeyLimits;
use toise_accounts::prices;
use toise_alerts::settings::{AlertLimits, WebhookSettings};
use toise_collect::settings::CollectSettings;
use toise_dedup::settings::DedupSettings;
use toise_engine::EngineSettings;
use toise_erasure::settings::PersonalDataSettings;
use toise_estimate::settings::EstimateSettings;
use toise_geocode::settings::GeocodingSettings;
use toise_lake::settings::LakeSettings;
use toise_service::settings::{AdminSettings, ConsoleSettings, McpSettings, ServerSettings};
use toise_sources::settings::RefreshSettings;
use toise_sql::settings::{ClusterSettings, FlightSettings, SqlSettings};
use toise_telemetry::logs::LogSettings;

/// Name of the configuration file in the data folder.
pub const FILE_NAME: &str = "toise.toml";
/// Prefix of environment variables; followed by section and key, joined by two underscores.
pub const ENVIRONMENT_PREFIX: &str = "TOISE_";

/// Errors of a configuration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A key, value or line that is not allowed; the message starts with its position.
    #[error("{place}: {fault}")]
    Refused {
        /// File and line, environment variable, or flag.
        place: String,
        /// The fault, and the allowed values.
        fault: String,
    },
    /// Settings that contradict each other.
    #[error("configuration: {0}")]
    Contradiction(&'static str),
    /// The table of settings does not match the structure that it fills.
    #[error("configuration: {0}")]
    Structure(String),
}

/// All settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Connections and requests.
    pub server: ServerSettings,
    /// The listener of operators.
    pub admin: AdminSettings,
    /// Log lines.
    pub log: LogSettings,
    /// Memory and threads of queries.
    pub engine: EngineSettings,
    /// Tables and their versions.
    pub lake: LakeSettings,
    /// New editions of the official sources.
    pub refresh: RefreshSettings,
    /// Defaults for new keys.
    pub limits: KeyLimits,
    /// Limits of alerts.
    pub alerts: AlertLimits,
    /// Deduplication of adverts.
    pub dedup: DedupSettings,
    /// Valuation of homes.
    pub estimate: EstimateSettings,
    /// Deliveries of alerts.
    pub webhooks: WebhookSettings,
    /// Pages of listings, collected on demand.
    pub collect: CollectSettings,
    /// Retention of personal data.
    pub personal_data: PersonalDataSettings,
    /// Addresses to positions and back.
    pub geocoding: GeocodingSettings,
    /// SQL over the network.
    pub sql: SqlSettings,
    /// Arrow Flight SQL.
    pub flight: FlightSettings,
    /// Workers.
    pub cluster: ClusterSettings,
    /// Model Context Protocol.
    pub mcp: McpSettings,
    /// The console.
    pub console: ConsoleSettings,
    /// Credits by consumption type; every type is present.
    pub prices: BTreeMap<String, u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: ServerSettings::default(),
            admin: AdminSettings::default(),
            log: LogSettings::default(),
            engine: EngineSettings::default(),
            lake: LakeSettings::default(),
            refresh: RefreshSettings::default(),
            limits: KeyLimits::default(),
            alerts: AlertLimits::default(),
            dedup: DedupSettings::default(),
            estimate: EstimateSettings::default(),
            webhooks: WebhookSettings::default(),
            collect: CollectSettings::default(),
            personal_data: PersonalDataSettings::default(),
            geocoding: GeocodingSettings::default(),
            sql: SqlSettings::default(),
            flight: FlightSettings::default(),
            cluster: ClusterSettings::default(),
            mcp: McpSettings::default(),
            console: ConsoleSettings::default(),
            prices: prices::default_prices(),
        }
    }
}

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Not set.
    Default,
    /// A line of a file.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A command-line flag.
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Default => formatter.write_str("default"),
            SettingOrigin::File { path, line } => write!(formatter, "{}:{line}", path.display()),
            SettingOrigin::Environment(name) => write!(formatter, "environment {name}"),
            SettingOrigin::Flag(flag) => write!(formatter, "flag {flag}"),
        }
    }
}

/// A setting with its value.
#[derive(Clone, Debug)]
pub struct SettingValue {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value.
    pub value: toml::Value,
    /// Origin of the value.
    pub origin: SettingOrigin,
}

/// The configuration in effect, with the origin of each value.
#[derive(Clone, Debug)]
pub struct EffectiveConfig {
    /// Typed configuration, for the program.
    pub config: Config,
    /// Values with their origins, in the order of the table of settings, for printing.
    pub values: Vec<SettingValue>,
}

impl EffectiveConfig {
    /// Loads the configuration for a data folder.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown key, a value out of range, settings that contradict each other.
    pub fn load(data: &Path, sources: &ConfigSources) -> Result<Self, Error> {
        Self::from_values(layers::apply(Some(data), sources)?)
    }

    /// Returns the configuration with defaults only.
    ///
    /// # Errors
    /// None: a test checks the defaults against the table of settings.
    pub fn defaults() -> Result<Self, Error> {
        Self::from_values(layers::apply(None, &ConfigSources::default())?)
    }

    fn from_values(values: Vec<SettingValue>) -> Result<Self, Error> {
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
                "server.tls_certificate and server.tls_key go together; set both or neither",
            ));
        }
        let console = &config.console;
        if console.base_map.is_empty() != console.attribution.is_empty() {
            return Err(Error::Contradiction(
                "console.base_map and console.attribution go together: a map of another service must name that service",
            ));
        }
        if config.dedup.thresholds().is_none() {
            return Err(Error::Contradiction(
                "dedup.possible_probability must not exceed dedup.same_probability",
            ));
        }
        Ok(Self { config, values })
    }
}

#[cfg(test)]
mod tests;
