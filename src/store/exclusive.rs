//! Makes one very large change to the store with exclusive access: millions of rows in one transaction.
//!
//! Under write-ahead logging, every row would be written to the log and then to the file. Here new pages go straight to
//! the file, and a rollback journal holds only the pages that existed before: few, in a store that is filled for the
//! first time. The change therefore costs little more than writing its rows once. It is atomic even if the process or
//! the machine stops: the next process that opens the file rolls back uncommitted changes.

use std::path::Path;

use rusqlite::{Transaction, TransactionBehavior};

use super::error::Error;
use super::sole_connection::open_alone;
use super::{FILE_NAME, Store, migrations};

impl Store {
    /// Runs a change on the store of a data folder while no other connection has it open. Returns once the change is
    /// durable; on failure, no change is applied. Foreign keys are not checked. Blocks.
    ///
    /// # Errors
    /// [`Error::InUse`] if another connection has the file open; the error of the change.
    pub fn exclusive<T, E: From<Error>>(
        data: &Path,
        change: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let (_, mut connection) = open_alone(data, FILE_NAME, &migrations::STORE)?;
        let begin = TransactionBehavior::Exclusive;
        let transaction = connection
            .transaction_with_behavior(begin)
            .map_err(Error::from)?;
        let outcome = change(&transaction)?;
        transaction.commit().map_err(Error::from)?;
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use rusqlite::Connection;

    const INSERT: &str = "INSERT INTO accounts VALUES (?1, ?1, 0)";

    fn accounts(store: &Store) -> Vec<String> {
        let reading = |connection: &Connection| {
            let mut statement = connection.prepare("SELECT name FROM accounts ORDER BY name")?;
            let names = statement.query_map([], |row| row.get(0))?;
            names.collect()
        };
        store.read(reading).unwrap()
    }

    #[test]
    fn an_exclusive_change_is_atomic_and_keeps_existing_rows() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let store = Store::open(data).unwrap();
        store
            .write(|transaction| transaction.execute(INSERT, ["before"]))
            .unwrap();
        drop(store);
        let failed: Result<()> = Store::exclusive(data, |transaction| {
            transaction.execute(INSERT, ["lost"])?;
            Err(Error::Closed)
        });
        assert!(matches!(failed, Err(Error::Closed)), "{failed:?}");
        Store::exclusive(data, |transaction| -> Result<()> {
            transaction.execute(INSERT, ["kept"])?;
            Ok(())
        })
        .unwrap();
        let store = Store::open(data).unwrap();
        assert_eq!(accounts(&store), ["before", "kept"]);
        store
            .write(|transaction| transaction.execute(INSERT, ["later"]))
            .unwrap();
        let mode: String = store
            .read(|connection| connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)))
            .unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn an_interrupted_change_leaves_the_store_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let (data, interrupted) = (
            folder.path().join("data"),
            folder.path().join("interrupted"),
        );
        let store = Store::open(&data).unwrap();
        store
            .write(|transaction| transaction.execute(INSERT, ["before"]))
            .unwrap();
        drop(store);
        let empty = std::fs::metadata(data.join(FILE_NAME)).unwrap().len();
        Store::exclusive(&data, |transaction| -> Result<()> {
            // A small cache, so that most pages are in the file before the change ends.
            transaction.pragma_update(None, "cache_size", 10)?;
            for number in 0..20_000 {
                transaction.execute(INSERT, [format!("account {number}")])?;
            }
            // A killed process would leave exactly the files that are on disk now.
            std::fs::create_dir(&interrupted).unwrap();
            for file in std::fs::read_dir(&data).unwrap() {
                let file = file.unwrap();
                std::fs::copy(file.path(), interrupted.join(file.file_name())).unwrap();
            }
            Ok(())
        })
        .unwrap();
        let grown = std::fs::metadata(interrupted.join(FILE_NAME))
            .unwrap()
            .len();
        assert!(grown > 2 * empty, "{grown} bytes");
        assert_eq!(accounts(&Store::open(&interrupted).unwrap()), ["before"]);
        assert_eq!(accounts(&Store::open(&data).unwrap()).len(), 20_001);
    }

    #[test]
    fn a_store_that_is_open_elsewhere_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let _store = Store::open(folder.path()).unwrap();
        let refused: Result<()> = Store::exclusive(folder.path(), |_| Ok(()));
        assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
    }
}
