//! Holds the model that a server uses, and replaces it when a new one is trained.
//!
//! A thread reads the file that names the current model every second. If it names another model, that one is
//! opened in the background and swapped in atomically. Requests in progress continue with the model they started with.
//! If a model cannot be opened, the previous one stays in use and an error is logged.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use arc_swap::{ArcSwapOption, Guard};
use parking_lot::Mutex;

use super::Model;
use super::model::Error;
use super::store::{CURRENT, FOLDER};
use super::valuer::{Adjustments, Valuer};
use toise_base::supervise::Supervisor;
use toise_base::watch::{Watcher, watch};

/// The current model, if there is one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveModel {
    shared: Arc<LiveModelInner>,
}

#[derive(Debug)]
struct LiveModelInner {
    folder: PathBuf,
    adjustments: Adjustments,
    current: ArcSwapOption<ModelInUse>,
    /// Completed after the first attempt to open a model.
    first: Once,
    /// Content of the file that names the model, at the last attempt to open one.
    seen: Mutex<Option<Vec<u8>>>,
}

#[derive(Debug)]
struct ModelInUse {
    valuer: Arc<Valuer>,
    /// Content of the file that named it.
    named: Vec<u8>,
}

impl LiveModel {
    /// Opens the current model of a data folder. Reads the whole model, which takes about a second for a million sales.
    pub fn open(data: &Path, adjustments: Adjustments) -> Self {
        let live = Self::on_demand(data, adjustments);
        live.opened();
        live
    }

    /// Creates a handle that opens the model of a data folder on first use.
    pub fn on_demand(data: &Path, adjustments: Adjustments) -> Self {
        Self {
            shared: Arc::new(LiveModelInner {
                folder: data.join(FOLDER),
                adjustments,
                current: ArcSwapOption::empty(),
                first: Once::new(),
                seen: Mutex::default(),
            }),
        }
    }

    fn opened(&self) -> Guard<Option<Arc<ModelInUse>>> {
        self.shared.first.call_once(|| self.reload_if_changed());
        self.shared.current.load()
    }

    /// Returns the current model; `None` if none has been trained yet.
    pub fn valuer(&self) -> Option<Arc<Valuer>> {
        let current = self.opened();
        current.as_ref().map(|current| Arc::clone(&current.valuer))
    }

    /// Returns the content of the file that names the model, as of the model in use; `None` without a model.
    pub fn named(&self) -> Option<Vec<u8>> {
        let current = self.opened();
        current.as_ref().map(|current| current.named.clone())
    }

    /// Opens and swaps in the current model if it differs from the one in use.
    pub fn reload_if_changed(&self) {
        let shared = &self.shared;
        let named = std::fs::read(shared.folder.join(CURRENT)).ok();
        let mut seen = shared.seen.lock();
        if *seen == named {
            return;
        }
        seen.clone_from(&named);
        match Model::open(&shared.folder) {
            Ok(model) => {
                let version = &model.metadata().version;
                tracing::info!(version, "model loaded");
                let valuer = Arc::new(Valuer::new(Arc::new(model), shared.adjustments));
                let named = named.unwrap_or_default();
                let current = ModelInUse { valuer, named };
                shared.current.store(Some(Arc::new(current)));
            }
            Err(Error::Missing { .. }) => {}
            Err(error) => {
                tracing::error!(%error, "cannot open the new model; the previous one stays in use")
            }
        }
    }

    /// Starts a thread that checks for a new model every second, until the returned handle is dropped.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn watch(&self, supervisor: &Supervisor) -> std::io::Result<Watcher> {
        let live = self.clone();
        watch(supervisor, "model", move || live.reload_if_changed())
    }
}
