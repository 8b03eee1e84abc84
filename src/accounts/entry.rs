//! A row of the ledger: one call or delivery, and what it costs.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::prices::Consumption;

/// Key id of entries without a key: deliveries are charged to an account, not requested with a key.
pub const NO_KEY: Uuid = Uuid::nil();

/// A row of the ledger.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// Identifier of the call or delivery.
    pub request_id: Uuid,
    /// Account that is charged.
    pub account_id: Uuid,
    /// Key used, or [`NO_KEY`].
    pub key_id: Uuid,
    /// Type of consumption.
    pub consumption: Consumption,
    /// Credits charged.
    pub credits: u64,
    /// Time of the call.
    pub at: DateTime<Utc>,
}
