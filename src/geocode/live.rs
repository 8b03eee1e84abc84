//! The index a server uses, replaced automatically when addresses are imported.
//!
//! A thread reads the file that names the segments every second. If it names others, they are mapped in the background
//! and swapped in at once; requests in progress go on with the edition they started with. If they cannot be
//! opened, the former edition stays in use and an error is logged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::folder;
use crate::search::Geocoder;
use toise_base::supervise::Supervisor;
use toise_base::watch::{Watcher, watch};

/// The current geocoder. Cheap to clone.
///
/// It is never missing: without imported addresses it knows the communes alone.
#[derive(Clone)]
pub struct LiveGeocoder {
    shared: Arc<LiveGeocoderInner>,
}

struct LiveGeocoderInner {
    data: PathBuf,
    current: ArcSwap<EditionInUse>,
    /// Contents of the file that named the segments at the last attempt to open them.
    seen: Mutex<Option<Vec<u8>>>,
}

struct EditionInUse {
    geocoder: Arc<Geocoder>,
    /// Contents of the file that named its segments, if there was one.
    named: Option<Vec<u8>>,
}

impl LiveGeocoder {
    /// Opens the current edition of a data folder.
    pub fn open(data: &Path) -> Self {
        let live = Self {
            shared: Arc::new(LiveGeocoderInner {
                data: data.to_owned(),
                current: ArcSwap::from_pointee(EditionInUse {
                    geocoder: Arc::new(Geocoder::new(Vec::new())),
                    named: None,
                }),
                seen: Mutex::default(),
            }),
        };
        live.reload_if_changed();
        live
    }

    /// The current edition.
    pub fn geocoder(&self) -> Arc<Geocoder> {
        Arc::clone(&self.shared.current.load().geocoder)
    }

    /// Contents of the file that named the segments in use; `None` before the first import.
    pub fn named(&self) -> Option<Vec<u8>> {
        self.shared.current.load().named.clone()
    }

    /// Opens and swaps in the current edition if it differs from the one in use.
    pub fn reload_if_changed(&self) {
        let shared = &self.shared;
        let named = std::fs::read(folder::current(&shared.data)).ok();
        let mut seen = shared.seen.lock();
        if *seen == named {
            return;
        }
        // An edition published meanwhile may have deleted these segments: the next look finds the new list.
        match folder::open(&shared.data) {
            Ok(geocoder) => {
                let departments = geocoder.segments().len();
                tracing::info!(departments, "address index loaded");
                shared.current.store(Arc::new(EditionInUse {
                    geocoder: Arc::new(geocoder),
                    named: named.clone(),
                }));
            }
            Err(error) => tracing::error!(
                %error,
                "cannot open the new address index; the former one stays in use"
            ),
        }
        *seen = named;
    }

    /// Starts a thread that checks for a new edition every second, until the returned handle is dropped.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn watch(&self, supervisor: &Supervisor) -> std::io::Result<Watcher> {
        let live = self.clone();
        watch(supervisor, "address-index", move || {
            live.reload_if_changed()
        })
    }
}
