//! The numbered steps that bring a store to today's schema. A step is never changed once released; a new one is added.

use rusqlite::{Connection, TransactionBehavior};

use super::{Error, Result};

/// Step `n` leads from schema `n` to schema `n + 1`.
const STEPS: [&str; 6] = [
    include_str!("migrations/0001_accounts_and_keys.sql"),
    include_str!("migrations/0002_accounts_grants_and_limits.sql"),
    include_str!("migrations/0003_ledger.sql"),
    include_str!("migrations/0004_listings.sql"),
    include_str!("migrations/0005_alerts.sql"),
    include_str!("migrations/0007_collection.sql"),
];

/// Applies the steps that are missing, all or none; safe when several processes open a new store at once.
pub(super) fn apply(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let found = usize::try_from(found).unwrap_or(usize::MAX);
    let missing = STEPS.get(found..).ok_or(Error::Newer {
        found,
        known: STEPS.len(),
    })?;
    for step in missing {
        transaction.execute_batch(step)?;
    }
    if !missing.is_empty() {
        transaction.pragma_update(None, "user_version", STEPS.len() as i64)?;
    }
    transaction.commit()?;
    Ok(())
}
