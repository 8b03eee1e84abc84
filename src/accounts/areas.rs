//! Stored areas: polygons that an account keeps under a name, so that its searches and alerts can name them.
//!
//! Every call blocks. Changes are durable when a call returns.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row};
use uuid::Uuid;

use toise_base::clock::Clock;
use toise_store::columns::moment;
use toise_store::{self as store, Store};

/// Maximum areas of an account.
pub const AREAS_MAX: usize = 1_000;
/// Maximum length of a name, in characters.
pub const NAME_CHARS_MAX: usize = 100;
/// The rule for the name of an area.
pub const NAME_RULE: &str =
    "must be 1 to 100 characters, without control characters, slashes or spaces at the ends";

/// The reason why an area was not stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The name is not valid.
    #[error("name: {NAME_RULE}")]
    BadName,
    /// The account has the maximum number of areas.
    #[error("an account may have at most {AREAS_MAX} areas; delete one first")]
    TooMany,
}

/// An area that an account stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredArea {
    /// Name, unique within the account.
    pub name: String,
    /// GeoJSON text of the polygon, as it was sent.
    pub geometry: String,
    /// When it was first stored.
    pub created_at: DateTime<Utc>,
    /// When it was last replaced.
    pub updated_at: DateTime<Utc>,
}

/// Returns whether a text is a valid name of an area (see [`NAME_RULE`]).
pub fn is_name(text: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&text.chars().count())
        && text.trim() == text
        && !text.chars().any(|char| char.is_control() || char == '/')
}

/// Stores an area, replacing any area with the same name. The caller has checked the geometry.
///
/// # Errors
/// The name is not valid, the account has [`AREAS_MAX`] areas, or the store fails.
pub fn put(
    store: &Store,
    clock: &Clock,
    account: Uuid,
    name: &str,
    geometry: String,
) -> Result<StoredArea, Error> {
    if !is_name(name) {
        return Err(Error::BadName);
    }
    let (account, name) = (account.to_string(), name.to_owned());
    let now = clock.now().timestamp_millis();
    let stored = store.write(move |transaction| {
        let sql = "SELECT count(*) FROM areas WHERE account_id = ?1 AND name <> ?2";
        let others: i64 = transaction.query_row(sql, (&account, &name), |row| row.get(0))?;
        if others >= AREAS_MAX as i64 {
            return Ok(None);
        }
        let sql = "INSERT INTO areas (account_id, name, geometry, created_at_ms, updated_at_ms) \
                   VALUES (?1, ?2, ?3, ?4, ?4) ON CONFLICT (account_id, name) DO UPDATE SET \
                   geometry = excluded.geometry, updated_at_ms = excluded.updated_at_ms \
                   RETURNING name, geometry, created_at_ms, updated_at_ms";
        transaction
            .query_row(sql, (&account, &name, &geometry, now), read)
            .map(Some)
    })?;
    stored.ok_or(Error::TooMany)
}

/// Returns the area of an account with a name.
///
/// # Errors
/// The store fails.
pub fn find(store: &Store, account: Uuid, name: &str) -> store::Result<Option<StoredArea>> {
    store.read(|connection| {
        let sql = "SELECT name, geometry, created_at_ms, updated_at_ms FROM areas \
                   WHERE account_id = ?1 AND name = ?2";
        let mut found = connection.prepare_cached(sql)?;
        found
            .query_row((account.to_string(), name), read)
            .optional()
    })
}

/// Returns the areas of an account, by name.
///
/// # Errors
/// The store fails.
pub fn list(store: &Store, account: Uuid) -> store::Result<Vec<StoredArea>> {
    store.read(|connection| {
        let sql = "SELECT name, geometry, created_at_ms, updated_at_ms FROM areas \
                   WHERE account_id = ?1 ORDER BY name";
        let mut found = connection.prepare_cached(sql)?;
        found.query_map([account.to_string()], read)?.collect()
    })
}

/// Deletes an area of an account; returns whether there was one.
///
/// # Errors
/// The store fails.
pub fn delete(store: &Store, account: Uuid, name: &str) -> store::Result<bool> {
    let (account, name) = (account.to_string(), name.to_owned());
    store.write(move |transaction| {
        let sql = "DELETE FROM areas WHERE account_id = ?1 AND name = ?2";
        Ok(transaction.execute(sql, (account, name))? > 0)
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredArea> {
    Ok(StoredArea {
        name: row.get(0)?,
        geometry: row.get(1)?,
        created_at: moment(row.get(2)?),
        updated_at: moment(row.get(3)?),
    })
}
