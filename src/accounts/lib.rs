//! Accounts and their API keys. This crate decides what a key may use; the HTTP layer calls it.
//!
//! An account owns keys, their consumption, a webhook key and a signing secret. A key created without an account name
//! belongs to the account [`DEFAULT_ACCOUNT`].

#![forbid(unsafe_code)]

pub mod account;
pub mod areas;
pub mod audit;
mod entry;
pub mod expiry;
pub mod forget;
pub mod grants;
pub mod holds;
mod journal;
pub mod json;
pub mod key;
pub mod keys;
#[cfg(test)]
mod keys_tests;
pub mod ledger;
pub mod letterheads;
mod limit_exceeded;
pub mod limits;
pub mod meter;
pub mod operators;
pub mod prices;
pub mod requests;
pub mod scopes;
pub mod secret;
pub mod shipments;
pub mod signing;
pub mod sql_limits;
pub mod stored;
pub mod usage;
pub mod uses;
pub mod verify;
pub mod waiting;

/// Account of keys created without an account name.
pub const DEFAULT_ACCOUNT: &str = "default";
