//! Listings: adverts of many portals, and the properties they stand for.
//!
//! An advert's way in: [`incoming`] reads it, [`identity`] tells which listing it is, [`prepare`] lays it over what is
//! stored, completes it ([`complete`]), doubts it ([`anomaly`]) and says what changed ([`change`]), on all cores;
//! [`ingest`] then takes it into the store with others in one transaction, where `cluster` finds the property it
//! belongs to by [`dedup`], [`property`] makes that property from its adverts, and `percolation` has the alerts look at
//! both. [`store`] reads what is there. Where it is known which adverts show one asset, [`bulk`] fills empty listings
//! with millions of them.
//!
//! The store is the truth about listings; tables of columns are kept from it through [`Listings::changes_since`].

pub mod analytics;
pub mod anomaly;
pub mod bulk;
pub mod by_url;
pub mod change;
mod cluster;
pub mod columns;
pub mod complete;
pub mod dedup;
mod documents;
pub mod explain;
pub mod identity;
pub mod incoming;
pub mod ingest;
mod percolation;
mod placement;
pub mod prepare;
pub mod preview;
pub mod projection;
pub mod property;
mod recent;
pub mod record_key;
pub mod request;
mod rows;
pub mod search;
pub mod similars;
pub mod store;
mod tables;
pub mod texts;

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use toise_alerts::percolate::{Active, Percolator};
use toise_base::clock::Clock;
use toise_geo::iris::IrisIndex;
use toise_store::Store;
pub use toise_store::document;

/// Why listings could not be read or written: a failure of ours, never of what was sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] toise_store::Error),
    /// The contours cannot be read.
    #[error(transparent)]
    Contours(#[from] toise_geo::iris::Error),
    /// A stored record cannot be read.
    #[error(transparent)]
    Document(#[from] document::Error),
    /// What was asked names no advert or property, or cannot be done; in words for a person.
    #[error("{0}")]
    Refused(String),
}

/// Result of an operation on listings.
pub type Result<T> = std::result::Result<T, Error>;

/// The adverts and properties of a data folder. Cheap to clone; every call blocks its thread.
#[derive(Clone)]
pub struct Listings {
    store: Store,
    clock: Clock,
    contours: Arc<Contours>,
    percolator: Arc<Percolator>,
}

/// Contours that tell the quarter and commune of a position: read when the first advert comes, for they take seconds.
#[derive(Default)]
struct Contours {
    path: Option<PathBuf>,
    read: Mutex<Option<Arc<IrisIndex>>>,
}

impl Contours {
    fn get(&self) -> Result<Option<Arc<IrisIndex>>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let mut read = self.read.lock();
        if read.is_none() {
            *read = Some(Arc::new(IrisIndex::open(path)?));
        }
        Ok(read.clone())
    }
}

impl Listings {
    /// The listings of a store.
    pub fn new(store: Store, clock: Clock) -> Self {
        Self {
            store,
            clock,
            contours: Arc::default(),
            percolator: Arc::new(Percolator::new(columns::properties(), columns::adverts())),
        }
    }

    /// Loads the active alerts, so that the first advert does not wait for them. Blocks: seconds for 100,000.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn load_alerts(&self) -> Result<()> {
        Ok(self
            .store
            .read(|connection| self.percolator.catch_up(connection))?)
    }

    /// Active alerts, as last loaded.
    pub fn active_alerts(&self) -> Active {
        self.percolator.active()
    }

    /// Tells the time.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The same with a file of contours that tell the quarter and commune of a position.
    pub fn with_contours(mut self, path: Option<PathBuf>) -> Self {
        self.contours = Arc::new(Contours {
            path,
            read: Mutex::default(),
        });
        self
    }
}
