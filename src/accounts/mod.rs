//! Accounts and the keys they hold. What a key may do is decided here; the HTTP layer only asks.
//!
//! An account owns keys; later also credits, alerts and webhook secrets. A key made without naming an account belongs
//! to the account [`DEFAULT_ACCOUNT`].

pub mod consumption;
pub mod credits;
pub mod keys;
pub mod ledger;
pub mod meter;
pub mod scopes;
pub mod secret;
pub mod verify;

/// The account of keys made without naming one.
pub const DEFAULT_ACCOUNT: &str = "default";
