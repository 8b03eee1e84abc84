//! API keys in the store: creating, listing, changing, rotating and revoking them. The command line and the admin
//! endpoints call these functions.
//!
//! Every call blocks; calls that change something return once the change is durable. The store counts each change of a
//! key, so a running server (see [`super::verify`]) applies it within a second.

use chrono::{DateTime, Utc};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use uuid::Uuid;

use super::grants::Grants;
use super::key::KeyHash;
pub use super::key::{
    Allowance, DEMO_NAME, GrantChange, KeyChange, KeyKind, KeyRecord, KeyRequest, NewKey, Owner,
    TEST_KEY_TTL,
};
use super::operators::{BeyondBounds, Term};
use super::{account, secret};
use crate::limits::KeyLimits;
use crate::sql_limits::SqlLimits;
use toise_base::clock::Clock;
use toise_base::networks::Networks;
use toise_store::columns::{moment, uuid};
use toise_store::new_id::Settled;
use toise_store::{self as store, Store};

/// The reason why a call about keys failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The account of the key cannot be found or created.
    #[error(transparent)]
    Account(#[from] account::Error),
    /// There is no key with that text or id.
    #[error("no such key")]
    NoKey,
    /// The key is revoked and can no longer be changed.
    #[error("the key is revoked; create a new one")]
    Revoked,
    /// The key is revoked or expired, so rotating it would have no effect.
    #[error("the key is revoked or expired; create a new one")]
    Ended,
    /// The requested expiry time is not in the future.
    #[error("the expiry time must be in the future")]
    PastExpiry,
    /// A test key cannot have admin grants.
    #[error("a test key cannot have the scope admin or its endpoints")]
    AdminOnTestKey,
    /// A key with operators' endpoints would exceed the caller's own bounds.
    #[error(transparent)]
    BeyondBounds(#[from] BeyondBounds),
}

/// Result of a call about keys.
pub type Result<T> = std::result::Result<T, Error>;

/// Creates a key with the default limits of its kind, for the account named `account`, which is created if it does not
/// exist.
pub fn create(
    store: &Store,
    clock: &Clock,
    kind: KeyKind,
    grants: impl Into<Grants>,
    account: &str,
) -> Result<NewKey> {
    let request = KeyRequest {
        grants: Some(grants.into()),
        ..KeyRequest::new(
            kind,
            Owner::Named(account.to_owned()),
            &KeyLimits::default(),
        )
    };
    issue(store, clock, request)
}

/// Creates a key and returns its text, which is not available later. If the same call already created the key, replaces
/// the first text, because nobody received it.
pub fn issue(store: &Store, clock: &Clock, request: KeyRequest) -> Result<NewKey> {
    let KeyRequest {
        owner, name, kind, ..
    } = request;
    let grants = request
        .grants
        .unwrap_or_else(|| kind.default_scopes().into());
    refuse_admin_on_test_key(kind, grants)?;
    if let Owner::Named(account) = &owner
        && !account::is_name(account)
    {
        return Err(account::Error::BadName.into());
    }
    let (key, hash) = secret::generate_with_hash(kind);
    let now = clock.now();
    let expires_at = expiry(kind, now, request.expires_at)?;
    if let Some(bounds) = request.within {
        bounds.require_new(grants, expires_at, request.allowed_from.as_ref())?;
    }
    let expires_at_ms = expires_at.map(|end| end.timestamp_millis());
    let prefix = secret::prefix_of(&key);
    let allowed_from = request.allowed_from.map(|networks| networks.to_string());
    let (id, allowance) = (request.id, request.allowance);
    let made = store.write(move |transaction| {
        let made_at = "SELECT created_at_ms FROM keys WHERE key_id = ?1";
        let key_id = match id.settle(transaction, made_at, |id| id.to_string())? {
            Settled::New(id) => id,
            Settled::Made(id) => return replace_text(transaction, id, &hash, &prefix).map(Some),
        };
        let account = match owner {
            Owner::Named(name) => Some(account::named(transaction, &name, now)?),
            Owner::Id(id) => account::find(transaction, id)?,
        };
        let Some(account) = account else {
            return Ok(None);
        };
        transaction.execute(
            "INSERT INTO keys (key_id, account_id, kind, sha256, grants, created_at_ms, expires_at_ms, name,
             rate_per_s, monthly_quota, max_concurrent_estimates, sql_limits, prefix, allowed_from)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            (
                key_id.to_string(),
                account.account_id.to_string(),
                kind.as_str(),
                hash.as_slice(),
                grants.to_string(),
                now.timestamp_millis(),
                expires_at_ms,
                name,
                allowance.rate_per_s,
                stored_quota(allowance.monthly_quota),
                allowance.estimates_max,
                allowance.sql.stored(),
                prefix,
                allowed_from,
            ),
        )?;
        Ok(Some((key_id, account.account_id)))
    })?;
    let (key_id, account_id) = made.ok_or(account::Error::NoAccount)?;
    Ok(NewKey {
        key,
        key_id,
        account_id,
    })
}

