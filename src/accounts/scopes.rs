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
