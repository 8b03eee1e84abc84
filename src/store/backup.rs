//! Backup of a store file while it is being read and written, with SQLite's online backup.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::check::{Contents, check_rows};
use super::error::{Error, Result};
use super::files::create_private;
use super::{Database, FILE_NAME, LEDGER_FILE_NAME, Store};

/// Copies all pages in one step: under WAL this delays no writer and reads one snapshot.
const ALL_PAGES: i32 = -1;

impl Database {
    /// Copies the database to a new, self-contained file, verified by SQLite; returns once the copy is durable.
    /// Blocks.
    ///
    /// The copy contains every write that returned before the call, from any process.
    ///
    /// # Errors
    /// The file exists or cannot be written, the copy fails SQLite's integrity check, or a row in it does not have its
    /// checksum.
    fn backup(&self, to: &Path, contents: Contents) -> Result<()> {
        // This handle stays open until the copy has no connection. Closing it earlier would drop the connections'
        // locks.
        let file = create_private(to).map_err(Error::io(to))?;
        let source = self.connect_reader()?;
        let mut copy = Connection::open(to)?;
        let outcome = Backup::new(&source, &mut copy)?.step(ALL_PAGES)?;
        if outcome != StepResult::Done {
            return Err(damaged(to, format!("the copy ended early: {outcome:?}")));
        }
        // The copy is marked as WAL like its source, but it should be a single self-contained file.
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        let verdict: String = copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            return Err(damaged(to, verdict));
        }
        let rows = check_rows(&copy, contents)?;
        if let Some(first) = rows.damaged.first() {
            let reason = match rows.damaged_count {
                1 => first.clone(),
                count => format!("{first} (and {} more)", count - 1),
            };
            return Err(damaged(to, reason));
        }
        drop(copy);
        file.sync_all().map_err(Error::io(to))
    }

    /// Returns the number of bytes on disk, including the write-ahead log.
    pub fn bytes(&self) -> u64 {
        self.paths().bytes()
    }
}

impl Store {
    /// Copies the ledger and then the store into a folder. The order ensures that everything the ledger refers to is in
    /// the copy. Every row with a checksum is verified. Blocks.
    ///
    /// # Errors
    /// A file exists or cannot be written, or a copy is damaged; the error says which.
    pub fn backup(&self, to: &Path) -> Result<()> {
        let (ledger, store) = (to.join(LEDGER_FILE_NAME), to.join(FILE_NAME));
        self.ledger.backup(&ledger, Contents::Ledger)?;
        self.database.backup(&store, Contents::Store)
    }
}

fn damaged(path: &Path, reason: String) -> Error {
    Error::DamagedCopy {
        path: path.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_during_writes_contains_every_write_that_returned_before() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let insert = |store: &Store, name: String| {
            let change = move |transaction: &rusqlite::Transaction<'_>| {
                let sql =
                    "INSERT INTO accounts (account_id, name, created_at_ms) VALUES (?1, ?1, 0)";
                transaction.execute(sql, [name])
            };
            store.write(change).unwrap();
        };
        let count = |store: &Store, pattern: &'static str| -> i64 {
            let sql = "SELECT count(*) FROM accounts WHERE name LIKE ?1";
            let reading =
                |connection: &Connection| connection.query_row(sql, [pattern], |row| row.get(0));
            store.read(reading).unwrap()
        };
        for index in 0..20 {
            insert(&store, format!("before{index}"));
        }
        let copies = folder.path().join("copies");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for index in 0..200 {
                    insert(&store, format!("during{index}"));
                }
            });
            std::fs::create_dir(&copies).unwrap();
            store.backup(&copies).unwrap();
            writer.join().unwrap();
        });
        let names: Vec<_> = std::fs::read_dir(&copies).unwrap().collect();
        assert_eq!(names.len(), 2, "a copy is one file");
        let copy = Store::open(&copies).unwrap();
        assert_eq!(count(&copy, "before%"), 20);
        assert!(count(&copy, "during%") <= 200);
        assert!(copy.bytes() > 0);
        assert_eq!(count(&store, "during%"), 200);
    }
}
