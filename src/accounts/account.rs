//! Accounts in the store: creating, listing and finding them, and rotating their secrets and webhook keys.
//!
//! An account's name never changes. It has a webhook key and a signing secret from its creation. Every call blocks;
//! calls that change something return once the change is durable.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use uuid::Uuid;

use super::signing::{SigningSecret, WebhookKey};
use toise_base::clock::Clock;
use toise_store::columns::{moment, uuid};
use toise_store::master_key::overwriting;
use toise_store::new_id::{NewId, Settled};
use toise_store::{self as store, Store};

/// Maximum length of an account name, in characters.
pub const NAME_CHARS_MAX: usize = 100;
/// The rule for an account name.
pub const NAME_RULE: &str = "must be 1 to 100 characters, without control characters, \
                             spaces at the ends or the form of a UUID";
/// How long a rotated secret stays valid after the new one is created.
pub const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of secrets that are valid at once. If a secret is rotated more often within the overlap, the oldest
/// ends early.
const SIGNING_MAX: u32 = 4;

/// The reason why a call about accounts failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The name is not a valid account name.
    #[error("account name: {NAME_RULE}")]
    BadName,
    /// Another account already has the name.
    #[error("account name: already taken by another account")]
    NameTaken,
    /// There is no such account.
    #[error("no such account")]
    NoAccount,
}

/// Result of a call about accounts.
pub type Result<T> = std::result::Result<T, Error>;

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Identifier.
    pub account_id: Uuid,
    /// Name, unique among accounts.
    pub name: String,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// Value of the `x-webhook-key` header on its deliveries.
    pub webhook_key: WebhookKey,
    /// The next webhook key, during a rotation. Until it replaces the current one, deliveries also carry it, in
    /// `x-webhook-key-next`.
    pub next_webhook_key: Option<NextWebhookKey>,
}

/// A webhook key that will replace the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextWebhookKey {
    /// The key.
    pub key: WebhookKey,
    /// The time at which it replaces the current one.
    pub from: DateTime<Utc>,
}

impl Account {
    /// Returns the account as of a time: if the next webhook key is due by then, it has replaced the current one.
    #[must_use]
    pub fn at(self, now: DateTime<Utc>) -> Self {
        match self.next_webhook_key {
            Some(next) if next.from <= now => Self {
                webhook_key: next.key,
                next_webhook_key: None,
                ..self
            },
            next_webhook_key => Self {
                next_webhook_key,
                ..self
            },
        }
    }
}

/// A signing secret with its validity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveSecret {
    /// The secret.
    pub secret: SigningSecret,
    /// End of its validity; `None` for the current secret.
    pub valid_until: Option<DateTime<Utc>>,
}

/// Returns whether a text is a valid account name (see [`NAME_RULE`]).
pub fn is_name(text: &str) -> bool {
    let length = text.chars().count();
    (1..=NAME_CHARS_MAX).contains(&length)
        && text.trim() == text
        && !text.chars().any(char::is_control)
        && Uuid::try_parse(text).is_err()
}

/// Creates an account and returns its signing secret. If the same call already created the account, replaces the first
/// secret, because nobody received it.
pub fn create(
    store: &Store,
    clock: &Clock,
    name: &str,
    id: NewId,
) -> Result<(Account, SigningSecret)> {
    if !is_name(name) {
        return Err(Error::BadName);
    }
    let (name, now) = (name.to_owned(), clock.now());
    let created = store.write(move |transaction| {
        let made_at = "SELECT created_at_ms FROM accounts WHERE account_id = ?1";
        match id.settle(transaction, made_at, |id| id.to_string())? {
            Settled::Made(id) => {
                overwriting(transaction, || {
                    let sql = "DELETE FROM signing_secrets WHERE account_id = ?1";
                    transaction.execute(sql, [id.to_string()])
                })?;
                let secret = insert_secret(transaction, id)?;
                Ok(find(transaction, id)?.map(|account| (account, secret)))
            }
            Settled::New(_) if find_by_name(transaction, &name)?.is_some() => Ok(None),
            Settled::New(id) => insert(transaction, id, &name, now).map(Some),
        }
    })?;
    created.ok_or(Error::NameTaken)
}

/// Returns the account with a name, creating it if it does not exist.
pub fn find_or_create(store: &Store, clock: &Clock, name: &str) -> Result<Account> {
    if !is_name(name) {
        return Err(Error::BadName);
    }
    let (name, now) = (name.to_owned(), clock.now());
    Ok(store.write(move |transaction| named(transaction, &name, now))?)
}

