//! The numbered migrations that bring a file to the current schema. A released step is never changed; new steps are
//! added.

use rusqlite::{Connection, TransactionBehavior};

use super::error::{Error, Result};
use super::row_digests;

/// Step `n` migrates schema `n` to schema `n + 1`.
pub(super) type Steps<'s> = [&'s str];

/// Migrations of the store.
pub(super) const STORE: [&str; 1] = [include_str!("migrations/store_0001.sql")];

/// Migrations of the ledger.
pub(super) const LEDGER: [&str; 1] = [include_str!("migrations/ledger_0001.sql")];

/// Applies the missing steps, all or none; safe if several processes open a new file at once. Foreign keys are
/// enforced again afterwards but not during the steps, because a step may rebuild a table.
pub(super) fn apply(connection: &mut Connection, steps: &Steps<'_>) -> Result<()> {
    connection.pragma_update(None, "foreign_keys", false)?;
    apply_missing(connection, steps)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

fn apply_missing(connection: &mut Connection, steps: &Steps<'_>) -> Result<()> {
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
        row_digests::install(&transaction)?;
        transaction.pragma_update(None, "user_version", steps.len() as i64)?;
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that rebuilds the table of properties, as is necessary where SQLite cannot alter a table, and adds a
    /// column.
    const NEXT: &str = "
        CREATE TABLE rebuilt (
          property INTEGER PRIMARY KEY, property_id BLOB NOT NULL UNIQUE, sequence INTEGER NOT NULL,
          merged_into INTEGER REFERENCES properties (property), record INTEGER, is_known INTEGER NOT NULL
        ) STRICT;
        INSERT INTO rebuilt SELECT *, 1 FROM properties;
        DROP TABLE properties;
        ALTER TABLE rebuilt RENAME TO properties;";

    fn in_memory() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        row_digests::register(&connection).unwrap();
        connection
    }

    fn version(connection: &Connection) -> i64 {
        let read = connection.query_row("PRAGMA user_version", [], |row| row.get(0));
        read.unwrap()
    }

    #[test]
    fn a_store_of_the_previous_version_is_migrated_with_all_its_data() {
        let next = [STORE[0], NEXT];
        let mut connection = in_memory();
        apply(&mut connection, &STORE[..1]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO records VALUES (7, x'aa');
                 INSERT INTO properties VALUES (1, x'01', 1, NULL, 7), (2, x'02', 3, 1, NULL);
                 INSERT INTO adverts VALUES (1, x'01', x'01', 1, 2, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, x'bb', 0);",
            )
            .unwrap();
        assert_eq!(version(&connection), 1);
        apply(&mut connection, &next).unwrap();
        assert_eq!(version(&connection), 2);
        let sql = "SELECT group_concat(concat_ws(' ', property, hex(property_id), sequence, merged_into, record, is_known))
                   FROM properties";
        let kept: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "1 01 1 7 1,2 02 3 1 1");
        // References are still valid and enforced again.
        let broken = "SELECT count(*) FROM pragma_foreign_key_check";
        let broken: i64 = connection.query_row(broken, [], |row| row.get(0)).unwrap();
        assert_eq!(broken, 0);
        connection
            .execute("UPDATE adverts SET property = 3", [])
            .unwrap_err();
        // Applying the steps again changes nothing.
        apply(&mut connection, &next).unwrap();
        assert_eq!(version(&connection), 2);
    }

    #[test]
    fn a_failed_step_leaves_the_previous_version_intact() {
        let mut connection = in_memory();
        apply(&mut connection, &STORE[..1]).unwrap();
        let broken = format!("{NEXT} INSERT INTO nowhere VALUES (1);");
        apply(&mut connection, &[STORE[0], &broken]).unwrap_err();
        assert_eq!(version(&connection), 1);
        let columns = "SELECT count(*) FROM pragma_table_info('properties')";
        let columns: i64 = connection.query_row(columns, [], |row| row.get(0)).unwrap();
        assert_eq!(columns, 5);
    }

    #[test]
    fn a_store_of_a_newer_version_is_rejected_and_not_changed() {
        let mut connection = in_memory();
        apply(&mut connection, &[STORE[0], NEXT]).unwrap();
        let refused = apply(&mut connection, &STORE[..1]);
        assert!(
            matches!(refused, Err(Error::Newer { found: 2, known: 1 })),
            "{refused:?}"
        );
        assert_eq!(version(&connection), 2);
    }
}
