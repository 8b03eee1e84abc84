//! The state that all calls share, in groups by subject.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::address_rates::AddressRates;
use super::console_page::ConsolePage;
use super::isochrones::Isochrones;
use super::open_data::OpenDataBackend;
use super::readiness::Readiness;
use super::receivers::ReceiverChecker;
use super::refused_acts::RefusedActs;
use super::replica::ReplicaStatus;
use super::sessions::Sessions;
use toise_accounts::holds::CallHolds;
use toise_accounts::ledger::Ledger;
use toise_accounts::limits::KeyLimits;
use toise_accounts::meter::KeyMeters;
use toise_accounts::prices::Prices;
use toise_accounts::uses::KeyUses;
use toise_accounts::verify::KeyVerifier;
use toise_alerts::AlertRegistry;
use toise_base::clock::Clock;
use toise_collect::Collector;
use toise_contract::cursor::CursorKey;
use toise_engine::pool::QueryPool;
use toise_estimate::live::LiveModel;
use toise_geocode::projects::Projects;
use toise_geocode::service::GeocodingService;
use toise_layers::Layers;
use toise_listings::search::projection::Projection;
use toise_market::Market;
use toise_market::rents::Rents;
use toise_portfolios::Portfolios;
use toise_report::Reporter;
use toise_sql::service::SqlService;
use toise_store::Store;
use toise_telemetry::Metrics;
use toise_tiles::Tiles;
use toise_transport::body_budget::BodyBudget;
use toise_transport::client_address::Networks;
use toise_transport::cors::AllowedOrigins;

/// State shared by all calls. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The data that the service answers from.
    pub data: Data,
    /// Control of who may call.
    pub access: AccessControl,
    /// Prices and ledger.
    pub billing: Billing,
    /// Limits on concurrent work and memory.
    pub capacity: Capacity,
    /// Settings for browsers.
    pub web: Web,
    /// Accounts, keys, ledger, adverts, alerts.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Signs and verifies cursors.
    pub cursors: CursorKey,
    /// Whether the service accepts requests.
    pub readiness: Readiness,
    /// The service's metrics.
    pub metrics: Metrics,
    /// The snapshot that is served, if this is a replica.
    pub replica: Option<ReplicaStatus>,
    /// Lists what is missing, old or wrong in the data folder.
    pub doctor: Doctor,
}

/// Lists what is missing, old or wrong in the data folder, as JSON. Reads files, so it runs on a blocking thread.
pub type Doctor = Arc<dyn Fn() -> Value + Send + Sync>;

/// The data that the service answers from.
#[derive(Clone)]
pub struct Data {
    /// The open-data tables.
    pub open_data: Arc<dyn OpenDataBackend>,
    /// Adverts and properties: the store, and the table derived from it.
    pub properties: Arc<Projection>,
    /// The alerts of accounts.
    pub alerts: AlertRegistry,
    /// Checks whether receivers of webhooks may be called, and calls them for tests.
    pub receivers: ReceiverChecker,
    /// Collects listings by URL.
    pub collector: Collector,
    /// The model that values homes, once one is trained.
    pub models: LiveModel,
    /// Market indicators.
    pub market: Market,
    /// Rents of homes.
    pub rents: Rents,
    /// Geocoding and reverse geocoding.
    pub geocoding: GeocodingService,
    /// Files of addresses that are geocoded in the background.
    pub projects: Projects,
    /// Homes that accounts store under names.
    pub portfolios: Portfolios,
    /// Writes the reports of homes.
    pub reports: Reporter,
    /// Areas within reach of a position.
    pub isochrones: Isochrones,
    /// Layers.
    pub layers: Layers,
    /// Vector tiles.
    pub tiles: Tiles,
    /// Runs SQL queries.
    pub sql: SqlService,
}

/// Control of who may call.
#[derive(Clone)]
pub struct AccessControl {
    /// Verifies keys.
    pub verifier: KeyVerifier,
    /// Usage of keys while the process runs.
    pub meters: KeyMeters,
    /// Default limits of new keys.
    pub limits: KeyLimits,
    /// Calls without a valid key, by client address.
    pub addresses: AddressRates,
    /// When keys were last used.
    pub key_uses: KeyUses,
    /// Refused attempts of keys on operators' endpoints.
    pub refusals: RefusedActs,
    /// Sessions of the console.
    pub sessions: Sessions,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub proxies: Arc<Networks>,
}

/// Prices, the ledger and the running calls that will be billed.
#[derive(Clone)]
pub struct Billing {
    /// The price list.
    pub prices: Arc<Prices>,
    /// Writes call records.
    pub ledger: Ledger,
    /// Calls under an idempotency key that are running.
    pub holds: CallHolds,
}

/// Limits on concurrent work and memory.
#[derive(Clone)]
pub struct Capacity {
    /// The pool on which queries run.
    pub pool: QueryPool,
    /// Memory of request and response bodies.
    pub bodies: BodyBudget,
    /// Permits of calls that ingest adverts.
    pub ingesting: Arc<Semaphore>,
    /// Permits of calls that post a test delivery.
    pub receiver_tests: Arc<Semaphore>,
    /// Budget of concurrent calls that send files of addresses; one unit is one call.
    pub geocoding_files: BodyBudget,
    /// Maximum duration of a request, including its body.
    pub request_timeout: Duration,
}

/// Settings for browsers.
#[derive(Clone)]
pub struct Web {
    /// How the console's page is served.
    pub console: Arc<ConsolePage>,
    /// Origins whose pages may call.
    pub origins: Arc<AllowedOrigins>,
}