/// Replaces the text of a key; returns its identifier and its account.
fn replace_text(
    transaction: &Transaction<'_>,
    key_id: Uuid,
    hash: &[u8],
    prefix: &str,
) -> rusqlite::Result<(Uuid, Uuid)> {
    let account_id = transaction.query_row(
        "UPDATE keys SET sha256 = ?2, prefix = ?3 WHERE key_id = ?1 RETURNING account_id",
        (key_id.to_string(), hash, prefix),
        |row| uuid(row, 0),
    )?;
    Ok((key_id, account_id))
}

/// Returns the time at which a key of a kind expires: as requested, but for a test key at most a week after its
/// creation.
fn expiry(
    kind: KeyKind,
    created_at: DateTime<Utc>,
    asked: Option<DateTime<Utc>>,
) -> Result<Option<DateTime<Utc>>> {
    if asked.is_some_and(|end| end <= created_at) {
        return Err(Error::PastExpiry);
    }
    let latest = (kind == KeyKind::Test).then(|| created_at + TEST_KEY_TTL);
    Ok(match (asked, latest) {
        (Some(asked), Some(latest)) => Some(asked.min(latest)),
        (asked, latest) => asked.or(latest),
    })
}

fn refuse_admin_on_test_key(kind: KeyKind, grants: Grants) -> Result<()> {
    if kind == KeyKind::Test && grants.include_admin() {
        return Err(Error::AdminOnTestKey);
    }
    Ok(())
}

const SELECT: &str = "SELECT key_id, account_id, accounts.name, kind, sha256, grants, keys.created_at_ms, \
                      expires_at_ms, revoked_at_ms, keys.name, rate_per_s, monthly_quota, max_concurrent_estimates, \
                      sql_limits, prefix, allowed_from, last_used_at_ms \
                      FROM keys JOIN accounts USING (account_id) LEFT JOIN key_uses USING (key_id)";

/// Returns all keys, oldest first.
pub fn list(store: &Store) -> store::Result<Vec<KeyRecord>> {
    store.read(|connection| {
        connection
            .prepare(&format!("{SELECT} ORDER BY keys.created_at_ms, key_id"))?
            .query_map([], record)?
            .collect()
    })
}

/// Returns the keys of an account, oldest first; empty for an unknown account.
pub fn list_for_account(store: &Store, account_id: Uuid) -> store::Result<Vec<KeyRecord>> {
    store.read(|connection| {
        connection
            .prepare(&format!(
                "{SELECT} WHERE account_id = ?1 ORDER BY keys.created_at_ms, key_id"
            ))?
            .query_map([account_id.to_string()], record)?
            .collect()
    })
}

/// Returns the key with a hash, even if it is revoked or expired.
pub fn find(connection: &Connection, hash: &KeyHash) -> rusqlite::Result<Option<KeyRecord>> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE sha256 = ?1"))?
        .query_row([hash.as_slice()], record)
        .optional()
}

fn find_by_id(connection: &Connection, key_id: Uuid) -> rusqlite::Result<Option<KeyRecord>> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE key_id = ?1"))?
        .query_row([key_id.to_string()], record)
        .optional()
}

