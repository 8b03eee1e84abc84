//! Opens a database exclusively: no other connection has the file open, or can open it until this one is closed.
//!
//! The connection has a rollback journal in place of the write-ahead log. Only a sole connection can switch to it, and
//! no other connection can open the file while it is in use. The next process that opens the file switches back to the
//! log.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::database::open_writer;
use super::error::{Error, Result};
use super::master_key::SharedSealingKey;
use super::migrations::Steps;

/// Maximum wait for other connections to close the file.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between attempts.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// Page cache, KiB: large enough for the indexes that receive rows in random order.
const CACHE_KIB: i64 = 256 * 1024;

/// Opens a connection that excludes all others until it is closed. Returns it with the cell that holds its data key.
///
/// # Errors
/// [`Error::InUse`] if another connection has the file open.
pub(super) fn open_alone(
    data: &Path,
    name: &str,
    steps: &Steps<'_>,
) -> Result<(SharedSealingKey, Connection)> {
    let (files, connection) = open_writer(data, name, steps)?;
    let began = Instant::now();
    while !use_rollback_journal(&connection)? {
        if began.elapsed() >= CLOSE_TIMEOUT {
            let path = files.paths().path().to_owned();
            return Err(Error::InUse { path });
        }
        thread::sleep(POLL_EVERY);
    }
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok((Arc::clone(files.paths().sealing()), connection))
}

/// Switches from the write-ahead log to a rollback journal, which only the sole connection to a file can do;
/// returns whether it succeeded. The next process that opens the file switches back to the log.
fn use_rollback_journal(connection: &Connection) -> Result<bool> {
    let mode = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| {
        row.get::<_, String>(0)
    });
    match mode {
        Ok(mode) => Ok(mode == "delete"),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
