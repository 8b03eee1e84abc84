//! Percolation: new and changed listings are tested against every active alert, in the transaction that writes them.
//!
//! A [`Percolator`] holds the active alerts, compiled like searches, in one [`index::AlertIndex`] per table. It follows
//! the change sequence of the alerts: [`Percolator::catch_up`] loads changes before a transaction and
//! [`Percolator::begin`] again inside it. An alert therefore takes effect from its commit, whichever process created
//! it. Ingestion then passes what it wrote ([`TransactionPercolator::properties`], [`TransactionPercolator::adverts`])
//! in order. First matches and later events go to `matches` and the [`super::outbox`] in the same transaction.
//!
//! Open data is not written in transactions of the store. [`super::open_data`] tests it after its publication, with
//! [`Percolator::matches`].

mod clauses;
pub mod index;
mod keys;
mod load;
mod transaction;
mod withheld;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use uuid::Uuid;

use super::alert::{AlertSubject, last_change};
use index::{AlertIndex, AlertMatch};
use toise_contract::filter::LayerSource;
use toise_contract::listings::filters::ListingKind;
use toise_engine::batch::DecodedBatch;
use toise_lake::schema::TableSchema;
use toise_opendata::Dataset;
use toise_store::{self as store, document};
pub use transaction::{
    AdvertTrigger, AdvertWritten, FormerRows, PercolatedRows, PropertyTrigger, PropertyWritten,
    TransactionPercolator,
};
pub use withheld::FormerRecord;

