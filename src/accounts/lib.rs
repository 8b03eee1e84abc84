//! Accounts and the keys they hold. What a key may do is decided here; the HTTP layer only asks.
//!
//! An account owns keys, what they consume, a webhook key and a signing secret. A key made without naming an account
//! belongs to the account [`DEFAULT_ACCOUNT`].

pub mod account;
pub mod answers;
pub mod grants;
pub mod key;
pub mod keys;
#[cfg(test)]
mod keys_tests;
pub mod ledger;
pub mod limits;
pub mod meter;
pub mod prices;
pub mod requests;
pub mod scopes;
pub mod secret;
pub mod signing;
pub mod usage;
pub mod verify;

use chrono::{DateTime, Utc};
use rusqlite::Row;
use uuid::Uuid;

/// The account of keys made without naming one.
pub const DEFAULT_ACCOUNT: &str = "default";

/// An identifier as the store spells it.
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

/// A moment as the store keeps it.
fn moment(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or_default()
}
