//! The background flush: a thread that syncs a database's write-ahead log, on request and at least once a second
//! after commits.
//!
//! If commits only write the log, a killed process loses none of them, but a machine that stops loses those not
//! flushed since. One flush serves all requests waiting at that time, and no commit waits for it.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::error::{Error, Result};
use super::writer::QUEUE_MAX;
use toise_base::supervise::{Pulse, Supervisor, Worker};

/// Time after which a commit is flushed if nobody requests it: what a machine failure may lose.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Called with the outcome of a flush.
type FlushCallback = Box<dyn FnOnce(Result<()>) + Send>;

/// Requests flushes. The thread ends with the last handle.
#[derive(Clone, Debug)]
pub(super) struct Flusher {
    // Before the queue, so that the worker is released before its thread ends.
    _worker: Arc<Worker>,
    queue: SyncSender<Option<FlushCallback>>,
}

impl Flusher {
    /// Starts the thread for an SQLite file.
    pub fn start(supervisor: &Supervisor, name: &str, path: &Path) -> std::io::Result<Self> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let (queue, waiting) = sync_channel(QUEUE_MAX);
        let worker = supervisor.spawn(name, move |pulse| {
            flush_all(pulse, &PathBuf::from(log), &waiting);
        })?;
        Ok(Self {
            _worker: Arc::new(worker),
            queue,
        })
    }

    /// Requests a flush of committed data.
    pub fn request(&self) {
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

fn flush_all(pulse: &Pulse, log: &Path, waiting: &Receiver<Option<FlushCallback>>) {
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
        let flushed = flush(log);
        due = None;
        if let (true, Err(error)) = (all.is_empty(), &flushed) {
            tracing::error!(%error, "flush failed; committed data may be lost if the machine stops");
        }
        for done in all {
            done(match &flushed {
                Ok(()) => Ok(()),
                Err(error) => Err(Error::Commit(error.to_string())),
            });
        }
    }
}

fn flush(log: &Path) -> std::io::Result<()> {
    // Opened for writing, since some systems sync only writable files.
    match OpenOptions::new().write(true).open(log) {
        Ok(log) => log.sync_data(),
        // SQLite removes a log that it has checkpointed and synced.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(flusher: &Flusher) -> Result<()> {
        let (sender, receiver) = sync_channel(1);
        flusher.request();
        flusher.then(move |flushed| sender.send(flushed).unwrap());
        receiver.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    #[test]
    fn a_failed_flush_is_reported_and_a_removed_log_is_not_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("file-wal");
        let flusher = Flusher::start(
            &Supervisor::default(),
            "flusher",
            &folder.path().join("file"),
        )
        .unwrap();
        outcome(&flusher).unwrap();
        std::fs::write(&log, "log").unwrap();
        outcome(&flusher).unwrap();
        std::fs::remove_file(&log).unwrap();
        std::fs::create_dir(&log).unwrap();
        assert!(matches!(outcome(&flusher), Err(Error::Commit(_))));
        std::fs::remove_dir(&log).unwrap();
        outcome(&flusher).unwrap();
    }
}
