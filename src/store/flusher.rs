//! The background flush: a thread that syncs a database's write-ahead log, on request and at least once a second
//! after commits.
//!
//! If commits only write the log, no commit is lost when the process is killed, but those since the last flush are lost
//! when the machine stops. One flush serves all waiting requests, and no commit waits for it. It is a failure if the
//! log is no longer at its path, because its contents are lost when this process ends. A failed sync ends the worker
//! and so the service, because a later sync cannot repair it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::error::{Error, Result, Unacknowledged};
use super::files::OpenFiles;
use super::writer::QUEUE_MAX;
use toise_base::supervise::{Pulse, Supervisor, Worker};

/// Time after which a commit is flushed without a request. A machine failure may lose the commits of this period.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Called with the outcome of a flush.
type FlushCallback = Box<dyn FnOnce(Result<()>) + Send>;

/// Requests flushes. The thread ends with the last handle.
#[derive(Clone, Debug)]
pub(super) struct Flusher {
    // Declared before the queue, so that the worker is released before its thread ends.
    _worker: Arc<Worker>,
    queue: SyncSender<Option<FlushCallback>>,
    /// Whether a flush was requested that has not begun.
    is_requested: Arc<AtomicBool>,
}

impl Flusher {
    /// Starts the thread for the files of a database.
    pub fn start(
        supervisor: &Supervisor,
        name: &str,
        files: &Arc<OpenFiles>,
    ) -> std::io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE_MAX);
        let files = Arc::clone(files);
        let is_requested = Arc::new(AtomicBool::new(false));
        let requested = Arc::clone(&is_requested);
        let worker = supervisor.spawn(name, move |pulse| {
            flush_all(pulse, &files, &waiting, &requested);
        })?;
        Ok(Self {
            _worker: Arc::new(worker),
            queue,
            is_requested,
        })
    }

    /// Requests a flush of committed data. Wakes the thread only if no flush is due yet.
    pub fn request(&self) {
        if self.is_requested.swap(true, Ordering::AcqRel) {
            return;
        }
        // If the queue is full, a flush is due anyway; without the thread, SQLite syncs the log at its next
        // checkpoint.
        let _ = self.queue.try_send(None);
    }

    /// Calls `done` once committed data is on disk; it must not block. If the queue is full, the writer thread
    /// waits here, and so do its callers.
    pub fn then(&self, done: impl FnOnce(Result<()>) + Send + 'static) {
        if let Err(refused) = self.queue.send(Some(Box::new(done)))
            && let Some(done) = refused.0
        {
            done(Err(Error::Closed));
        }
    }
}

fn flush_all(
    pulse: &Pulse,
    files: &OpenFiles,
    waiting: &Receiver<Option<FlushCallback>>,
    is_requested: &AtomicBool,
) {
    let mut due: Option<Instant> = None;
    loop {
        let next = match due {
            None => pulse
                .recv(waiting)
                .map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => waiting.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let first = match next {
            Ok(Some(done)) => Some(done),
            Ok(None) => {
                due.get_or_insert_with(|| Instant::now() + FLUSH_EVERY);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let all: Vec<FlushCallback> = first
            .into_iter()
            .chain(waiting.try_iter().flatten())
            .collect();
        // Before the flush, so that a commit during the flush requests another one.
        is_requested.swap(false, Ordering::AcqRel);
        let flushed = flush(files);
        due = None;
        if let Err(Unacknowledged::Failed(reason)) = &flushed {
            // The system may have dropped the data that it could not write, and a later sync would not report that:
            // changes acknowledged afterwards would follow a gap. When the database is closed, the whole log is copied
            // to the file.
            pulse.fail(&format!("the log cannot be synced: {reason}"));
        }
        if let (true, Err(refused)) = (all.is_empty(), &flushed) {
            let error = refused.to_error();
            tracing::error!(%error, "flush failed; committed data may be lost if the machine stops");
        }
        for done in all {
            done(match &flushed {
                Ok(()) => Ok(()),
                Err(refused) => Err(refused.to_error()),
            });
        }
    }
}

fn flush(files: &OpenFiles) -> std::result::Result<(), Unacknowledged> {
    files.sync_log()?;
    // Checked afterwards, because a log that is removed during the sync is lost as well.
    files.check()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::connection::connect;
    use super::super::files::DatabaseFiles;
    use super::*;

    fn outcome(flusher: &Flusher) -> Result<()> {
        let (sender, receiver) = sync_channel(1);
        flusher.request();
        flusher.then(move |flushed| sender.send(flushed).unwrap());
        receiver.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    fn opened(folder: &Path) -> (Arc<OpenFiles>, rusqlite::Connection) {
        let files = DatabaseFiles::create(folder, "file").unwrap();
        let connection = connect(&files).unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        (Arc::new(files.opened().unwrap()), connection)
    }

    #[test]
    fn a_log_that_is_gone_is_a_failure_until_the_database_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let (files, connection) = opened(folder.path());
        let flusher = Flusher::start(&Supervisor::default(), "flusher", &files).unwrap();
        outcome(&flusher).unwrap();
        let (log, aside) = (folder.path().join("file-wal"), folder.path().join("aside"));
        std::fs::rename(&log, &aside).unwrap();
        for _ in 0..2 {
            let refused = outcome(&flusher);
            assert!(
                matches!(&refused, Err(Error::Replaced(file)) if file.path == log),
                "{refused:?}"
            );
            // In the second case, another file takes its place.
            std::fs::write(&log, "another log").unwrap();
        }
        std::fs::rename(&aside, &log).unwrap();
        outcome(&flusher).unwrap();
        // The last connection deletes the log once it is in the file.
        files.close();
        drop(connection);
        assert!(!log.exists());
        outcome(&flusher).unwrap();
    }
}
