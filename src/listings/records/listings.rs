//! The handle for all queries and changes of the listings in a data folder.
//!
//! Each folder of the crate adds methods to [`Listings`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use crate::adverts::identity::{IdentityRules, ListingUrl};
use crate::adverts::locating::PlaceSources;
use crate::columns;
use crate::properties::record_key::NUMBER_MAX;
use crate::records::erased::ErasedCache;
use toise_alerts::percolate::{self, ActiveAlertCounts, Percolator};
use toise_base::clock::{Clock, HybridClock};
use toise_contract::listings::codes::FlxId;
use toise_dedup::Thresholds;
use toise_geo::iris::IrisIndex;
use toise_geocode::Geocoder;
use toise_geocode::live::LiveGeocoder;
use toise_layers::Layers;
use toise_store::Store;
use toise_store::document;

/// Errors of reading or writing listings. Except for [`Error::Order`] and [`Error::Refused`], they are failures of the
/// system, not of the request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] toise_store::Error),
    /// The contours cannot be read.
    #[error(transparent)]
    Contours(#[from] toise_geo::iris::Error),
    /// A stored record cannot be read, or a record cannot be stored.
    #[error(transparent)]
    Document(#[from] document::Error),
    /// The JSON text of a stored advert cannot be parsed as an advert.
    #[error("store: {0}")]
    Json(#[from] serde_json::Error),
    /// A stored advert is not a JSON object.
    #[error("store: a stored advert is not a JSON object")]
    NotAnObject,
    /// A stored fingerprint cannot be read.
    #[error("store: {0}")]
    Fingerprint(#[from] toise_dedup::DecodeError),
    /// A record lacks its identifier; the text says what kind of record it is.
    #[error("store: {0} has no identifier")]
    NoId(&'static str),
    /// The store has no number left for another property.
    #[error(
        "store: the store has reached its maximum of {NUMBER_MAX} properties; start a new data folder"
    )]
    Full,
    /// A record to be tested against the alerts cannot be converted to a row.
    #[error("store: {0}")]
    Row(#[from] columns::Error),
    /// Rows to be tested against the alerts could not be assembled into a batch.
    #[error("store: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Written records could not be tested against the alerts.
    #[error(transparent)]
    Percolation(#[from] percolate::Error),
    /// A person's order cannot be carried out.
    #[error(transparent)]
    Order(#[from] OrderRefused),
    /// The request names no known advert or property, or cannot be carried out; the text is for a person.
    #[error("{0}")]
    Refused(String),
}

/// Reasons why a person's order cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefused {
    /// There is no such property.
    #[error("no property {0}")]
    NoProperty(FlxId),
    /// Both identifiers belong to one property.
    #[error("{0} and {1} are already one property")]
    OneProperty(FlxId, FlxId),
    /// The property has no such advert.
    #[error("property {property} has no advert {advert}")]
    NoAdvert {
        /// The property.
        property: FlxId,
        /// The advert.
        advert: FlxId,
    },
    /// No advert would leave the property, or none would stay.
    #[error("nothing to split: name some of the property's adverts, but not all")]
    NothingToSplit,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Result of an operation on listings.
pub type Result<T> = std::result::Result<T, Error>;

/// The adverts and properties of a data folder. Cheap to clone; every call blocks its thread.
#[derive(Clone)]
pub struct Listings {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    /// The clock that dates sightings without a time.
    pub(crate) stamps: HybridClock,
    pub(crate) contours: Arc<Contours>,
    pub(crate) percolator: Arc<Percolator>,
    pub(crate) layers: Layers,
    pub(crate) addresses: Option<LiveGeocoder>,
    pub(crate) identity: Arc<IdentityRules>,
    pub(crate) alerts_of: Option<Uuid>,
    pub(crate) thresholds: Thresholds,
    pub(crate) erased: Arc<ErasedCache>,
}

/// The contours and addresses that complete the locations of a group of adverts.
pub(crate) struct PlaceTables {
    iris: Option<Arc<IrisIndex>>,
    geocoder: Option<Arc<Geocoder>>,
}

impl PlaceTables {
    pub(crate) fn sources(&self) -> PlaceSources<'_> {
        PlaceSources {
            iris: self.iris.as_deref(),
            geocoder: self.geocoder.as_deref(),
        }
    }
}

/// Contours that give the IRIS and commune of a position. They are read when the first advert needs them, which takes
/// seconds.
#[derive(Default)]
pub(crate) struct Contours {
    path: Option<PathBuf>,
    read: Mutex<Option<Arc<IrisIndex>>>,
}

impl Contours {
    pub(crate) fn get(&self) -> Result<Option<Arc<IrisIndex>>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        // A thread that panicked while reading leaves no partial state.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.is_none() {
            *read = Some(Arc::new(IrisIndex::open(path)?));
        }
        Ok(read.clone())
    }
}

impl Listings {
    /// Creates the listings of a store.
    pub fn new(store: Store, clock: Clock) -> Self {
        let layers = Layers::of(store.folder());
        let percolator = Percolator::new(columns::properties(), columns::adverts())
            .with_layers(Arc::new(layers.clone()));
        Self {
            store,
            stamps: HybridClock::new(clock.clone()),
            clock,
            contours: Arc::default(),
            percolator: Arc::new(percolator),
            layers,
            addresses: None,
            identity: Arc::default(),
            alerts_of: None,
            thresholds: Thresholds::default(),
            erased: Arc::default(),
        }
    }

    /// Returns the same listings, but adverts ingested through them reach only the alerts of one account: for data from
    /// an account that others do not have to trust.
    pub fn for_alerts_of(&self, account: Uuid) -> Self {
        Self {
            alerts_of: Some(account),
            ..self.clone()
        }
    }

    /// Sets the probabilities from which adverts are merged, or listed as possibly one asset.
    pub fn with_thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }

    /// Sets which parameters of a portal's URLs identify a listing. Without this, only the rules for all portals apply.
    pub fn with_identity(mut self, rules: IdentityRules) -> Self {
        self.identity = Arc::new(rules);
        self
    }

    /// Parses the URL of a listing with the rules of its portal; `None` if it breaks
    /// [`URL_RULE`](crate::adverts::identity::URL_RULE).
    pub fn listing_url(&self, text: &str) -> Option<ListingUrl> {
        self.identity.parse(text)
    }

    /// Loads the active alerts, so that the first advert does not have to wait for them. Blocks: seconds for 100,000.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn load_alerts(&self) -> Result<()> {
        Ok(self
            .store
            .read(|connection| self.percolator.catch_up(connection))?)
    }

    /// Returns the compiled alerts.
    pub fn percolator(&self) -> &Arc<Percolator> {
        &self.percolator
    }

    /// Returns the layers of the data folder, which alerts use.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Returns the numbers of active alerts as of the last load.
    pub fn active_alerts(&self) -> ActiveAlertCounts {
        self.percolator.active()
    }

    /// Returns the clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Sets the geocoder, which gives the position of an address.
    pub fn with_addresses(mut self, addresses: LiveGeocoder) -> Self {
        self.addresses = Some(addresses);
        self
    }

    /// Returns the contours and addresses in use now. Reads the contours on first use, which takes seconds.
    pub(crate) fn places(&self) -> Result<PlaceTables> {
        Ok(PlaceTables {
            iris: self.contours.get()?,
            geocoder: self.addresses.as_ref().map(LiveGeocoder::geocoder),
        })
    }

    /// Sets the file of contours that give the IRIS and commune of a position.
    pub fn with_contours(mut self, path: Option<PathBuf>) -> Self {
        self.contours = Arc::new(Contours {
            path,
            read: Mutex::default(),
        });
        self
    }
}
