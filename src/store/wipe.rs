//! Removes deleted values from the files of the store.
//!
//! SQLite leaves deleted and replaced values in free pages, in free space of other pages and in the write-ahead log. A
//! wipe rewrites a file without them and empties its log. Other connections may have the file open, including those of
//! other processes: reads continue, and writes wait while the file is rewritten, but no longer than for any other
//! writer.

use std::time::{Duration, Instant};

use super::connection::{before_close, connect_again};
use super::error::{Error, Result};
use super::{Database, Store, functions};

/// Maximum wait for readers that keep the log from being emptied.
const READERS_WAIT_MAX: Duration = Duration::from_secs(60);
/// Pause between two attempts to empty the log.
const RETRY_EVERY: Duration = Duration::from_millis(100);

impl Store {
    /// Removes deleted values from both files and their logs. Returns once they are gone. Blocks.
    ///
    /// # Errors
    /// A file cannot be rewritten: the disk has no room for a second copy, or another process keeps it locked; a
    /// reader, such as a backup, keeps the log in use.
    pub fn wipe(&self) -> Result<()> {
        for (_, database) in self.databases() {
            database.wipe()?;
        }
        Ok(())
    }
}

impl Database {
    fn wipe(&self) -> Result<()> {
        let files = self.files();
        let connection = connect_again(files)?;
        functions::register(&connection)?;
        let wiped = connection
            .execute_batch("VACUUM")
            .map_err(Error::from)
            .and_then(|()| empty_log(&connection));
        before_close(&connection, files);
        wiped
    }
}

/// Copies the log into the file and truncates it.
fn empty_log(connection: &rusqlite::Connection) -> Result<()> {
    let began = Instant::now();
    loop {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let is_busy = connection.query_row(checkpoint, [], |row| row.get::<_, bool>(0))?;
        if !is_busy {
            return Ok(());
        }
        if began.elapsed() >= READERS_WAIT_MAX {
            return Err(Error::LogInUse);
        }
        std::thread::sleep(RETRY_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_value_is_in_no_file_while_another_process_has_the_store_open() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let other = Store::open(folder.path()).unwrap();
        let secret = "a-value-that-must-not-remain".repeat(400);
        let insert = "INSERT INTO accounts VALUES ('a', ?1, 0)";
        let text = secret.clone();
        store
            .write(move |transaction| transaction.execute(insert, [text]))
            .unwrap();
        let read = |connection: &rusqlite::Connection| {
            connection.query_row("SELECT count(*) FROM accounts", [], |row| {
                row.get::<_, i64>(0)
            })
        };
        assert_eq!(other.read(read).unwrap(), 1);
        store
            .write(|transaction| transaction.execute("DELETE FROM accounts", []))
            .unwrap();
        store.wipe().unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let needle = &secret.as_bytes()[..28];
            assert!(!bytes.windows(28).any(|part| part == needle), "{path:?}");
        }
        // Both processes continue to work.
        other
            .write(|transaction| {
                transaction.execute("INSERT INTO accounts VALUES ('b', 'b', 0)", [])
            })
            .unwrap();
        assert_eq!(store.read(read).unwrap(), 1);
    }
}