/// Returns the account with a valid name, creating it if it does not exist, in the caller's transaction.
pub(super) fn named(
    transaction: &Transaction<'_>,
    name: &str,
    now: DateTime<Utc>,
) -> rusqlite::Result<Account> {
    match find_by_name(transaction, name)? {
        Some(account) => Ok(account),
        None => {
            let (account, _) = insert(transaction, Uuid::now_v7(), name, now)?;
            Ok(account)
        }
    }
}

fn insert(
    transaction: &Transaction<'_>,
    account_id: Uuid,
    name: &str,
    now: DateTime<Utc>,
) -> rusqlite::Result<(Account, SigningSecret)> {
    let account = Account {
        account_id,
        name: name.to_owned(),
        // Rounded to milliseconds, as in the store.
        created_at: moment(now.timestamp_millis()),
        webhook_key: WebhookKey::generate(),
        next_webhook_key: None,
    };
    let id = account.account_id.to_string();
    transaction.execute(
        "INSERT INTO accounts (account_id, name, created_at_ms) VALUES (?1, ?2, ?3)",
        (&id, name, now.timestamp_millis()),
    )?;
    transaction.execute(
        "INSERT INTO webhook_keys (account_id, value) VALUES (?1, conceal(?2, 'webhook_keys ' || ?1))",
        (&id, account.webhook_key.reveal()),
    )?;
    let secret = insert_secret(transaction, account.account_id)?;
    Ok((account, secret))
}

fn insert_secret(
    transaction: &Transaction<'_>,
    account_id: Uuid,
) -> rusqlite::Result<SigningSecret> {
    let secret = SigningSecret::generate();
    transaction.execute(
        "INSERT INTO signing_secrets (account_id, value) VALUES (?1, conceal(?2, 'signing_secrets ' || ?1))",
        (account_id.to_string(), secret.stored()),
    )?;
    Ok(secret)
}

const SELECT: &str = "SELECT account_id, name, created_at_ms, \
                      reveal(webhook_keys.value, 'webhook_keys ' || account_id), \
                      CASE WHEN next_value IS NOT NULL THEN reveal(next_value, 'webhook_keys ' || account_id) END, \
                      next_from_ms FROM accounts \
                      JOIN webhook_keys USING (account_id)";

/// Returns all accounts, oldest first.
pub fn list(store: &Store) -> Result<Vec<Account>> {
    Ok(store.read(|connection| {
        connection
            .prepare(&format!("{SELECT} ORDER BY created_at_ms, account_id"))?
            .query_map([], account)?
            .collect()
    })?)
}

/// Returns the account with an id.
pub fn get(store: &Store, account_id: Uuid) -> Result<Account> {
    store
        .read(|connection| find(connection, account_id))?
        .ok_or(Error::NoAccount)
}

/// Returns the account with a name, or with an id given as text.
pub fn get_named(store: &Store, name_or_id: &str) -> Result<Account> {
    let found = store.read(|connection| match Uuid::try_parse(name_or_id) {
        Ok(account_id) => find(connection, account_id),
        Err(_) => find_by_name(connection, name_or_id),
    })?;
    found.ok_or(Error::NoAccount)
}

/// Returns the account with an id; `None` if there is none.
pub(super) fn find(connection: &Connection, account_id: Uuid) -> rusqlite::Result<Option<Account>> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE account_id = ?1"))?
        .query_row([account_id.to_string()], account)
        .optional()
}

fn find_by_name(connection: &Connection, name: &str) -> rusqlite::Result<Option<Account>> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE name = ?1"))?
        .query_row([name], account)
        .optional()
}

/// Rotates the signing secret of an account and returns the new one. The previous secret stays valid for
/// [`SECRET_OVERLAP`].
pub fn rotate_secret(
    store: &Store,
    clock: &Clock,
    account_id: Uuid,
) -> Result<(Account, SigningSecret)> {
    let now = clock.now();
    let until_ms = (now + SECRET_OVERLAP).timestamp_millis();
    let rotated = store.write(move |transaction| {
        let Some(account) = find(transaction, account_id)? else {
            return Ok(None);
        };
        let id = account_id.to_string();
        overwriting(transaction, || {
            transaction.execute(
                "UPDATE signing_secrets SET valid_until_ms = ?2 WHERE account_id = ?1 AND valid_until_ms IS NULL",
                (&id, until_ms),
            )?;
            transaction.execute(
                "DELETE FROM signing_secrets WHERE account_id = ?1 AND (valid_until_ms <= ?2 OR secret_id NOT IN
                 (SELECT secret_id FROM signing_secrets WHERE account_id = ?1 ORDER BY secret_id DESC LIMIT ?3))",
                (&id, now.timestamp_millis(), SIGNING_MAX - 1),
            )
        })?;
        let secret = insert_secret(transaction, account_id)?;
        Ok(Some((account, secret)))
    })?;
    rotated.ok_or(Error::NoAccount)
}

