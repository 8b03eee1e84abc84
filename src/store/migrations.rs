//! The numbered steps that bring a file to today's schema. A step is never changed once released; a new one is added.

use rusqlite::{Connection, TransactionBehavior};

use super::{Error, Result};

/// Step `n` leads from schema `n` to schema `n + 1`.
pub(super) type Steps = [&'static str];

/// Those of the store.
pub(super) const STORE: [&str; 9] = [
    include_str!("migrations/0001_accounts_and_keys.sql"),
    include_str!("migrations/0002_accounts_grants_and_limits.sql"),
    include_str!("migrations/0003_ledger.sql"),
    include_str!("migrations/0004_listings.sql"),
    include_str!("migrations/0005_alerts.sql"),
    include_str!("migrations/0006_outlines.sql"),
    include_str!("migrations/0007_alert_limits.sql"),
    include_str!("migrations/0008_collection.sql"),
    include_str!("migrations/0009_records_by_place.sql"),
];

/// Those of the ledger.
pub(super) const LEDGER: [&str; 1] = [include_str!("migrations/ledger_0001_calls.sql")];

/// Applies the steps that are missing, all or none; safe when several processes open a new file at once. References
/// between tables are checked on the connection afterwards, not meanwhile: a step may make a table anew.
pub(super) fn apply(connection: &mut Connection, steps: &Steps) -> Result<()> {
    connection.pragma_update(None, "foreign_keys", false)?;
    apply_missing(connection, steps)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

fn apply_missing(connection: &mut Connection, steps: &Steps) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_store_from_before_they_lay_apart_are_kept() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, &STORE[..8]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO properties VALUES (1, x'01', 1, NULL, x'aa'), (2, x'02', 3, 1, NULL);
                 INSERT INTO adverts VALUES (1, x'01', x'01', 1, 2, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, x'bb');",
            )
            .unwrap();
        apply(&mut connection, &STORE).unwrap();
        let sql = "SELECT group_concat(concat_ws(' ', property, hex(property_id), sequence, merged_into, hex(document)))
                   FROM properties LEFT JOIN records USING (record)";
        let kept: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "1 01 1 AA,2 02 3 1 ");
        // References still hold, and are checked again.
        let broken = "SELECT count(*) FROM pragma_foreign_key_check";
        let broken: i64 = connection.query_row(broken, [], |row| row.get(0)).unwrap();
        assert_eq!(broken, 0);
        connection
            .execute("UPDATE adverts SET property = 3", [])
            .unwrap_err();
    }
}
