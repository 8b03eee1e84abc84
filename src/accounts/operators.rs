//! Rights of an operator's key over other keys: a key cannot grant or revoke what it does not hold itself.
//!
//! The scope `admin` holds every grant. A key with single endpoints of `admin`, such as `admin.keys.create`, holds only
//! its own grants, so a leaked key gives no further access. A key with operators' endpoints that such a key creates or
//! changes (itself included) must also stay within its bounds: it must not expire later or be usable from other
//! networks. Customers' keys have no such bounds.

use chrono::{DateTime, Utc};

use super::grants::{Grant, Grants};
use super::scopes::Scope;
use toise_base::clock::iso;
use toise_base::networks::Networks;

/// The grants that a caller may hand out, change and revoke.
#[derive(Clone, Copy, Debug)]
pub struct OperatorRights(Grants);

impl OperatorRights {
    /// Returns the rights of a caller with these grants.
    pub(super) fn of(grants: Grants) -> Self {
        Self(grants)
    }

    /// Checks that the caller may grant or revoke some grants; `scope_of` returns the scope of an endpoint.
    ///
    /// # Errors
    /// The first grant that the caller does not hold.
    pub fn require(
        self,
        grants: Grants,
        scope_of: impl Fn(&str) -> Option<Scope>,
    ) -> Result<(), Grant> {
        let holds = |grant: &Grant| match *grant {
            _ if self.0.scopes.contains(Scope::Admin) => true,
            Grant::Scope(scope) => self.0.scopes.contains(scope),
            Grant::Endpoint(name) => scope_of(name).is_some_and(|scope| self.0.allow(scope, name)),
        };
        grants
            .iter()
            .find(|grant| !holds(grant))
            .map_or(Ok(()), Err)
    }
}

/// The expiry and networks of an operator's key, which also bound the operators' keys that it creates or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorBounds {
    expires_at: Option<DateTime<Utc>>,
    allowed_from: Option<Networks>,
}

/// The bound of an operator's key that another key would exceed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeyondBounds {
    /// The operator's key expires, and the other key would expire later or never.
    #[error(
        "this key expires at {}, and so must every operator's key that it creates or changes: give expires_at",
        iso(*.0)
    )]
    Expiry(DateTime<Utc>),
    /// The operator's key is restricted to some networks, and the other key would be usable from more.
    #[error(
        "this key may be used only from {0}, and the same applies to every operator's key that it creates or changes: \
         give allowed_from"
    )]
    Networks(Networks),
}

/// An expiry or a list of networks of a changed key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Term<T> {
    /// The change sets it.
    Given(T),
    /// The key keeps its previous value.
    Kept(T),
}

impl<T> Term<T> {
    /// Returns the value that the changed key has.
    pub(super) fn value(self) -> T {
        match self {
            Term::Given(value) | Term::Kept(value) => value,
        }
    }
}

impl OperatorBounds {
    /// Returns the bounds of a caller with this expiry, if any, and these networks; `None` allows any address.
    pub(super) fn of(expires_at: Option<DateTime<Utc>>, allowed_from: Option<Networks>) -> Self {
        Self {
            expires_at,
            allowed_from,
        }
    }

    /// Checks that a caller with these bounds may create a key. Only keys with operators' endpoints are restricted.
    pub(super) fn require_new(
        &self,
        grants: Grants,
        expires_at: Option<DateTime<Utc>>,
        allowed_from: Option<&Networks>,
    ) -> Result<(), BeyondBounds> {
        if !grants.include_admin() {
            return Ok(());
        }
        self.require_expiry(expires_at)?;
        self.require_networks(allowed_from)
    }

