//! Checkpoints the write-ahead log into the database file, on a thread separate from the writer.
//!
//! The changes of an advert touch five pages spread over a file of gigabytes, so checkpointing them waits for the disk
//! as long as writing them to the log did. The writer continues during that time. The log restarts only when it is
//! completely checkpointed, which never happens under continuous writes. At [`LOG_PAGES_MAX`] the writer therefore
//! checkpoints the small remainder itself.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;

use super::connection::{before_close, connect_again};
use super::error::{Error, Result};
use super::files::OpenFiles;
use toise_base::supervise::{Pulse, Supervisor, Worker};

/// Pages of the log that are checkpointed together: 64 MiB. A page that is written several times before a checkpoint is
/// copied once, so that ingestion needs a third less system time than with 8 MiB.
const COPY_PAGES: i64 = 16_384;
/// Pages of the log from which each commit tries to checkpoint the rest and restart the log: 256 MiB.
const LOG_PAGES_MAX: i64 = 65_536;

/// Wakes the checkpoint thread, which ends when this is dropped.
pub(super) struct Checkpointer {
    // Declared before the sender, so that the worker is released before its thread ends.
    _worker: Worker,
    wake: SyncSender<()>,
}

impl Checkpointer {
    /// Starts the thread for the file of a writer connection; it opens the file when there is something to
    /// checkpoint.
    pub(super) fn start(
        supervisor: &Supervisor,
        name: &str,
        files: &Arc<OpenFiles>,
        writer: &Connection,
    ) -> Result<Self> {
        writer.pragma_update(None, "wal_autocheckpoint", LOG_PAGES_MAX)?;
        let (wake, woken) = sync_channel(1);
        let worker = supervisor
            .spawn(name, {
                let files = Arc::clone(files);
                move |pulse| copy_all(pulse, &files, woken)
            })
            .map_err(Error::io(files.paths().path()))?;
        Ok(Self {
            _worker: worker,
            wake,
        })
    }

    /// Requests a checkpoint if enough pages have accumulated. Called after each commit; costs microseconds.
    pub(super) fn after_commit(&self, writer: &Connection) {
        // If the number of pages is unknown, the log is checkpointed once it is full.
        if unflushed_pages(writer).is_ok_and(|pages| pages >= COPY_PAGES) {
            // A thread that is already awake will see these pages too.
            let _ = self.wake.try_send(());
        }
    }
}

/// Returns the number of log pages that are not in the file yet.
fn unflushed_pages(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
        .query_row([], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?))
}

fn copy_all(pulse: &Pulse, files: &OpenFiles, woken: Receiver<()>) {
    let mut opened = None;
    while pulse.recv(&woken).is_ok() {
        // A failed checkpoint leaves the log for the next one or for the writer.
        let connection = match opened.take() {
            Some(connection) => connection,
            None => match connect_again(files) {
                Ok(connection) => connection,
                Err(_) => continue,
            },
        };
        let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        match copied {
            Ok(()) => opened = Some(connection),
            Err(_) => before_close(&connection, files),
        }
    }
    if let Some(connection) = &opened {
        before_close(connection, files);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::{FILE_NAME, Store};
    use super::*;

    #[test]
    fn a_long_log_is_checkpointed_without_a_further_write() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let file = folder.path().join(FILE_NAME);
        let length = || std::fs::metadata(&file).unwrap().len();
        let name = "n".repeat(COPY_PAGES as usize * 4_096);
        let bytes = name.len() as u64;
        let before = length();
        let insert = "INSERT INTO accounts VALUES ('a', ?1, 0)";
        store
            .write(move |transaction| transaction.execute(insert, [name]))
            .unwrap();
        let written = Instant::now();
        while store.read(unflushed_pages).unwrap() >= COPY_PAGES {
            assert!(
                written.elapsed() < Duration::from_secs(30),
                "not checkpointed"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(length() >= before + bytes);
    }
}
