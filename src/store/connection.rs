//! Opens connections to a database file, for every thread of the store.

use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::Result;
use super::files::{DatabaseFiles, OpenFiles};
use super::master_key;
use super::row_digests;

/// Maximum wait of a write for another process that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between attempts during that wait. SQLite's own pauses grow to 100 ms, and a writer that sleeps that long
/// never gets the lock from a process that writes continuously.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// Prepared statements cached by each connection: more than any hot path uses.
const STATEMENTS_MAX: usize = 128;

/// Prepares a connection for closing. The last connection to close deletes the log, which must not happen if the files
/// were replaced: the log that is there now belongs to another process.
pub(super) fn before_close(connection: &Connection, files: &OpenFiles) {
    if files.is_lost() {
        // If this fails, the connection closes as usual.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
}

/// Opens one more connection to files that are already open. If the files were replaced, the connection would create
/// another log or read other data, so they are checked before and after.
pub(super) fn connect_again(files: &OpenFiles) -> Result<Connection> {
    files.check()?;
    let connection = connect(files.paths())?;
    files.check()?;
    Ok(connection)
}

/// Switches to the write-ahead log. The first connection to a new file needs it exclusively for that, and SQLite does
/// not call the busy handler when two connections wait for each other.
fn use_log(connection: &Connection) -> Result<()> {
    let since = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && since.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(BUSY_PAUSE);
            }
            result => return Ok(result?),
        }
    }
}

/// Opens a connection that waits for other writers and whose commits are synced to disk.
pub(super) fn connect(files: &DatabaseFiles) -> Result<Connection> {
    // Never creates the file, and takes its name literally rather than as a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(files.path(), flags)?;
    let mut since = Instant::now();
    connection.busy_handler(Some(move |tries| {
        if tries == 0 {
            since = Instant::now();
        }
        std::thread::sleep(BUSY_PAUSE);
        since.elapsed() < BUSY_TIMEOUT
    }))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Plans must not depend on bound values; otherwise statements on tables with partial indexes are planned at
    // each use.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    use_log(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    master_key::register_functions(&connection, files.sealing())?;
    row_digests::register(&connection)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_whose_log_was_replaced_leaves_the_one_that_is_there_now() {
        for is_checked in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let files = DatabaseFiles::create(folder.path(), "file").unwrap();
            let connection = connect(&files).unwrap();
            connection.execute_batch("CREATE TABLE t (x)").unwrap();
            let files = files.opened().unwrap();
            let log = folder.path().join("file-wal");
            std::fs::remove_file(&log).unwrap();
            std::fs::write(&log, "another process's").unwrap();
            if is_checked {
                files.check().unwrap_err();
                connect_again(&files).unwrap_err();
            }
            before_close(&connection, &files);
            drop(connection);
            // SQLite itself deletes any file that has the name of its log.
            assert_eq!(log.exists(), is_checked);
        }
    }
}
