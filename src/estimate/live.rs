//! The model a server answers with, replaced by itself when another one is trained.
//!
//! A thread reads the file that names the model in use every `LOOK_EVERY`; when it names another, that one is opened
//! aside and swapped in whole. Requests keep the one they began with. A model that cannot be opened leaves the former
//! one in place, with a line in the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;

use super::Model;
use super::model::Error;
use super::store::{CURRENT, FOLDER};
use super::valuer::{Adjustments, Valuer};
use toise_base::supervise::{Supervisor, Worker};

/// Pause between two looks at the folder.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Longest wait at the end for a model that is being opened.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The model in use, if there is one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveModel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    adjustments: Adjustments,
    current: ArcSwapOption<Valuer>,
    /// What named the model when one was last opened.
    seen: Mutex<Option<Vec<u8>>>,
}

/// Keeps the model up to date until dropped.
#[derive(Debug)]
pub struct Watching {
    worker: Worker,
    stop: Arc<AtomicBool>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.worker.release();
        self.stop.store(true, Ordering::Relaxed);
        self.worker.unpark();
        self.worker.join_within(STOP_TIMEOUT);
    }
}

impl LiveModel {
    /// The model of a data folder as it is now. Reads it whole: a second for some million sales.
    pub fn open(data: &Path, adjustments: Adjustments) -> Self {
        let live = Self {
            shared: Arc::new(Shared {
                folder: data.join(FOLDER),
                adjustments,
                current: ArcSwapOption::empty(),
                seen: Mutex::default(),
            }),
        };
        live.look();
        live
    }

    /// The model to ask; `None`: none was trained yet.
    pub fn valuer(&self) -> Option<Arc<Valuer>> {
        self.shared.current.load_full()
    }

    /// Looks for a model other than the one in use, and takes it.
    pub fn look(&self) {
        let shared = &self.shared;
        let named = std::fs::read(shared.folder.join(CURRENT)).ok();
        let mut seen = shared.seen.lock();
        if *seen == named {
            return;
        }
        *seen = named;
        match Model::open(&shared.folder) {
            Ok(model) => {
                let version = &model.metadata().version;
                tracing::info!(version, "estimates come from this model from now on");
                let valuer = Valuer::new(Arc::new(model), shared.adjustments);
                shared.current.store(Some(Arc::new(valuer)));
            }
            Err(Error::Missing { .. }) => {}
            Err(error) => {
                tracing::error!(%error, "the model cannot be opened, the former one stays")
            }
        }
    }

    /// Starts a thread that looks again and again.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn keep_up(&self, supervisor: &Supervisor) -> std::io::Result<Watching> {
        let (live, stop) = (self.clone(), Arc::<AtomicBool>::default());
        let stopped = Arc::clone(&stop);
        let worker = supervisor.spawn("model", move |pulse| {
            while !stopped.load(Ordering::Relaxed) {
                pulse.turn();
                // Parked rather than asleep: stopping does not wait.
                std::thread::park_timeout(LOOK_EVERY);
                live.look();
            }
        })?;
        Ok(Watching { worker, stop })
    }
}
