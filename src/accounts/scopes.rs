//! Scopes: the parts of the service that a key may use.

use std::fmt;

toise_base::named! {
    /// A part of the service, in the order in which lists show them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Scope {
        /// Reading properties and adverts, searches, open data.
        Search = "search",
        /// Collecting, checking and reporting on demand.
        Refetch = "refetch",
        /// Statistics.
        Analytics = "analytics",
        /// Estimates.
        Ai = "ai",
        /// Geocoding.
        Geocoding = "geocoding",
        /// Alerts.
        Alerts = "alerts",
        /// SQL over the tables; no key has it by default.
        Sql = "sql",
        /// Administration of accounts, keys and data.
        Admin = "admin",
    }
}

/// The error for a text that is not a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope {0:?}; must be one of: {scopes}", scopes = Scope::NAMES.join(", "))]
pub struct UnknownScope(pub String);

impl std::str::FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        Self::parse(text).ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// Returns whether the set contains a scope.
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }

    /// Iterates over the scopes in the set, in the order of [`Scope::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL
            .into_iter()
            .filter(move |scope| self.contains(*scope))
    }

    /// Parses a comma-separated list.
    pub fn parse(text: &str) -> Result<Self, UnknownScope> {
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::parse)
            .collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(
            scopes
                .into_iter()
                .fold(0, |set, scope| set | 1 << scope as u8),
        )
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Scope::as_str).collect();
        formatter.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_prints_as_it_is_read() {
        let scopes = Scopes::parse("ai, search").unwrap();
        assert_eq!(scopes.to_string(), "search,ai");
        assert!(scopes.contains(Scope::Ai) && !scopes.contains(Scope::Admin));
        assert!(Scopes::parse("search,everything").is_err());
    }
}
