//! The service over HTTP: one list of endpoints, one pipeline before them, one mapping of errors.
//!
//! [`server`] accepts connections and hands each request to the warp filters of [`filters`], whose groups all end in
//! [`pipeline`]: it finds the [`endpoint::Endpoint`], checks size, key, scope, rate and quota, calls the handler, writes
//! the ledger and finishes the answer. Within a group paths are looked up in a tree ([`router`]) rather than tried one
//! filter after the other: the 405 answer must list the methods of a path, and policy tests walk every endpoint.

pub mod addresses;
pub mod auth;
pub mod body;
pub mod call;
mod connection;
pub mod endpoint;
pub mod error;
mod files;
pub mod filters;
pub mod idempotency;
pub mod openapi;
pub mod pipeline;
pub mod resources;
pub mod response;
pub mod router;
pub mod server;
pub mod settings;
pub mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use toise_accounts::ledger::Ledger;
use toise_accounts::limits::KeyLimits;
use toise_accounts::meter::KeyMeters;
use toise_accounts::prices::Prices;
use toise_accounts::verify::KeyVerifier;
use toise_alerts::AlertRegistry;
use toise_base::clock::Clock;
use toise_base::supervise::Supervisor;
use toise_collect::Collector;
use toise_contract::cursor::CursorKey;
use toise_engine::pool::QueryPool;
use toise_estimate::live::LiveModel;
use toise_listings::search::projection::Projection;
use toise_store::Store;
use toise_telemetry::Metrics;

use addresses::ReceiverChecker;
use idempotency::IdempotencyClaims;
use resources::opendata::OpenDataBackend;

/// What every request shares. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The open-data tables.
    pub answers: Arc<dyn OpenDataBackend>,
    /// Accounts, keys, ledger.
    pub store: Store,
    /// Tells the time.
    pub clock: Clock,
    /// Counts what keys use.
    pub meters: KeyMeters,
    /// What new keys may use unless they say.
    pub limits: KeyLimits,
    /// What calls cost.
    pub prices: Arc<Prices>,
    /// Writes what calls cost.
    pub ledger: Ledger,
    /// Adverts and properties: the store, and the table kept up with it.
    pub properties: Arc<Projection>,
    /// The alerts of accounts.
    pub alerts: AlertRegistry,
    /// Checks where their matches are to be posted.
    pub addresses: ReceiverChecker,
    /// Gets listings by their addresses.
    pub collector: Collector,
    /// Turns of the calls that bring adverts.
    pub ingesting: Arc<Semaphore>,
    /// Calls under way that may be repeated.
    pub claims: IdempotencyClaims,
    /// Checks keys.
    pub verifier: KeyVerifier,
    /// Seals and opens cursors.
    pub cursors: CursorKey,
    /// The model that values homes, once there is one.
    pub models: LiveModel,
    /// Where questions compute.
    pub pool: QueryPool,
    /// Whether the service takes requests.
    pub readiness: Readiness,
    /// What the service counts.
    pub metrics: Metrics,
    /// Longest a request may take, its body included.
    pub request_timeout: Duration,
}

/// Whether the service takes requests; `/healthz` tells. Starting by default. A service of which a worker died is not
/// ready, whatever else it is. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    phase: Arc<AtomicU8>,
    supervisor: Supervisor,
}

const READY: u8 = 1;
const DRAINING: u8 = 2;

impl Readiness {
    /// Of a service with these workers.
    pub fn of(supervisor: &Supervisor) -> Self {
        Self {
            phase: Arc::default(),
            supervisor: supervisor.clone(),
        }
    }

    /// The workers it depends on.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// The service now takes requests.
    pub fn set_ready(&self) {
        self.phase.store(READY, Ordering::Release);
        self.supervisor.set_ready();
    }

    /// The service finishes what it has and takes nothing new.
    pub fn set_draining(&self) {
        self.phase.store(DRAINING, Ordering::Release);
    }

    /// Neither starting nor draining, and all workers alive.
    pub fn is_ready(&self) -> bool {
        self.phase.load(Ordering::Acquire) == READY && self.supervisor.is_well()
    }
}