    /// Checks that a caller with these bounds may change the grants of a key from `before` to `after`. Values that the
    /// key keeps are checked only if it gains endpoints of operators.
    pub(super) fn require_changed(
        &self,
        [before, after]: [Grants; 2],
        expires_at: Term<Option<DateTime<Utc>>>,
        allowed_from: Term<Option<&Networks>>,
    ) -> Result<(), BeyondBounds> {
        let held: Vec<Grant> = before.iter().collect();
        let mut gained = after.iter().filter(|grant| !held.contains(grant));
        if gained.any(Grant::is_admin) {
            return self.require_new(after, expires_at.value(), allowed_from.value());
        }
        if !after.include_admin() {
            return Ok(());
        }
        if let Term::Given(expires_at) = expires_at {
            self.require_expiry(expires_at)?;
        }
        match allowed_from {
            Term::Given(networks) => self.require_networks(networks),
            Term::Kept(_) => Ok(()),
        }
    }

    fn require_expiry(&self, given: Option<DateTime<Utc>>) -> Result<(), BeyondBounds> {
        match self.expires_at {
            Some(own) if given.is_none_or(|given| given > own) => Err(BeyondBounds::Expiry(own)),
            _ => Ok(()),
        }
    }

    fn require_networks(&self, given: Option<&Networks>) -> Result<(), BeyondBounds> {
        match &self.allowed_from {
            Some(own)
                if !given.is_some_and(|given| !given.is_empty() && given.is_subset_of(own)) =>
            {
                Err(BeyondBounds::Networks(own.clone()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope_of(endpoint: &str) -> Option<Scope> {
        match endpoint.split_once('.')?.0 {
            "properties" => Some(Scope::Search),
            "sql" => Some(Scope::Sql),
            "admin" => Some(Scope::Admin),
            _ => None,
        }
    }

    #[test]
    fn a_key_hands_out_what_it_holds_and_the_scope_admin_everything() {
        let may = |held: &str, grants: &str| {
            let rights = OperatorRights(Grants::parse(held).unwrap());
            let required = rights.require(Grants::parse(grants).unwrap(), scope_of);
            required.is_ok()
        };
        assert!(may("admin", "admin,search,sql.query"));
        assert!(may("admin.keys.create,search", "search,properties.search"));
        assert!(may("admin.keys.create", "admin.keys.create"));
        for grants in ["search", "properties.search", "admin", "admin.usage"] {
            assert!(!may("admin.keys.create", grants), "{grants}");
        }
        assert!(!may("admin.keys.create,properties.search", "search"));
    }

    #[test]
    fn what_is_given_to_operators_lies_within_the_bounds_of_the_giver() {
        let at = |second: i64| DateTime::from_timestamp(second, 0);
        let networks = |text: &str| Networks::parse(text).ok();
        let may = |own: (Option<i64>, Option<&str>), given: (Option<i64>, Option<&str>)| {
            let bounds = OperatorBounds {
                expires_at: own.0.and_then(at),
                allowed_from: own.1.and_then(networks),
            };
            let allowed_from = given.1.and_then(networks);
            let admin = Grants::parse("search,admin.audit").unwrap();
            let required = bounds.require_new(admin, given.0.and_then(at), allowed_from.as_ref());
            let search = Grants::parse("search").unwrap();
            bounds.require_new(search, None, None).unwrap();
            required.is_ok()
        };
        assert!(may((None, None), (None, None)));
        assert!(may((None, None), (Some(5), Some("10.0.0.0/8"))));
        for (given, is_within) in [
            (None, false),
            (Some(6), false),
            (Some(5), true),
            (Some(4), true),
        ] {
            assert_eq!(may((Some(5), None), (given, None)), is_within, "{given:?}");
        }
        let own = Some("10.1.0.0/16,192.0.2.7");
        for (given, is_within) in [
            (None, false),
            (Some(""), false),
            (Some("0.0.0.0/0"), false),
            (Some("10.0.0.0/8"), false),
            (Some("10.1.0.0/16,10.2.0.1"), false),
            (Some("2001:db8::1"), false),
            (Some("10.1.0.0/16"), true),
            (Some("10.1.7.0/24,192.0.2.7"), true),
        ] {
            assert_eq!(may((None, own), (None, given)), is_within, "{given:?}");
        }
    }
}
