//! Grants: the scopes and single endpoints that a key may use.
//!
//! A scope grants every endpoint of its part of the service; an endpoint granted by name is allowed regardless of
//! scopes. Names added by a later version of toise are ignored.

use std::fmt;

use super::scopes::{Scope, Scopes};

/// All endpoints that can be granted.
#[rustfmt::skip]
pub const ENDPOINTS: [&str; 94] = [
    "properties.search", "properties.search.lite", "properties.count", "properties.similars", "properties.get",
    "properties.by_advert", "properties.many", "properties.url", "properties.check", "properties.report",
    "adverts.get", "adverts.url", "adverts.check", "adverts.report", "areas.list", "areas.get", "areas.put",
    "areas.delete", "areas.isochrone", "layers.list", "alerts.create", "alerts.create_many", "alerts.list",
    "alerts.get", "alerts.update", "alerts.delete", "alerts.activate", "alerts.history", "alerts.deliveries",
    "alerts.test", "alerts.replay", "alerts.preview", "estimate.property.lite", "estimate.property.lite.many",
    "estimate.rent", "reports.home", "reports.letterhead.get", "reports.letterhead.put",
    "reports.letterhead.delete", "portfolios.list", "portfolios.get", "portfolios.put", "portfolios.delete",
    "opendata.dpe.search", "opendata.dpe.match", "opendata.dpe.match_many", "opendata.dvf.search",
    "opendata.dvf.match", "opendata.dvf.match_many", "parcels.get", "buildings.get", "geocoding.search",
    "geocoding.reverse", "geocoding.batch", "geocoding.csv", "geocoding.reverse_csv", "geocoding.projects.create",
    "geocoding.projects.pipeline", "geocoding.projects.input", "geocoding.projects.start", "geocoding.projects.get",
    "geocoding.projects.output", "geocoding.projects.delete", "analytics.property.search", "analytics.market",
    "sql.query", "tiles.set", "tiles.get", "admin.adverts", "admin.accounts.list", "admin.accounts.create",
    "admin.accounts.get", "admin.secrets.rotate", "admin.webhook_keys.rotate", "admin.keys.list",
    "admin.keys.create", "admin.keys.update", "admin.keys.revoke", "admin.usage", "admin.audit",
    "admin.alerts.list", "admin.alerts.get", "admin.alerts.dead_letters", "admin.alerts.retry",
    "admin.properties.candidates", "admin.properties.merge", "admin.properties.keep_apart",
    "admin.properties.split", "admin.erasures", "admin.reports", "admin.model", "admin.jobs", "admin.metrics",
    "admin.findings",
];

/// Prefix of the names of the operators' endpoints.
const ADMIN_PREFIX: &str = "admin.";

/// Returns whether a text names an endpoint. Also works at compile time.
pub const fn is_endpoint_name(text: &str) -> bool {
    let mut index = 0;
    while index < ENDPOINTS.len() {
        if is_same(ENDPOINTS[index].as_bytes(), text.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

/// Compares two texts, because `==` does not work at compile time.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// One item that a key may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Every endpoint of a scope.
    Scope(Scope),
    /// One endpoint, a member of [`ENDPOINTS`].
    Endpoint(&'static str),
}

impl Grant {
    /// Returns the name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Grant::Scope(scope) => scope.as_str(),
            Grant::Endpoint(name) => name,
        }
    }

    /// Returns whether this grants an operators' endpoint.
    pub fn is_admin(self) -> bool {
        match self {
            Grant::Scope(scope) => scope == Scope::Admin,
            Grant::Endpoint(name) => name.starts_with(ADMIN_PREFIX),
        }
    }
}

/// A text that is neither a scope nor an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown grant {0:?}; {rule}", rule = grant_rule())]
pub struct UnknownGrant(pub String);

/// Returns the rule for a grant, used at the end of the message about an invalid one.
pub fn grant_rule() -> String {
    format!(
        "must be one of the scopes: {}; or of the endpoints: {}",
        Scope::NAMES.join(", "),
        ENDPOINTS.join(", ")
    )
}

impl std::str::FromStr for Grant {
    type Err = UnknownGrant;

    fn from_str(text: &str) -> Result<Self, UnknownGrant> {
        if let Some(scope) = Scope::parse(text) {
            return Ok(Grant::Scope(scope));
        }
        ENDPOINTS
            .into_iter()
            .find(|name| *name == text)
            .map(Grant::Endpoint)
            .ok_or_else(|| UnknownGrant(text.to_owned()))
    }
}

/// A set of endpoints: bit `n` stands for the `n`-th of [`ENDPOINTS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointSet(u128);

// The set needs a bit for every endpoint.
const _: () = assert!(ENDPOINTS.len() <= u128::BITS as usize);

impl EndpointSet {
    /// Returns whether the set contains an endpoint.
    pub fn contains(self, name: &str) -> bool {
        self.0 != 0 && self.iter().any(|held| held == name)
    }

    /// Iterates over the endpoints in the set, in the order of [`ENDPOINTS`].
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        ENDPOINTS
            .into_iter()
            .enumerate()
            .filter(move |(index, _)| self.0 & (1 << index) != 0)
            .map(|(_, name)| name)
    }
}

