//! Keys in the store: made, listed, revoked. The command line and, later, the admin endpoints call these.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use super::scopes::{Scope, Scopes};
use super::secret::{self, KeyHash};
use crate::clock::Clock;
use crate::store::{self, Store};

/// How long a test key lives.
pub const TEST_KEY_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The two kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Free trial: 7 days.
    Test,
    /// No expiry.
    Production,
}

impl Kind {
    /// The spelling in the store and in answers.
    pub fn as_str(self) -> &'static str {
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
    /// Kind.
    pub kind: Kind,
    /// SHA-256 of its text.
    pub hash: KeyHash,
    /// What it may do.
    pub scopes: Scopes,
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

/// Makes a key for the named account, making the account too when there is none of that name. Durable on return.
pub fn create(
    store: &Store,
    clock: &Clock,
    kind: Kind,
    scopes: Scopes,
    account: &str,
) -> store::Result<NewKey> {
    let key = secret::draw(kind);
    let sha256 = secret::hash_of(&key).unwrap_or_default();
    let key_id = Uuid::now_v7();
    let now = clock.now();
    let expires_at_ms = (kind == Kind::Test).then(|| (now + TEST_KEY_LIFE).timestamp_millis());
    let account = account.to_owned();
    let account_id = store.write(move |transaction| {
        transaction.execute(
            "INSERT INTO accounts (account_id, name, created_at_ms) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO NOTHING",
            (Uuid::now_v7().to_string(), &account, now.timestamp_millis()),
        )?;
        let account_id = transaction.query_row(
            "SELECT account_id FROM accounts WHERE name = ?1",
            [&account],
            |row| uuid(row, 0),
        )?;
        transaction.execute(
            "INSERT INTO keys (key_id, account_id, kind, sha256, grants, created_at_ms, expires_at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                key_id.to_string(),
                account_id.to_string(),
                kind.as_str(),
                sha256.as_slice(),
                scopes.to_string(),
                now.timestamp_millis(),
                expires_at_ms,
            ),
        )?;
        Ok(account_id)
    })?;
    Ok(NewKey {
        key,
        key_id,
        account_id,
    })
}

const SELECT: &str = "SELECT key_id, account_id, name, kind, sha256, grants, keys.created_at_ms, expires_at_ms, \
                      revoked_at_ms FROM keys JOIN accounts USING (account_id)";

/// Every key, oldest first.
pub fn list(store: &Store) -> store::Result<Vec<KeyRecord>> {
    store.read(|connection| {
        connection
            .prepare(&format!("{SELECT} ORDER BY keys.created_at_ms, key_id"))?
            .query_map([], record)?
            .collect()
    })
}

/// The key with a hash, revoked and expired ones included.
pub fn find(connection: &Connection, hash: &KeyHash) -> rusqlite::Result<Option<KeyRecord>> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE sha256 = ?1"))?
        .query_row([hash.as_slice()], record)
        .optional()
}

/// Revokes a key given by its text or its id; `None` when there is no such key. Durable on return.
///
/// A key that was already revoked keeps its first moment of revocation.
pub fn revoke(store: &Store, clock: &Clock, key_or_id: &str) -> store::Result<Option<Uuid>> {
    let hash = secret::hash_of(key_or_id);
    let id = Uuid::try_parse(key_or_id).ok();
    let now_ms = clock.now().timestamp_millis();
    store.write(move |transaction| {
        transaction
            .query_row(
                "UPDATE keys SET revoked_at_ms = coalesce(revoked_at_ms, ?1)
                 WHERE sha256 = ?2 OR key_id = ?3 RETURNING key_id",
                (
                    now_ms,
                    hash.map(|hash| hash.to_vec()),
                    id.map(|id| id.to_string()),
                ),
                |row| uuid(row, 0),
            )
            .optional()
    })
}

fn record(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let moment = |ms: i64| DateTime::from_timestamp_millis(ms).unwrap_or_default();
    let kind: String = row.get(3)?;
    let grants: String = row.get(5)?;
    Ok(KeyRecord {
        key_id: uuid(row, 0)?,
        account_id: uuid(row, 1)?,
        account: row.get(2)?,
        kind: if kind == Kind::Test.as_str() {
            Kind::Test
        } else {
            Kind::Production
        },
        hash: row.get(4)?,
        // A grant this version does not know opens nothing here.
        scopes: grants
            .split(',')
            .filter_map(|name| name.parse().ok())
            .collect(),
        created_at: moment(row.get(6)?),
        expires_at: row.get::<_, Option<i64>>(7)?.map(moment),
        revoked_at: row.get::<_, Option<i64>>(8)?.map(moment),
    })
}

fn uuid(row: &Row<'_>, index: usize) -> rusqlite::Result<Uuid> {
    let text: String = row.get(index)?;
    Uuid::try_parse(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            index,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}
