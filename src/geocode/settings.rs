//! Settings of geocoding: the `[geocoding]` section.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

/// When to ask the upstream service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamMode {
    /// If the index finds nothing, or only results of low confidence.
    #[default]
    Fallback,
    /// Always; the index is not used.
    Only,
}

/// The `[geocoding]` section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeocodingSettings {
    /// Base address of the upstream service; empty for none.
    pub upstream: String,
    /// `fallback` or `only`.
    pub upstream_mode: UpstreamMode,
    /// How long its answers are kept, in days; 0 to keep none.
    pub upstream_cache_days: u64,
    /// Maximum requests to it per second.
    pub upstream_rate_per_s: u64,
    /// Address of the service that computes isochrones; empty for none.
    pub isochrones: String,
}

impl Default for GeocodingSettings {
    fn default() -> Self {
        Self {
            upstream: String::new(),
            upstream_mode: UpstreamMode::default(),
            upstream_cache_days: 30,
            upstream_rate_per_s: 10,
            isochrones: "https://data.geopf.fr/navigation/isochrone".to_owned(),
        }
    }
}

impl GeocodingSettings {
    /// Returns the base address of the upstream service without a slash at its end; `None` if there is none. It was
    /// validated when the settings were read.
    pub fn upstream_base(&self) -> Option<&str> {
        let base = self.upstream.trim_end_matches('/');
        (!base.is_empty()).then_some(base)
    }

    /// Returns how long answers of the upstream service are kept.
    pub fn upstream_cache_age_max(&self) -> Duration {
        const DAY_S: u64 = 86_400;
        Duration::from_secs(self.upstream_cache_days.saturating_mul(DAY_S))
    }
}

/// Returns whether a text is the base address of a service: http or https, with a host, without user, query and
/// fragment.
pub fn is_base_address(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_address_has_a_host_and_nothing_behind_its_path() {
        for base in ["https://data.geopf.fr/geocodage", "http://10.0.0.1:7878/"] {
            assert!(is_base_address(base), "{base}");
        }
        for other in [
            "data.geopf.fr/geocodage",
            "ftp://data.geopf.fr",
            "https://user:word@geocoder.example",
            "https://geocoder.example/search?q=",
            "https://geocoder.example/#search",
            "http://",
        ] {
            assert!(!is_base_address(other), "{other}");
        }
    }
}
