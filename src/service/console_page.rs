//! Settings for serving the console's page: its content security policy, its base map, and whether its cookie is
//! `Secure`.

use url::Url;
use warp::http::header::HeaderValue;

use crate::settings::{ConsoleSettings, ServerSettings};

/// The content security policy. The page may load its own files, the tiles, and images that the map creates. Inline
/// scripts and styles are forbidden; MapLibre and uPlot position elements through their `style` properties, which
/// scripts may set.
const POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Directives of the policy to which the origin of a base map is added.
const MAP_SOURCES: [&str; 2] = ["img-src 'self'", "connect-src 'self'"];
/// Placeholders that an address of raster tiles has, and the address of a style does not have.
const TILE_PARTS: [&str; 3] = ["{z}", "{x}", "{y}"];

/// A base map of another service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseMap {
    /// Address of raster tiles, with `{z}`, `{x}` and `{y}`, or of a style.
    pub address: String,
    /// Attribution of the map.
    pub attribution: String,
    /// Scheme, host and port of the address.
    origin: String,
}

impl BaseMap {
    /// Parses an address; `None` if it cannot be the address of a map.
    pub fn parse(address: &str, attribution: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        // Refuses hosts with characters that a policy reads as a pattern or as the end of a directive, such as * and ;.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:[]".contains(letter);
        let is_host = url
            .host_str()
            .is_some_and(|host| !host.is_empty() && host.chars().all(is_plain));
        let is_web = matches!(url.scheme(), "http" | "https") && is_host;
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        let parts = TILE_PARTS
            .iter()
            .filter(|part| address.contains(**part))
            .count();
        let is_whole = parts == 0 || parts == TILE_PARTS.len();
        (is_web && is_anonymous && is_whole).then(|| Self {
            address: address.to_owned(),
            attribution: attribution.to_owned(),
            origin: url.origin().ascii_serialization(),
        })
    }
}

/// The settings with which the page is served.
#[derive(Clone, Debug)]
pub struct ConsolePage {
    /// Its base map, if another service provides one.
    pub base_map: Option<BaseMap>,
    /// Its content security policy.
    pub policy: HeaderValue,
    /// Whether browsers send the cookie over TLS only.
    pub has_secure_cookie: bool,
}

impl ConsolePage {
    /// Returns the page settings of a configuration.
    pub fn new(console: &ConsoleSettings, server: &ServerSettings) -> Self {
        let base_map = BaseMap::parse(&console.base_map, &console.attribution);
        let mut policy = POLICY.to_owned();
        if let Some(BaseMap { origin, .. }) = &base_map {
            for source in MAP_SOURCES {
                policy = policy.replace(source, &format!("{source} {origin}"));
            }
        }
        let policy = HeaderValue::from_str(&policy);
        Self {
            base_map,
            // The serialised origin of an address consists of visible ASCII characters.
            policy: policy.unwrap_or(HeaderValue::from_static(POLICY)),
            has_secure_cookie: console.behind_tls || server.tls_files().is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_opens_for_the_origin_of_the_base_map_alone() {
        let server = ServerSettings::default();
        let plain = ConsolePage::new(&ConsoleSettings::default(), &server);
        assert_eq!(plain.policy, POLICY);
        assert!(plain.base_map.is_none() && !plain.has_secure_cookie);
        let console = ConsoleSettings {
            base_map: "https://tiles.example:8443/a/{z}/{x}/{y}.png?style=plain".into(),
            attribution: "© Example".into(),
            behind_tls: true,
        };
        let page = ConsolePage::new(&console, &server);
        let policy = page.policy.to_str().unwrap();
        assert_eq!(
            policy.matches("https://tiles.example:8443").count(),
            2,
            "{policy}"
        );
        assert!(
            policy.contains("img-src 'self' https://tiles.example:8443 data: blob:;"),
            "{policy}"
        );
        assert!(
            policy.contains("connect-src 'self' https://tiles.example:8443;"),
            "{policy}"
        );
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(page.has_secure_cookie);
    }

    #[test]
    fn the_cookie_is_secure_where_the_server_has_tls_of_its_own() {
        let server = ServerSettings {
            tls_certificate: "chain.pem".into(),
            tls_key: "key.pem".into(),
            ..ServerSettings::default()
        };
        let page = ConsolePage::new(&ConsoleSettings::default(), &server);
        assert!(page.has_secure_cookie);
    }

    #[test]
    fn addresses_of_no_map_are_refused() {
        for address in [
            "https://tiles.example/style.json",
            "http://127.0.0.1:1/{z}/{x}/{y}.png",
        ] {
            assert!(BaseMap::parse(address, "").is_some(), "{address}");
        }
        for address in [
            "",
            "tiles.example/{z}/{x}/{y}.png",
            "ftp://tiles.example/{z}/{x}/{y}",
            "https://me:secret@tiles.example/{z}/{x}/{y}",
            "https://tiles.example/{z}/{x}.png",
            "https://*.example;script-src/{z}/{x}/{y}",
        ] {
            assert!(BaseMap::parse(address, "").is_none(), "{address}");
        }
    }
}