/// The reason why the writes of a transaction could not be tested against the alerts.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The rows cannot be decoded, or a search cannot be evaluated on them.
    #[error("store: {0}")]
    Engine(#[from] toise_engine::Error),
    /// The record that a notification contains cannot be stored.
    #[error("store: {0}")]
    Document(#[from] document::Error),
    /// Previous records cannot be converted to rows.
    #[error("store: {0}")]
    FormerRows(#[from] arrow::error::ArrowError),
    /// An advert or its property has no identifier.
    #[error("store: an advert has no identifier")]
    NoAdvertId,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Result of a percolation.
pub type Result<T> = std::result::Result<T, Error>;

/// The active alerts of a store, compiled. One per process and store is enough; every call blocks its thread.
#[derive(Debug)]
pub struct Percolator {
    state: Mutex<CompiledAlerts>,
    published: PublishedCounts,
}

/// Numbers of active alerts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActiveAlertCounts {
    /// Compiled alerts on properties.
    pub on_properties: usize,
    /// Compiled alerts on adverts.
    pub on_adverts: usize,
    /// Compiled alerts on recorded sales.
    pub on_sales: usize,
    /// Compiled alerts on energy diagnostics.
    pub on_diagnostics: usize,
    /// Alerts of any kind that this version cannot parse: they match nothing until they are changed.
    pub unreadable: usize,
}

/// Numbers that can be read without waiting for a percolation in progress.
#[derive(Debug, Default)]
struct PublishedCounts {
    change: AtomicI64,
    active: Mutex<ActiveAlertCounts>,
    /// Whether an alert uses a layer.
    are_on_layers: AtomicBool,
}

/// The active alerts as of a change.
#[derive(Debug)]
struct CompiledAlerts {
    /// Sequence of the last change applied; 0 if none.
    change: i64,
    properties: AlertIndex,
    adverts: AlertIndex,
    sales: AlertIndex,
    diagnostics: AlertIndex,
    /// The layers that alerts may use.
    layers: Option<Arc<dyn LayerSource>>,
    /// Active alerts that this version cannot parse: they match nothing until they are changed.
    unreadable: BTreeSet<i64>,
}

impl CompiledAlerts {
    fn new(
        properties: &'static TableSchema,
        adverts: &'static TableSchema,
        layers: Option<Arc<dyn LayerSource>>,
    ) -> Self {
        let index = |schema| AlertIndex::new(schema, layers.clone());
        Self {
            change: 0,
            properties: index(properties),
            adverts: index(adverts),
            sales: index(Dataset::Dvf.schema()),
            diagnostics: index(Dataset::Dpe.schema()),
            layers,
            unreadable: BTreeSet::new(),
        }
    }

    /// Returns the index of the alerts on these records.
    fn index(&mut self, subject: AlertSubject) -> &mut AlertIndex {
        match subject {
            AlertSubject::Listings(ListingKind::Property) => &mut self.properties,
            AlertSubject::Listings(ListingKind::Advert) => &mut self.adverts,
            AlertSubject::OpenData(Dataset::Dvf) => &mut self.sales,
            AlertSubject::OpenData(Dataset::Dpe) => &mut self.diagnostics,
        }
    }

    /// Removes all alerts and keeps the tables.
    fn forget(&mut self) {
        let (properties, adverts) = (self.properties.schema(), self.adverts.schema());
        *self = Self::new(properties, adverts, self.layers.take());
    }

    fn indexes(&self) -> [&AlertIndex; 4] {
        [
            &self.properties,
            &self.adverts,
            &self.sales,
            &self.diagnostics,
        ]
    }

    /// Makes the alerts on listings use the current versions of their layers.
    fn follow_layers(&mut self) {
        self.properties.follow_layers();
        self.adverts.follow_layers();
    }
}

impl Percolator {
    /// Creates a percolator without alerts; they are loaded on first use.
    pub fn new(properties: &'static TableSchema, adverts: &'static TableSchema) -> Self {
        Self {
            state: Mutex::new(CompiledAlerts::new(properties, adverts, None)),
            published: PublishedCounts::default(),
        }
    }

    /// Sets the layers that alerts may use. Without this, alerts on layers match nothing.
    pub fn with_layers(self, layers: Arc<dyn LayerSource>) -> Self {
        {
            let mut state = self.state();
            let (properties, adverts) = (state.properties.schema(), state.adverts.schema());
            *state = CompiledAlerts::new(properties, adverts, Some(layers));
        }
        self
    }

    /// Applies changes of alerts. Costs one indexed lookup if there are none. Loading 100,000 alerts takes seconds, so
    /// this is called before a transaction rather than inside it. For the same reason, replaced layers that alerts use
    /// are read here too.
    pub fn catch_up(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.read_layers();
        if last_change(connection)? <= self.published.change.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut state = self.state();
        let outcome = load::catch_up(&mut state, connection);
        self.publish_counts(&state);
        outcome
    }

    /// Returns the alerts on a table of open data that match rows of it, sorted by row and alert. Holds the lock on the
    /// alerts during the call, so ingestion waits for about a millisecond.
    ///
    /// # Errors
    /// The batch has more than [`index::ROWS_MAX`] rows or is of another table, or an expression cannot be evaluated.
    pub fn matches(&self, dataset: Dataset, batch: &DecodedBatch) -> Result<Vec<AlertMatch>> {
        let mut state = self.state();
        let index = state.index(dataset.into());
        index.follow_layers();
        Ok(index.matches(batch)?)
    }

    /// Reads the layers that alerts use into memory, without the lock on the alerts: a large one takes seconds.
    fn read_layers(&self) {
        if !self.published.are_on_layers.load(Ordering::Acquire) {
            return;
        }
        let (names, layers) = {
            let state = self.state();
            let indexes = state.indexes().into_iter();
            let names = indexes.flat_map(AlertIndex::layer_names).map(str::to_owned);
            (names.collect::<BTreeSet<_>>(), state.layers.clone())
        };
        for name in names {
            // A layer that is missing or cannot be read is reported where it is used.
            drop(layers.as_ref().map(|layers| layers.shape(&name)));
        }
    }

    /// Returns the alerts as seen inside a transaction, or only those of `of_account` if it is given; `None` if no
    /// alert is active. Holds a lock until the returned value is dropped, so no other thread percolates.
    pub fn begin(
        &self,
        connection: &Connection,
        of_account: Option<Uuid>,
    ) -> rusqlite::Result<Option<TransactionPercolator<'_>>> {
        let mut state = self.state();
        if last_change(connection)? < state.change {
            // The store has been reset to an earlier state. This check could be wrong outside a transaction.
            state.forget();
        }
        let outcome = load::catch_up(&mut state, connection);
        self.publish_counts(&state);
        outcome?;
        state.follow_layers();
        let is_idle = state.properties.is_empty() && state.adverts.is_empty();
        let reached = match of_account {
            Some(account) if !is_idle => Some(load::active_alerts(connection, account)?),
            _ => None,
        };
        let has_withheld = !is_idle && reached.is_none() && withheld::is_any(connection)?;
        Ok((!is_idle).then(|| TransactionPercolator::new(state, reached, has_withheld)))
    }

    /// Removes all alerts, so that they are loaded again. Must be called if a transaction fails after [`Self::begin`],
    /// because changes seen in it may not have been committed.
    pub fn forget(&self) {
        let mut state = self.state();
        state.forget();
        self.publish_counts(&state);
    }

    /// Returns the numbers of active alerts as of the last call that applied changes.
    pub fn active(&self) -> ActiveAlertCounts {
        let active = &self.published.active;
        *active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, CompiledAlerts> {
        // A standard library lock, because only this lock needs poisoning: the next holder must react to a panic.
        self.state
            .lock()
            .unwrap_or_else(|poisoned: PoisonError<_>| {
                // The thread that panicked may have left an inconsistent state, so everything is loaded again.
                let mut state = poisoned.into_inner();
                state.forget();
                self.state.clear_poison();
                state
            })
    }

    fn publish_counts(&self, state: &CompiledAlerts) {
        let published = &self.published;
        let mut indexes = state.indexes().into_iter();
        let are_on_layers = indexes.any(|index| index.layer_names().next().is_some());
        let flag = &published.are_on_layers;
        flag.store(are_on_layers, Ordering::Release);
        published.change.store(state.change, Ordering::Release);
        let active = &published.active;
        *active.lock().unwrap_or_else(PoisonError::into_inner) = ActiveAlertCounts {
            on_properties: state.properties.len(),
            on_adverts: state.adverts.len(),
            on_sales: state.sales.len(),
            on_diagnostics: state.diagnostics.len(),
            unreadable: state.unreadable.len(),
        };
    }
}