/// A key as an operator specifies it: by text or id.
#[derive(Clone, Copy)]
enum KeyReference {
    Hash(KeyHash),
    Id(Uuid),
}

impl KeyReference {
    fn parse(key_or_id: &str) -> Option<Self> {
        let by_text = secret::hash_of(key_or_id).map(KeyReference::Hash);
        by_text.or_else(|| Uuid::try_parse(key_or_id).ok().map(KeyReference::Id))
    }

    fn find(self, connection: &Connection) -> rusqlite::Result<Option<KeyRecord>> {
        match self {
            KeyReference::Hash(hash) => find(connection, &hash),
            KeyReference::Id(key_id) => find_by_id(connection, key_id),
        }
    }
}

/// Returns the key with the given text or id, even if it is revoked or expired.
pub fn get(store: &Store, key_or_id: &str) -> Result<KeyRecord> {
    let named = KeyReference::parse(key_or_id).ok_or(Error::NoKey)?;
    let found = store.read(move |connection| named.find(connection))?;
    found.ok_or(Error::NoKey)
}

/// Checks that the new expiry time in a change, if there is one, is after `now`.
///
/// # Errors
/// The time is not after `now`. To make a key stop working now, revoke it, which records the time.
pub fn require_future_expiry(change: &KeyChange, now: DateTime<Utc>) -> Result<()> {
    match change.expires_at.flatten() {
        Some(end) if end <= now => Err(Error::PastExpiry),
        _ => Ok(()),
    }
}

