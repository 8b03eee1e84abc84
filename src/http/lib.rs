//! The service over HTTP: one table of routes, one pipeline before them, one mapping of errors.
//!
//! [`server`] accepts connections and hands each request to [`pipeline`], which finds its [`routes::Route`], checks
//! size, key, scope, rate and quota, runs the endpoint, writes the ledger and finishes the answer. Routing is a table
//! rather than a chain of warp filters: the 405 answer must list the methods of a path, policy tests walk every route,
//! and warp's rejections would answer in plain text.

pub mod admin;
pub mod alerts;
pub mod answer;
pub mod auth;
pub mod body;
mod collect;
mod connection;
mod consumption;
pub mod docs;
pub mod error;
pub mod estimate;
pub mod idempotency;
pub mod listings;
pub mod metrics;
pub mod openapi;
pub mod opendata;
pub mod pipeline;
pub mod routes;
pub mod samples;
mod search;
pub mod server;
pub mod settings;
pub mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use toise_accounts::ledger::Ledger;
use toise_accounts::limits::Limits;
use toise_accounts::meter::Meters;
use toise_accounts::prices::Prices;
use toise_accounts::verify::Verifier;
use toise_alerts::Alerts;
use toise_base::clock::Clock;
use toise_collect::Collector;
use toise_contract::cursor::CursorKey;
use toise_engine::pool::Pool;
use toise_estimate::live::LiveModel;
use toise_listings::search::projection::Projection;
use toise_store::Store;
use toise_telemetry::Metrics;

use alerts::addresses::Addresses;
use idempotency::Claims;
use opendata::Answers;

/// What every request shares. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The open-data tables.
    pub answers: Arc<dyn Answers>,
    /// Accounts, keys, ledger.
    pub store: Store,
    /// Tells the time.
    pub clock: Clock,
    /// Counts what keys use.
    pub meters: Meters,
    /// What new keys may use unless they say.
    pub limits: Limits,
    /// What calls cost.
    pub prices: Arc<Prices>,
    /// Writes what calls cost.
    pub ledger: Ledger,
    /// Adverts and properties: the store, and the table kept up with it.
    pub properties: Arc<Projection>,
    /// The alerts of accounts.
    pub alerts: Alerts,
    /// Checks where their matches are to be posted.
    pub addresses: Addresses,
    /// Gets listings by their addresses.
    pub collector: Collector,
    /// Turns of the calls that bring adverts.
    pub ingesting: Arc<Semaphore>,
    /// Calls under way that may be repeated.
    pub claims: Claims,
    /// Checks keys.
    pub verifier: Verifier,
    /// Seals and opens cursors.
    pub cursors: CursorKey,
    /// The model that values homes, once there is one.
    pub models: LiveModel,
    /// Where questions compute.
    pub pool: Pool,
    /// Whether the service takes requests.
    pub readiness: Readiness,
    /// What the service counts.
    pub metrics: Metrics,
    /// Longest a request may take, its body included.
    pub request_timeout: Duration,
}

/// Whether the service takes requests; `/healthz` tells. Starting by default. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicU8>);

const READY: u8 = 1;
const DRAINING: u8 = 2;

impl Readiness {
    /// The service now takes requests.
    pub fn set_ready(&self) {
        self.0.store(READY, Ordering::Release);
    }

    /// The service finishes what it has and takes nothing new.
    pub fn set_draining(&self) {
        self.0.store(DRAINING, Ordering::Release);
    }

    /// Neither starting nor draining.
    pub fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire) == READY
    }
}
