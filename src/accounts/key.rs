//! What a key is: its kind, what it may do and how much it may use; and what is asked when one is made or changed.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::grants::{Endpoints, Grants};
use super::scopes::{Scope, Scopes};
use super::secret::KeyHash;
use crate::limits::Limits;

/// How long a test key lives.
pub const TEST_KEY_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Greatest rate a key may be given, requests a second.
pub const RATE_PER_S_MAX: u32 = 100_000;
/// Greatest quota a key may be given, calls a month.
pub const MONTHLY_QUOTA_MAX: u64 = 1_000_000_000_000;
/// Greatest number of concurrent estimates a key may be given.
pub const ESTIMATES_MAX: u32 = 1_000;
/// Greatest length of a key's name, characters.
pub const NAME_CHARS_MAX: usize = 100;
/// Name of the keys that a demo makes at its start and the next demo revokes.
pub const DEMO_NAME: &str = "demo";
/// What the name of a key must be.
pub const NAME_RULE: &str = "must be 1 to 100 characters, without control characters or blanks at the ends, \
                             and not \"demo\", which demos use";

/// The two kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Free trial: 7 days.
    Test,
    /// No expiry.
    Production,
}

impl Kind {
    /// Both, as lists print them.
    pub const ALL: [Kind; 2] = [Kind::Test, Kind::Production];

    /// Their spellings, in the same order.
    pub const NAMES: [&str; 2] = [Kind::Test.as_str(), Kind::Production.as_str()];

    /// The spelling in the store and in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Test => "test",
            Kind::Production => "production",
        }
    }

    /// Scopes of a key made without naming any: never `admin`.
    pub fn default_scopes(self) -> Scopes {
        let withheld: &[Scope] = match self {
            Kind::Test => &[Scope::Alerts, Scope::Admin],
            Kind::Production => &[Scope::Admin],
        };
        Scope::ALL
            .into_iter()
            .filter(|scope| !withheld.contains(scope))
            .collect()
    }

    /// What a key made without saying may use.
    pub fn default_allowance(self, limits: &Limits) -> Allowance {
        let (rate_per_s, monthly_quota) = match self {
            Kind::Test => (limits.test_rate_per_s, limits.test_monthly_quota),
            Kind::Production => (
                limits.production_rate_per_s,
                limits.production_monthly_quota,
            ),
        };
        Allowance {
            rate_per_s,
            monthly_quota: (monthly_quota > 0).then_some(monthly_quota),
            estimates_max: limits.concurrent_estimates_max,
        }
    }
}

/// How much a key may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Requests a second, from 1 to [`RATE_PER_S_MAX`].
    pub rate_per_s: u32,
    /// Counted calls a month, up to [`MONTHLY_QUOTA_MAX`]; `None`: no bound.
    pub monthly_quota: Option<u64>,
    /// Estimates that run at once, from 1 to [`ESTIMATES_MAX`].
    pub estimates_max: u32,
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
    /// What it was called, if anything.
    pub name: Option<String>,
    /// Kind.
    pub kind: Kind,
    /// SHA-256 of its text.
    pub hash: KeyHash,
    /// Scopes it holds.
    pub scopes: Scopes,
    /// Endpoints it holds by name, beside its scopes.
    pub endpoints: Endpoints,
    /// How much it may use.
    pub allowance: Allowance,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it stops working.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

impl KeyRecord {
    /// Whether the key works at a moment.
    pub fn works_at(&self, moment: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| moment < end)
    }

    /// Whether the key may use an endpoint of a scope.
    pub fn may(&self, scope: Scope, endpoint: &str) -> bool {
        self.grants().allow(scope, endpoint)
    }

    /// What it may do.
    pub fn grants(&self) -> Grants {
        Grants {
            scopes: self.scopes,
            endpoints: self.endpoints,
        }
    }
}

/// Who is to own a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The account of a name, made when there is none.
    Named(String),
    /// An account there is.
    Id(Uuid),
}

/// A key to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRequest {
    /// Who is to own it.
    pub owner: Owner,
    /// Its name, if any (see [`is_name`]).
    pub name: Option<String>,
    /// Kind.
    pub kind: Kind,
    /// What it may do; `None`: what its kind may.
    pub grants: Option<Grants>,
    /// How much it may use.
    pub allowance: Allowance,
}

impl KeyRequest {
    /// A key with the defaults of its kind.
    pub fn new(kind: Kind, owner: Owner, limits: &Limits) -> Self {
        Self {
            owner,
            name: None,
            kind,
            grants: None,
            allowance: kind.default_allowance(limits),
        }
    }
}

/// A key just made; its text is known now and never again.
#[derive(Clone)]
pub struct NewKey {
    /// The text to send in `x-api-key`.
    pub key: String,
    /// Identifier of the key.
    pub key_id: Uuid,
    /// Account that owns it.
    pub account_id: Uuid,
}

/// What is to change of a key; `None` leaves a thing as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyChange {
    /// What it may do.
    pub grants: Option<GrantChange>,
    /// Requests a second.
    pub rate_per_s: Option<u32>,
    /// Counted calls a month; `Some(None)` lifts the bound.
    pub monthly_quota: Option<Option<u64>>,
    /// Estimates that run at once.
    pub estimates_max: Option<u32>,
    /// Its name (see [`is_name`]).
    pub name: Option<String>,
}

/// A change of what a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantChange {
    /// These beside those it has.
    Add(Grants),
    /// These and no others.
    Set(Grants),
}

/// Whether a text may name a key (see [`NAME_RULE`]).
pub fn is_name(text: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&text.chars().count())
        && text.trim() == text
        && !text.chars().any(char::is_control)
        && text != DEMO_NAME
}