/// Changes the key with the given text or id, and returns the changed record. Callers check its expiry time first:
/// [`require_future_expiry`].
pub fn change(store: &Store, key_or_id: &str, change: KeyChange) -> Result<KeyRecord> {
    let named = KeyReference::parse(key_or_id).ok_or(Error::NoKey)?;
    store.write(move |transaction| {
        let Some(record) = named.find(transaction)? else {
            return Ok(Err(Error::NoKey));
        };
        if record.revoked_at.is_some() {
            return Ok(Err(Error::Revoked));
        }
        let grants = match change.grants {
            None => record.grants(),
            Some(GrantChange::Add(more)) => record.grants().union(more),
            Some(GrantChange::Set(grants)) => grants,
        };
        if let Err(refusal) = refuse_admin_on_test_key(record.kind, grants) {
            return Ok(Err(refusal));
        }
        let now = record.allowance;
        let ends = match change.expires_at {
            None => Ok(record.expires_at),
            Some(asked) => expiry(record.kind, record.created_at, asked),
        };
        let ends = match ends {
            Ok(ends) => ends,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let expires_at = match change.expires_at {
            Some(_) => Term::Given(ends),
            None => Term::Kept(ends),
        };
        let networks = match &change.allowed_from {
            Some(given) => Term::Given(given.as_ref()),
            None => Term::Kept(record.allowed_from.as_ref()),
        };
        if let Some(bounds) = &change.within {
            let both = [record.grants(), grants];
            if let Err(beyond) = bounds.require_changed(both, expires_at, networks) {
                return Ok(Err(beyond.into()));
            }
        }
        let allowed_from = networks.value().map(ToString::to_string);
        transaction.execute(
            "UPDATE keys SET grants = ?2, rate_per_s = ?3, monthly_quota = ?4, max_concurrent_estimates = ?5, name = ?6,
               sql_limits = ?7, expires_at_ms = ?8, allowed_from = ?9
             WHERE key_id = ?1",
            (
                record.key_id.to_string(),
                grants.to_string(),
                change.rate_per_s.unwrap_or(now.rate_per_s),
                stored_quota(change.monthly_quota.unwrap_or(now.monthly_quota)),
                change.estimates_max.unwrap_or(now.estimates_max),
                change.name.or(record.name),
                now.sql.changed(change.sql).stored(),
                ends.map(|end| end.timestamp_millis()),
                allowed_from,
            ),
        )?;
        Ok(find_by_id(transaction, record.key_id)?.ok_or(Error::NoKey))
    })?
}

/// Rotates a key: it keeps grants, limits and expiry and gets a new text. The old text stops working immediately. To
/// switch without a gap, create a second key instead and revoke the first one when it is no longer used.
pub fn rotate(store: &Store, clock: &Clock, key_or_id: &str) -> Result<NewKey> {
    let named = KeyReference::parse(key_or_id).ok_or(Error::NoKey)?;
    let now = clock.now();
    store.write(move |transaction| {
        let Some(record) = named.find(transaction)? else {
            return Ok(Err(Error::NoKey));
        };
        if !record.is_valid_at(now) {
            return Ok(Err(Error::Ended));
        }
        let (key, hash) = secret::generate_with_hash(record.kind);
        transaction.execute(
            "UPDATE keys SET sha256 = ?2, prefix = ?3 WHERE key_id = ?1",
            (
                record.key_id.to_string(),
                hash.as_slice(),
                secret::prefix_of(&key),
            ),
        )?;
        Ok(Ok(NewKey {
            key,
            key_id: record.key_id,
            account_id: record.account_id,
        }))
    })?
}

/// Revokes the key with the given text or id; `None` if there is no such key.
///
/// A key that was already revoked keeps its original revocation time.
pub fn revoke(store: &Store, clock: &Clock, key_or_id: &str) -> store::Result<Option<Uuid>> {
    let Some(named) = KeyReference::parse(key_or_id) else {
        return Ok(None);
    };
    let now_ms = clock.now().timestamp_millis();
    store.write(move |transaction| {
        let Some(record) = named.find(transaction)? else {
            return Ok(None);
        };
        transaction.execute(
            "UPDATE keys SET revoked_at_ms = ?2 WHERE key_id = ?1 AND revoked_at_ms IS NULL",
            (record.key_id.to_string(), now_ms),
        )?;
        Ok(Some(record.key_id))
    })
}

/// Revokes the keys that earlier demos created.
pub fn revoke_demo_keys(store: &Store, clock: &Clock) -> store::Result<()> {
    let now_ms = clock.now().timestamp_millis();
    store.write(move |transaction| {
        transaction.execute(
            "UPDATE keys SET revoked_at_ms = ?2 WHERE name = ?1 AND revoked_at_ms IS NULL",
            (DEMO_NAME, now_ms),
        )
    })?;
    Ok(())
}

/// Converts a quota for SQLite, whose integers are signed; the maximum quota is far below their limit.
fn stored_quota(quota: Option<u64>) -> Option<i64> {
    quota.map(|quota| i64::try_from(quota).unwrap_or(i64::MAX))
}

fn sql_limits(row: &Row<'_>, column: usize) -> rusqlite::Result<SqlLimits> {
    let text: Option<String> = row.get(column)?;
    SqlLimits::from_stored(text.as_deref()).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}

fn record(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let kind: String = row.get(3)?;
    let grants: String = row.get(5)?;
    // Grants that this version does not know are ignored.
    let Grants { scopes, endpoints } = Grants::parse_known(&grants);
    Ok(KeyRecord {
        key_id: uuid(row, 0)?,
        account_id: uuid(row, 1)?,
        account: row.get(2)?,
        name: row.get(9)?,
        kind: if kind == KeyKind::Test.as_str() {
            KeyKind::Test
        } else {
            KeyKind::Production
        },
        hash: row.get(4)?,
        scopes,
        endpoints,
        allowance: Allowance {
            rate_per_s: row.get(10)?,
            monthly_quota: row.get::<_, Option<i64>>(11)?.map(i64::unsigned_abs),
            estimates_max: row.get(12)?,
            sql: sql_limits(row, 13)?,
        },
        prefix: row.get(14)?,
        // A list that cannot be parsed becomes an empty list, which admits nobody.
        allowed_from: row
            .get::<_, Option<String>>(15)?
            .map(|text| Networks::parse(&text).unwrap_or_default()),
        last_used_at: row.get::<_, Option<i64>>(16)?.map(moment),
        created_at: moment(row.get(6)?),
        expires_at: row.get::<_, Option<i64>>(7)?.map(moment),
        revoked_at: row.get::<_, Option<i64>>(8)?.map(moment),
    })
}
