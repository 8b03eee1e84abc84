//! Connections to a database file, as every thread of the store opens them.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::error::Result;

/// Maximum wait of a write for another process that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between attempts meanwhile. SQLite's own pauses grow to 100 ms; against a process that writes without
/// pause, a writer that sleeps that long never gets the lock.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// Prepared statements cached by each connection: more than any hot path uses.
const STATEMENTS_MAX: usize = 128;

/// Opens a connection that waits for other writers and whose commits are synced to disk.
pub(super) fn connect(path: &Path) -> Result<Connection> {
    let mut connection = Connection::open(path)?;
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
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}
