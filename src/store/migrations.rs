//! The numbered steps that bring a file to today's schema. A step is never changed once released; a new one is added.

use rusqlite::{Connection, TransactionBehavior};

use super::{Error, Result};

/// Step `n` leads from schema `n` to schema `n + 1`.
pub(super) type Steps = [&'static str];

/// Those of the store.
pub(super) const STORE: [&str; 8] = [
    include_str!("migrations/0001_accounts_and_keys.sql"),
    include_str!("migrations/0002_accounts_grants_and_limits.sql"),
    include_str!("migrations/0003_ledger.sql"),
    include_str!("migrations/0004_listings.sql"),
    include_str!("migrations/0005_alerts.sql"),
    include_str!("migrations/0006_outlines.sql"),
    include_str!("migrations/0007_alert_limits.sql"),
    include_str!("migrations/0008_collection.sql"),
];

/// Those of the ledger.
pub(super) const LEDGER: [&str; 1] = [include_str!("migrations/ledger_0001_calls.sql")];

/// Applies the steps that are missing, all or none; safe when several processes open a new file at once.
pub(super) fn apply(connection: &mut Connection, steps: &Steps) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let found = usize::try_from(found).unwrap_or(usize::MAX);
    let missing = steps.get(found..).ok_or(Error::Newer {
        found,
        known: steps.len(),
    })?;
    for step in missing {
        transaction.execute_batch(step)?;
    }
    if !missing.is_empty() {
        transaction.pragma_update(None, "user_version", steps.len() as i64)?;
    }
    transaction.commit()?;
    Ok(())
}
