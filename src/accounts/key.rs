//! API keys: their kind, grants and limits, and the parameters to create or change one.

use std::net::IpAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use toise_base::networks::Networks;
use toise_store::new_id::NewId;

use super::grants::{EndpointSet, Grants};
use super::operators::{OperatorBounds, OperatorRights};
use super::scopes::{Scope, Scopes};
use crate::limits::KeyLimits;
use crate::sql_limits::{SqlLimits, SqlLimitsChange};

/// Lifetime of a test key.
pub const TEST_KEY_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Maximum rate of a key, requests per second.
pub const RATE_PER_S_MAX: u32 = 100_000;
/// Maximum quota of a key, calls per month.
pub const MONTHLY_QUOTA_MAX: u64 = 1_000_000_000_000;
/// Maximum number of concurrent estimates of a key.
pub const ESTIMATES_MAX: u32 = 1_000;
/// Maximum length of a key's name, in characters.
pub const NAME_CHARS_MAX: usize = 100;
/// Name of the key that each demo creates at its start; the next demo revokes it.
pub const DEMO_NAME: &str = "demo";
/// The rule for the name of a key.
pub const NAME_RULE: &str = "must be 1 to 100 characters, without control characters or spaces at the ends, \
                             and not \"demo\", which demos use";

/// SHA-256 of a key's text; the store holds only this.
pub type KeyHash = [u8; 32];

toise_base::named! {
    /// The two kinds of keys, in the order of lists.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
    pub enum KeyKind {
        /// Free trial key, valid for 7 days.
        Test = "test",
        /// Key that expires only if an expiry is requested.
        Production = "production",
    }
}

impl KeyKind {
    /// Returns the default scopes of a new key; never includes `sql` or `admin`.
    pub fn default_scopes(self) -> Scopes {
        let withheld: &[Scope] = match self {
            KeyKind::Test => &[Scope::Alerts, Scope::Sql, Scope::Admin],
            KeyKind::Production => &[Scope::Sql, Scope::Admin],
        };
        Scope::ALL
            .into_iter()
            .filter(|scope| !withheld.contains(scope))
            .collect()
    }

    /// Returns the default limits of a new key.
    pub fn default_allowance(self, limits: &KeyLimits) -> Allowance {
        let (rate_per_s, monthly_quota) = match self {
            KeyKind::Test => (limits.test_rate_per_s, limits.test_monthly_quota),
            KeyKind::Production => (
                limits.production_rate_per_s,
                limits.production_monthly_quota,
            ),
        };
        Allowance {
            rate_per_s,
            monthly_quota: (monthly_quota > 0).then_some(monthly_quota),
            estimates_max: limits.concurrent_estimates_max,
            sql: SqlLimits::default(),
        }
    }
}

/// The limits of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Requests per second, from 1 to [`RATE_PER_S_MAX`].
    pub rate_per_s: u32,
    /// Counted calls per month, at most [`MONTHLY_QUOTA_MAX`]; `None` means unlimited.
    pub monthly_quota: Option<u64>,
    /// Concurrent estimates, from 1 to [`ESTIMATES_MAX`].
    pub estimates_max: u32,
    /// Limits of the key's SQL queries.
    pub sql: SqlLimits,
}

/// A key as stored, without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// Identifier of the key.
    pub key_id: Uuid,
    /// Account that owns it.
    pub account_id: Uuid,
    /// Name of that account.
    pub account: String,
    /// Name of the key, if it has one.
    pub name: Option<String>,
    /// Kind.
    pub kind: KeyKind,
    /// SHA-256 of its text.
    pub hash: KeyHash,
    /// Granted scopes.
    pub scopes: Scopes,
    /// Endpoints granted by name, in addition to its scopes.
    pub endpoints: EndpointSet,
    /// Its limits.
    pub allowance: Allowance,
    /// First characters of its text, by which a person recognises it.
    pub prefix: String,
    /// Networks from which it may be used; `None` for any.
    pub allowed_from: Option<Networks>,
    /// Time of its last recorded use; a server records uses every half minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// Time of expiry; `None` if it does not expire.
    pub expires_at: Option<DateTime<Utc>>,
    /// Time of revocation; `None` if it is not revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

