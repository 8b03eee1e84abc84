//! The state that all requests share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::addresses::ReceiverChecker;
use super::backend::OpenDataBackend;
use super::body_budget::BodyBudget;
use super::client_address::Networks;
use super::console_page::ConsolePage;
use super::cors::AllowedOrigins;
use super::pace::Pace;
use super::readiness::Readiness;
use super::refused_acts::RefusedActs;
use super::refused_keys::RefusedKeys;
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
use toise_listings::search::projection::Projection;
use toise_market::Market;
use toise_sql::service::SqlService;
use toise_store::Store;
use toise_telemetry::Metrics;
use toise_tiles::Tiles;

/// State shared by all requests. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The open-data tables.
    pub answers: Arc<dyn OpenDataBackend>,
    /// Accounts, keys, ledger.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Usage of keys while the process runs.
    pub meters: KeyMeters,
    /// Default limits of new keys.
    pub limits: KeyLimits,
    /// The price list.
    pub prices: Arc<Prices>,
    /// Writes call records.
    pub ledger: Ledger,
    /// Adverts and properties: the store, and the table derived from it.
    pub properties: Arc<Projection>,
    /// The alerts of accounts.
    pub alerts: AlertRegistry,
    /// Checks whether receivers may be called.
    pub addresses: ReceiverChecker,
    /// Collects listings by URL.
    pub collector: Collector,
    /// Permits of calls that ingest adverts.
    pub ingesting: Arc<Semaphore>,
    /// Repeatable calls that are running.
    pub holds: CallHolds,
    /// Texts that were no keys, by address.
    pub refused_keys: RefusedKeys,
    /// What keys tried on operators' endpoints and may not do.
    pub refusals: RefusedActs,
    /// How fast an address is answered without a valid key.
    pub pace: Pace,
    /// The memory of answers that are not sent yet.
    pub answer_memory: BodyBudget,
    /// Verifies keys.
    pub verifier: KeyVerifier,
    /// Signs and verifies cursors.
    pub cursors: CursorKey,
    /// The model that values homes, once one is trained.
    pub models: LiveModel,
    /// Market indicators.
    pub market: Market,
    /// Addresses to positions and back.
    pub geocoding: GeocodingService,
    /// Files of addresses that are geocoded in the background.
    pub projects: Projects,
    /// Calls that send files of addresses: one of its units is a call.
    pub geocoding_files: BodyBudget,
    /// Sessions of the console.
    pub sessions: Sessions,
    /// How the console's page is served.
    pub console: Arc<ConsolePage>,
    /// Vector tiles.
    pub tiles: Tiles,
    /// Whether the source of an advert is an object ([`toise_contract::listings::vendor`]).
    pub vendor_source: bool,
    /// When keys were last used.
    pub key_uses: KeyUses,
    /// Memory of request bodies.
    pub bodies: BodyBudget,
    /// Origins whose pages may call.
    pub origins: Arc<AllowedOrigins>,
    /// Proxies that are believed about the address of a client.
    pub proxies: Arc<Networks>,
    /// The pool on which queries run.
    pub pool: QueryPool,
    /// Runs SQL queries.
    pub sql: SqlService,
    /// Whether the service takes requests.
    pub readiness: Readiness,
    /// The service's metrics.
    pub metrics: Metrics,
    /// What is shown, if this is a replica.
    pub replica: Option<ReplicaStatus>,
    /// Maximum duration of a request, including its body.
    pub request_timeout: Duration,
}
