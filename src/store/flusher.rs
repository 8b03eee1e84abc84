//! The thread that puts a file's write-ahead log on disk, for those who wait and now and then for the rest.
//!
//! Where commits only write the log, a process that is killed loses none of them; a machine that stops loses those not
//! flushed since. One flush serves all who wait by then, and no commit waits for it.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::writer::QUEUE_MAX;
use super::{Error, Result};
use toise_base::supervise::{Pulse, Supervisor, Worker};

/// What a commit nobody waits for may lose when the machine stops.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Told how a flush went.
type FlushCallback = Box<dyn FnOnce(Result<()>) + Send>;

/// Asks for flushes. The thread ends with the last handle.
#[derive(Clone, Debug)]
pub(super) struct Flusher {
    // Before the queue, so that the end of the thread is asked for before it comes.
    _worker: Arc<Worker>,
    queue: SyncSender<Option<FlushCallback>>,
}

impl Flusher {
    /// Starts the thread for a file of SQLite.
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

    /// Has what is committed be on disk soon.
    pub fn request(&self) {
        // Where so many wait that there is no place, a flush comes anyway; without the thread, SQLite flushes the log
        // with its next copy into the file.
        let _ = self.queue.try_send(None);
    }

    /// Calls `done` once what is committed is on disk; it must not block. While as many wait as the queue holds, the
    /// thread that writes waits here, and so do those who write.
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
            tracing::error!(%error, "what was committed may be lost if the machine stops");
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
    // Opened to write, as some systems flush only for who may.
    match OpenOptions::new().write(true).open(log) {
        Ok(log) => log.sync_data(),
        // SQLite removes a log that it has copied into the file, and flushed.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(flusher: &Flusher) -> Result<()> {
        let (tell, told) = sync_channel(1);
        flusher.request();
        flusher.then(move |flushed| tell.send(flushed).unwrap());
        told.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    #[test]
    fn who_waits_hears_of_a_failure_and_a_log_that_was_copied_is_none() {
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
