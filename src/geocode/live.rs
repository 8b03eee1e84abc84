//! The address index that a server uses, replaced automatically when addresses are imported.
//!
//! A thread reads the list of segments every second. If the list has changed, the new segments are mapped in the
//! background and swapped in at once; requests in progress continue with the edition they started with. Segments that
//! cannot be opened are skipped. The thread verifies every edition and rebuilds what is damaged from the table of
//! addresses; the other segments stay in use in the meantime.

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
/// It is always available: without imported addresses it knows only the communes.
#[derive(Clone)]
pub struct LiveGeocoder {
    shared: Arc<LiveGeocoderInner>,
}

struct LiveGeocoderInner {
    data: PathBuf,
    current: ArcSwap<EditionInUse>,
    /// Contents of the list of segments when they were last opened.
    seen: Mutex<Option<Vec<u8>>>,
    /// Contents of the list of segments when they were last verified; `None` before that.
    verified: Mutex<Option<Option<Vec<u8>>>>,
}

struct EditionInUse {
    geocoder: Arc<Geocoder>,
    /// Contents of the list of its segments, if there was one.
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
                verified: Mutex::default(),
            }),
        };
        live.reload_if_changed();
        live
    }

    /// Returns the current edition.
    pub fn geocoder(&self) -> Arc<Geocoder> {
        Arc::clone(&self.shared.current.load().geocoder)
    }

    /// Returns the contents of the list of segments in use; `None` before the first import.
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
        *seen = named.clone();
        self.open_again(named);
    }

    /// Opens the edition that a list of segments names.
    fn open_again(&self, named: Option<Vec<u8>>) {
        // A newer edition may already have deleted these segments; the next check then finds the new list.
        let (geocoder, damaged) = folder::open_intact(&self.shared.data);
        let departments = geocoder.segments().len();
        match damaged.as_slice() {
            [] => tracing::info!(departments, "address index loaded"),
            damaged => tracing::error!(
                ?damaged,
                departments,
                "files of the address index cannot be opened; the other departments are in use"
            ),
        }
        self.shared.current.store(Arc::new(EditionInUse {
            geocoder: Arc::new(geocoder),
            named,
        }));
    }

    /// Verifies the edition in use, once, and rebuilds what is damaged from the table of addresses.
    fn repair(&self) {
        let shared = &self.shared;
        let named = self.named();
        let mut verified = shared.verified.lock();
        if verified.as_ref() == Some(&named) {
            return;
        }
        let damaged = folder::verify(&shared.data);
        if !damaged.is_empty() {
            tracing::error!(
                ?damaged,
                "files of the address index are damaged; rebuilding them"
            );
            match folder::rebuild(&shared.data, &|_| {}) {
                // Opens the list even if it is unchanged, because its files were rebuilt.
                Ok(_) => self.open_again(named.clone()),
                Err(error) => tracing::error!(
                    %error,
                    "cannot rebuild the address index; run `toise import ban` with the addresses again"
                ),
            }
        }
        *verified = Some(named);
    }

    /// Starts a thread that checks for a new edition every second, until the returned handle is dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn watch(&self, supervisor: &Supervisor) -> std::io::Result<Watcher> {
        let live = self.clone();
        watch(supervisor, "address-index", move || {
            live.reload_if_changed();
            live.repair();
        })
    }
}
