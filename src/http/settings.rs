//! The settings of connections and requests, and those of the console: the sections `[server]` and `[console]`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
    /// Seconds.
    pub header_read_timeout_s: u64,
    /// Seconds.
    pub keep_alive_idle_s: u64,
    /// Seconds.
    pub request_timeout_s: u64,
    /// Seconds.
    pub drain_timeout_s: u64,
}

impl Default for ServerSettings {
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

impl ServerSettings {
    /// Certificate and key, if the service uses TLS.
    pub fn tls_files(&self) -> Option<(PathBuf, PathBuf)> {
        let both = !self.tls_certificate.is_empty() && !self.tls_key.is_empty();
        both.then(|| {
            (
                PathBuf::from(&self.tls_certificate),
                PathBuf::from(&self.tls_key),
            )
        })
    }

    /// Maximum duration of a request, including its body.
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
    /// Whose map that is, shown on it.
    pub attribution: String,
    /// Whether the session's cookie is `Secure` although this service does not serve TLS itself.
    pub behind_tls: bool,
}
