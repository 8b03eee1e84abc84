//! The settings of connections and requests: the `[server]`, `[admin]` and `[console]` sections.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use toise_telemetry::descriptors;
use toise_transport::client_address::Networks;
use toise_transport::cors::AllowedOrigins;
use toise_transport::server::ServerLimits;

/// `[server]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// `HOST:PORT`.
    pub listen: String,
    /// PEM file; empty for none.
    pub tls_certificate: String,
    /// PEM file; empty for none.
    pub tls_key: String,
    /// Seconds.
    pub tls_handshake_timeout_s: u64,
    /// Maximum open connections.
    pub connections_max: usize,
    /// Maximum open connections of one client address.
    pub connections_per_address_max: usize,
    /// Requests a second of one client address without a valid key.
    pub unkeyed_rate_per_s: u32,
    /// Addresses and networks of proxies, separated by commas.
    pub trusted_proxies: String,
    /// Origins, separated by commas.
    pub cors_origins: String,
    /// Maximum memory of request and response bodies, MiB.
    pub bodies_mib: usize,
    /// Free space below which the service is not ready, MiB.
    pub disk_free_min_mib: u64,
    /// Seconds.
    pub header_read_timeout_s: u64,
    /// Seconds.
    pub keep_alive_idle_s: u64,
    /// Seconds.
    pub request_timeout_s: u64,
    /// Seconds.
    pub drain_timeout_s: u64,
}

/// `[admin]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminSettings {
    /// `HOST:PORT`; empty for none.
    pub listen: String,
}

impl Default for ServerSettings {
    fn default() -> Self {
        let limits = ServerLimits::default();
        Self {
            listen: "127.0.0.1:8080".into(),
            tls_certificate: String::new(),
            tls_key: String::new(),
            tls_handshake_timeout_s: limits.tls_handshake_timeout.as_secs(),
            connections_max: limits.connections_max,
            connections_per_address_max: limits.connections_per_address_max,
            unkeyed_rate_per_s: 1_000,
            trusted_proxies: String::new(),
            cors_origins: String::new(),
            bodies_mib: 512,
            disk_free_min_mib: 256,
            header_read_timeout_s: limits.header_read_timeout.as_secs(),
            keep_alive_idle_s: limits.keep_alive_idle.as_secs(),
            request_timeout_s: 30,
            drain_timeout_s: limits.drain_timeout.as_secs(),
        }
    }
}

impl From<&ServerSettings> for ServerLimits {
    fn from(server: &ServerSettings) -> Self {
        Self {
            connections_max: server.connections_allowed(),
            connections_per_address_max: server.connections_per_address_max,
            tls_handshake_timeout: Duration::from_secs(server.tls_handshake_timeout_s),
            header_read_timeout: Duration::from_secs(server.header_read_timeout_s),
            keep_alive_idle: Duration::from_secs(server.keep_alive_idle_s),
            drain_timeout: Duration::from_secs(server.drain_timeout_s),
            proxies: Arc::new(server.proxies()),
        }
    }
}

impl ServerSettings {
    /// Returns certificate and key, if the service uses TLS.
    pub fn tls_files(&self) -> Option<(PathBuf, PathBuf)> {
        let both = !self.tls_certificate.is_empty() && !self.tls_key.is_empty();
        both.then(|| {
            (
                PathBuf::from(&self.tls_certificate),
                PathBuf::from(&self.tls_key),
            )
        })
    }

    /// Returns the proxies in front of the service. The settings were validated, so no entry is dropped.
    pub fn proxies(&self) -> Networks {
        Networks::parse(&self.trusted_proxies).unwrap_or_default()
    }

    /// Returns the origins whose pages may call. The settings were validated, so no entry is dropped.
    pub fn origins(&self) -> AllowedOrigins {
        AllowedOrigins::parse(&self.cors_origins).unwrap_or_default()
    }

    /// Returns the maximum of open connections, lowered to what the limit on open files allows.
    pub fn connections_allowed(&self) -> usize {
        descriptors::connections_allowed(self.connections_max)
    }

    /// Returns the maximum duration of a request, including its body.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s)
    }
}

/// `[console]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsoleSettings {
    /// Address of raster tiles with `{z}`, `{x}` and `{y}`, or of a style; empty for outlines alone.
    pub base_map: String,
    /// Attribution of that map, shown on it.
    pub attribution: String,
    /// Whether the session's cookie is `Secure` although this service does not serve TLS itself.
    pub behind_tls: bool,
}

/// `[mcp]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// Whether the server answers at `/mcp`.
    pub enabled: bool,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}