/// Rotates the webhook key of an account: a new key replaces the current one after `overlap`. Until then deliveries
/// carry the current key in its usual header and the new one in `x-webhook-key-next`. A next key from an earlier
/// rotation is discarded if it is not in use yet.
///
/// # Errors
/// There is no such account, or the store fails.
pub fn rotate_webhook_key(
    store: &Store,
    clock: &Clock,
    account_id: Uuid,
    overlap: Duration,
) -> Result<Account> {
    let now = clock.now();
    let rotated = store.write(move |transaction| {
        let Some(account) = find(transaction, account_id)? else {
            return Ok(None);
        };
        let present = account.at(now).webhook_key;
        let next = WebhookKey::generate();
        let from_ms = (now + overlap).timestamp_millis();
        overwriting(transaction, || {
            transaction.execute(
                "UPDATE webhook_keys SET value = conceal(?2, 'webhook_keys ' || ?1),
                   next_value = conceal(?3, 'webhook_keys ' || ?1), next_from_ms = ?4 WHERE account_id = ?1",
                (account_id.to_string(), present.reveal(), next.reveal(), from_ms),
            )
        })?;
        find(transaction, account_id)
    })?;
    rotated
        .map(|account| account.at(now))
        .ok_or(Error::NoAccount)
}

/// Returns the secrets that sign an account's deliveries at a time, the current one first; empty for an unknown
/// account.
pub fn signing_secrets(
    store: &Store,
    account_id: Uuid,
    now: DateTime<Utc>,
) -> Result<Vec<ActiveSecret>> {
    Ok(store.read(|connection| signing_at(connection, account_id, now))?)
}

fn signing_at(
    connection: &Connection,
    account_id: Uuid,
    now: DateTime<Utc>,
) -> rusqlite::Result<Vec<ActiveSecret>> {
    connection
        .prepare_cached(
            "SELECT reveal(value, 'signing_secrets ' || account_id), valid_until_ms FROM signing_secrets
             WHERE account_id = ?1 AND (valid_until_ms IS NULL OR valid_until_ms > ?2)
             ORDER BY secret_id DESC",
        )?
        .query_map((account_id.to_string(), now.timestamp_millis()), signing)?
        .collect()
}

/// Returns an account as of a time, with the secrets that sign its deliveries, the current one first; `None` for an
/// unknown account.
pub fn credentials(
    connection: &Connection,
    account_id: Uuid,
    now: DateTime<Utc>,
) -> rusqlite::Result<Option<(Account, Vec<ActiveSecret>)>> {
    let Some(account) = find(connection, account_id)? else {
        return Ok(None);
    };
    let signing = signing_at(connection, account_id, now)?;
    Ok(Some((account.at(now), signing)))
}

fn signing(row: &Row<'_>) -> rusqlite::Result<ActiveSecret> {
    let bytes: Vec<u8> = row.get(0)?;
    let secret = SigningSecret::from_stored(&bytes).ok_or(rusqlite::Error::InvalidColumnType(
        0,
        "value".into(),
        rusqlite::types::Type::Blob,
    ))?;
    Ok(ActiveSecret {
        secret,
        valid_until: row.get::<_, Option<i64>>(1)?.map(moment),
    })
}

fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
    Ok(Account {
        account_id: uuid(row, 0)?,
        name: row.get(1)?,
        created_at: moment(row.get(2)?),
        webhook_key: WebhookKey::from_stored(row.get(3)?),
        next_webhook_key: next_webhook_key(row)?,
    })
}

fn next_webhook_key(row: &Row<'_>) -> rusqlite::Result<Option<NextWebhookKey>> {
    let key: Option<String> = row.get(4)?;
    let from: Option<i64> = row.get(5)?;
    Ok(key.zip(from).map(|(key, from_ms)| NextWebhookKey {
        key: WebhookKey::from_stored(key),
        from: moment(from_ms),
    }))
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
