//! Listings: adverts of many portals, and the properties they stand for.
//!
//! An advert's way in: [`incoming`] reads it, [`identity`] tells which listing it is, [`prepare`] lays it over what is
//! stored, completes it ([`complete`]), doubts it ([`anomaly`]) and says what changed ([`change`]), on all cores;
//! [`ingest`] then takes it into the store with others in one transaction, where [`cluster`] finds the property it
//! belongs to by [`dedup`] and [`property`] makes that property from its adverts. [`store`] reads what is there.
//!
//! The store is the truth about listings; tables of columns are kept from it through [`store::changes_since`].

pub mod anomaly;
pub mod change;
mod cluster;
pub mod complete;
pub mod dedup;
pub mod document;
pub mod explain;
pub mod identity;
pub mod incoming;
pub mod ingest;
pub mod prepare;
pub mod property;
mod rows;
pub mod store;

use std::sync::Arc;

use crate::clock::Clock;
use crate::geo::iris::IrisIndex;
use crate::store::Store;

/// Why listings could not be read or written: a failure of ours, never of what was sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] crate::store::Error),
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
    iris: Option<Arc<IrisIndex>>,
}

impl Listings {
    /// The listings of a store.
    pub fn new(store: Store, clock: Clock) -> Self {
        Self {
            store,
            clock,
            iris: None,
        }
    }

    /// The same with contours that tell the quarter and commune of a position.
    pub fn with_iris(mut self, iris: Option<Arc<IrisIndex>>) -> Self {
        self.iris = iris;
        self
    }
}