impl KeyRecord {
    /// Returns whether the key is valid at a time.
    pub fn is_valid_at(&self, moment: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| moment < end)
    }

    /// Returns whether the key may be used from an address; `None` is this process itself.
    pub fn is_allowed_from(&self, address: Option<IpAddr>) -> bool {
        match (&self.allowed_from, address) {
            (Some(networks), Some(address)) => networks.contain(address),
            _ => true,
        }
    }

    /// Returns whether the key may use an endpoint of a scope.
    pub fn allows(&self, scope: Scope, endpoint: &str) -> bool {
        self.grants().allow(scope, endpoint)
    }

    /// Returns the key's rights over other keys.
    pub fn operator_rights(&self) -> OperatorRights {
        OperatorRights::of(self.grants())
    }

    /// Returns the expiry and networks of the key, which also bound the operators' keys that it creates or changes.
    pub fn operator_bounds(&self) -> OperatorBounds {
        OperatorBounds::of(self.expires_at, self.allowed_from.clone())
    }

    /// Returns the grants of the key.
    pub fn grants(&self) -> Grants {
        Grants {
            scopes: self.scopes,
            endpoints: self.endpoints,
        }
    }
}

/// The owner of a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The account with a name, created if it does not exist.
    Named(String),
    /// An existing account.
    Id(Uuid),
}

/// Parameters of a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRequest {
    /// Its identifier.
    pub id: NewId,
    /// Its owner.
    pub owner: Owner,
    /// Its name, if any (see [`is_name`]).
    pub name: Option<String>,
    /// Kind.
    pub kind: KeyKind,
    /// Its grants; `None` means the default of its kind.
    pub grants: Option<Grants>,
    /// Its limits.
    pub allowance: Allowance,
    /// When it stops working; `None` means the default of its kind. A test key never lives longer than
    /// [`TEST_KEY_TTL`].
    pub expires_at: Option<DateTime<Utc>>,
    /// Networks from which it may be used; `None` for any.
    pub allowed_from: Option<Networks>,
    /// Bounds of the operator's key that creates it; `None` for the command line.
    pub within: Option<OperatorBounds>,
}

impl KeyRequest {
    /// Creates a request with the defaults of a kind.
    pub fn new(kind: KeyKind, owner: Owner, limits: &KeyLimits) -> Self {
        Self {
            id: NewId::Random,
            owner,
            name: None,
            kind,
            grants: None,
            allowance: kind.default_allowance(limits),
            expires_at: None,
            allowed_from: None,
            within: None,
        }
    }
}

/// A new key. Its text is only available here.
#[derive(Clone)]
pub struct NewKey {
    /// The text to send in `x-api-key`.
    pub key: String,
    /// Identifier of the key.
    pub key_id: Uuid,
    /// Account that owns it.
    pub account_id: Uuid,
}

/// Changes to a key; `None` leaves a value unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyChange {
    /// New grants.
    pub grants: Option<GrantChange>,
    /// New rate, requests per second.
    pub rate_per_s: Option<u32>,
    /// New quota, counted calls per month; `Some(None)` removes the limit.
    pub monthly_quota: Option<Option<u64>>,
    /// New number of concurrent estimates.
    pub estimates_max: Option<u32>,
    /// New limits of SQL queries.
    pub sql: SqlLimitsChange,
    /// New name (see [`is_name`]).
    pub name: Option<String>,
    /// New expiry time; `Some(None)` lets a production key live until it is revoked.
    pub expires_at: Option<Option<DateTime<Utc>>>,
    /// New networks from which it may be used; `Some(None)` for any.
    pub allowed_from: Option<Option<Networks>>,
    /// Bounds of the operator's key that changes it; `None` for the command line.
    pub within: Option<OperatorBounds>,
}

/// A change of a key's grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantChange {
    /// Adds grants.
    Add(Grants),
    /// Replaces all grants.
    Set(Grants),
}

/// Returns whether a text is a valid key name (see [`NAME_RULE`]).
pub fn is_name(text: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&text.chars().count())
        && text.trim() == text
        && !text.chars().any(char::is_control)
        && text != DEMO_NAME
}