/// A set of grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Granted scopes.
    pub scopes: Scopes,
    /// Endpoints granted by name.
    pub endpoints: EndpointSet,
}

impl Grants {
    /// Parses a comma-separated list.
    pub fn parse(text: &str) -> Result<Self, UnknownGrant> {
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::parse)
            .collect()
    }

    /// Parses a comma-separated list and ignores names that this version does not know.
    pub(super) fn parse_known(text: &str) -> Self {
        text.split(',')
            .filter_map(|name| name.parse::<Grant>().ok())
            .collect()
    }

    /// Returns whether an endpoint of a scope is granted.
    pub fn allow(self, scope: Scope, endpoint: &str) -> bool {
        self.scopes.contains(scope) || self.endpoints.contains(endpoint)
    }

    /// Iterates over the grants in the set, scopes first.
    pub fn iter(self) -> impl Iterator<Item = Grant> {
        let scopes = self.scopes.iter().map(Grant::Scope);
        scopes.chain(self.endpoints.iter().map(Grant::Endpoint))
    }

    /// Returns the union of two sets.
    pub fn union(self, other: Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// Returns whether any grant includes an operators' endpoint.
    pub fn include_admin(self) -> bool {
        self.iter().any(Grant::is_admin)
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        let (mut scopes, mut endpoints) = (Vec::new(), 0);
        for grant in grants {
            match grant {
                Grant::Scope(scope) => scopes.push(scope),
                Grant::Endpoint(name) => {
                    if let Some(index) = ENDPOINTS.iter().position(|known| *known == name) {
                        endpoints |= 1 << index;
                    }
                }
            }
        }
        Self {
            scopes: scopes.into_iter().collect(),
            endpoints: EndpointSet(endpoints),
        }
    }
}

impl From<Scopes> for Grants {
    fn from(scopes: Scopes) -> Self {
        Self {
            scopes,
            endpoints: EndpointSet::default(),
        }
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Grant::as_str).collect();
        formatter.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_scopes_and_endpoints_prints_as_it_is_read() {
        let grants = Grants::parse("opendata.dpe.search, ai,properties.search,ai").unwrap();
        let text = "ai,properties.search,opendata.dpe.search";
        assert_eq!(grants.to_string(), text);
        assert_eq!(Grants::parse(text).unwrap(), grants);
        let error = Grants::parse("ai,properties").unwrap_err();
        assert_eq!(error.0, "properties");
        assert_eq!(
            Grants::parse_known("ai,properties.teleport").to_string(),
            "ai"
        );
    }

    #[test]
    fn an_endpoint_is_granted_by_scope_or_name_and_grants_no_other() {
        let grants = Grants::parse("ai,properties.search").unwrap();
        assert!(grants.allow(Scope::Ai, "estimate.property.lite"));
        assert!(grants.allow(Scope::Search, "properties.search"));
        assert!(!grants.allow(Scope::Search, "properties.search.lite"));
        assert!(!grants.allow(Scope::Search, "properties"));
        assert!(!Grants::default().allow(Scope::Search, "properties.search"));
    }

    #[test]
    fn admin_grants_are_recognised_by_scope_and_name() {
        for text in ["admin", "search,admin.usage"] {
            assert!(Grants::parse(text).unwrap().include_admin(), "{text}");
        }
        assert!(!Grants::parse("search,alerts.list").unwrap().include_admin());
    }

    #[test]
    fn every_endpoint_has_one_name_of_words_joined_by_dots() {
        for (index, name) in ENDPOINTS.into_iter().enumerate() {
            let words: Vec<&str> = name.split('.').collect();
            let formed = words.iter().all(|word| {
                !word.is_empty()
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            });
            assert!(formed && words.len() >= 2, "{name}");
            assert!(is_endpoint_name(name) && !ENDPOINTS[..index].contains(&name));
            assert_eq!(name.parse(), Ok(Grant::Endpoint(name)));
        }
    }
}
