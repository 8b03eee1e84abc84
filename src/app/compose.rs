//! Composes the service that [`toise_http`] runs, from a data folder and a configuration.
//!
//! This is the only module that depends on every crate; no crate depends on the whole configuration.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::Failure;
use crate::config::Config;
use crate::doctor;
use crate::readiness::register_worker_gauges;
use crate::sql_process::{COMMAND, Setup};
use toise_accounts::audit;
use toise_accounts::holds::CallHolds;
use toise_accounts::ledger::Ledger;
use toise_accounts::meter::KeyMeters;
use toise_accounts::prices::Prices;
use toise_accounts::uses::KeyUses;
use toise_accounts::verify::KeyVerifier;
use toise_alerts::AlertRegistry;
use toise_alerts::dispatch::{self, test_delivery};
use toise_alerts::retention::Retention;
use toise_base::clock::Clock;
use toise_base::disk::free_bytes;
use toise_base::supervise::Supervisor;
use toise_collect::Collector;
use toise_contract::cursor::CursorKey;
use toise_engine::pool::QueryPool;
use toise_estimate::live::LiveModel;
#[cfg(feature = "cluster")]
use toise_estimate::valuer::Adjustments;
use toise_geocode::projects::{ACCOUNT_BYTES_MAX, Projects};
use toise_geocode::service::GeocodingService;
use toise_geocode::upstream::{BreakerState, Upstream};
use toise_http::resources::admin::adverts::INGESTING_MAX;
use toise_http::resources::geocoding_files::FILES_AT_ONCE_MAX;
use toise_layers::{Layers, functions as layer_functions};
use toise_listings::Listings;
use toise_listings::search::projection::Projection;
use toise_market::Market;
use toise_market::rents::Rents;
use toise_market::table::{self, MarketTable};
use toise_net::egress::EgressGuard;
use toise_opendata::{OpenData, address_functions};
use toise_portfolios::Portfolios;
use toise_report::Reporter;
use toise_service::address_rates::AddressRates;
use toise_service::console_page::ConsolePage;
use toise_service::isochrones::Isochrones;
use toise_service::open_data::OpenDataBackend;
use toise_service::receivers::ReceiverChecker;
use toise_service::refused_acts::RefusedActs;
use toise_service::sessions::Sessions;
use toise_service::{AccessControl, App, Billing, Capacity, Data, Readiness, Web};
use toise_sql::audit::AuditLog;
use toise_sql::process::Launch;
use toise_sql::service::{Backend, SqlService};
use toise_sql::tables::SqlTables;
use toise_store::Store;
use toise_store::byte_locks::ByteLocks;
use toise_telemetry::{Counter, Gauge, Metric, Metrics, logs};
use toise_tiles::Tiles;
use toise_transport::body_budget::BodyBudget;

/// Name of the secret that signs cursors.
const CURSOR_SECRET: &str = "cursor";

const READY: Metric<Gauge> = Metric::gauge(
    "toise_ready",
    "1 when requests are accepted, 0 while starting or draining.",
);
const LOG_LINES_LEFT_OUT: Metric<Counter> = Metric::counter(
    "toise_log_lines_left_out_total",
    "Log lines dropped because they could not be written or were too many.",
);
const QUERY_POOL_JOBS: Metric<Gauge> = Metric::gauge(
    "toise_query_pool_jobs",
    "Queries running or waiting in the query pool.",
);
const SQL_RUNNING: Metric<Gauge> = Metric::gauge(
    "toise_sql_queries_running",
    "SQL queries running or waiting.",
);
const SQL_QUERIES: Metric<Counter> = Metric::counter(
    "toise_sql_queries_total",
    "SQL queries that ended, by protocol and outcome.",
);
const SQL_ROWS: Metric<Counter> =
    Metric::counter("toise_sql_rows_total", "Rows returned by SQL queries.");
const SQL_BYTES: Metric<Counter> =
    Metric::counter("toise_sql_bytes_total", "Bytes returned by SQL queries.");
const SQL_FOR_WORKERS: Metric<Counter> = Metric::counter(
    "toise_sql_queries_for_workers_total",
    "SQL queries large enough for workers: shared among them, or answered by the server itself.",
);
const STORE_BYTES: Metric<Gauge> = Metric::gauge(
    "toise_store_bytes",
    "Bytes of the store, its write-ahead log included.",
);
const DISK_FREE_BYTES: Metric<Gauge> = Metric::gauge(
    "toise_disk_free_bytes",
    "Free bytes on the disk of the data folder.",
);
const BACKUP_AGE: Metric<Gauge> = Metric::gauge(
    "toise_backup_age_seconds",
    "Seconds since the last backup that succeeded; absent without one.",
);
const ACTIVE_ALERTS: Metric<Gauge> = Metric::gauge(
    "toise_active_alerts",
    "Active alerts, by the table that they search.",
);
const PAIRS_WAITING: Metric<Gauge> = Metric::gauge(
    "toise_candidate_pairs_waiting",
    "Pairs of properties that may be the same home and wait for a person to decide.",
);
const UNREADABLE_ALERTS: Metric<Gauge> = Metric::gauge(
    "toise_unreadable_alerts",
    "Active alerts that this version cannot read. They match nothing until they are changed.",
);
const UPSTREAM_BREAKER: Metric<Gauge> = Metric::gauge(
    "toise_geocoding_upstream_breaker",
    "State of the circuit breaker of the upstream geocoding service: 1 for the current state, 0 for the others.",
);
const UPSTREAM_BREAKER_OPENED: Metric<Counter> = Metric::counter(
    "toise_geocoding_upstream_breaker_opened_total",
    "Number of times that the circuit breaker of the upstream geocoding service opened.",
);
const UPSTREAM_QUESTIONS: Metric<Counter> = Metric::counter(
    "toise_geocoding_upstream_questions_total",
    "Requests to the upstream geocoding service, by outcome.",
);

/// The data that a service serves.
pub struct Sources {
    /// The open-data tables.
    pub open_data: Arc<dyn OpenDataBackend>,
    /// Adverts and properties.
    pub properties: Arc<Projection>,
    /// The model that values homes.
    pub models: LiveModel,
    /// The addresses.
    pub geocoding: GeocodingService,
    /// The executable of this program, which runs the SQL queries of keys in separate processes.
    pub program: PathBuf,
}

/// Builds the service over a store and tables. It does not listen yet, and it is ready only while the supervisor's
/// workers live.
pub fn app(
    supervisor: &Supervisor,
    store: &Store,
    sources: Sources,
    clock: &Clock,
    config: &Config,
) -> Result<App, Failure> {
    let Sources {
        open_data,
        properties,
        models,
        geocoding,
        program,
    } = sources;
    let pool = QueryPool::new(config.engine.threads(), config.engine.query_queue_max)?;
    let readiness = Readiness::of(supervisor);
    let metrics = Metrics::new()?;
    let market = market(&properties, &models, clock);
    let rents = rents(&properties, store, &models, clock);
    let indicators = MarketTable::new(market.clone(), config.sql.threads())?;
    let layers = properties.listings().layers().clone();
    let state = worker_state(&models, &geocoding, &layers, clock, config)?;
    let sql = queries(
        store,
        &properties,
        &models,
        &geocoding,
        (indicators, layers.clone(), state, program),
        clock,
        config,
    )?;
    register_worker_gauges(&metrics, supervisor);
    register_service_gauges(&metrics, readiness.clone(), pool.clone(), sql.clone());
    let upstream = Upstream::new(&config.geocoding, store.clone(), clock.clone())?;
    let receivers = ReceiverChecker::new(
        EgressGuard::new(config.webhooks.allowed()).supervised_by(supervisor),
    )?;
    let data = Data {
        collector: Collector::new(
            supervisor,
            store.clone(),
            properties.listings().clone(),
            &config.collect,
        )?,
        projects: Projects::new(store.folder(), store.clone(), clock.clone())
            .within(config.server.disk_free_min_mib << 20, ACCOUNT_BYTES_MAX),
        portfolios: Portfolios::new(store.folder(), store.clone(), clock.clone()),
        alerts: AlertRegistry::new(store.clone(), clock.clone(), config.alerts),
        tiles: Tiles::new(properties.shared_engine(), clock.clone()),
        reports: Reporter::new(
            store.folder(),
            OpenData::new(properties.shared_engine()),
            market.clone(),
            models.clone(),
            layers.clone(),
        ),
        isochrones: Isochrones::new(&config.geocoding.isochrones)?,
        layers,
        geocoding: with_upstream(geocoding, upstream, &metrics),
        open_data,
        properties,
        receivers,
        models,
        market,
        rents,
        sql,
    };
    let access = AccessControl {
        verifier: KeyVerifier::new(store.clone(), clock.clone())?,
        meters: KeyMeters::new(clock.clone()),
        limits: config.limits,
        addresses: AddressRates::new(config.server.unkeyed_rate_per_s, clock.clone()),
        key_uses: KeyUses::default(),
        refusals: RefusedActs::default(),
        sessions: Sessions::new(clock.clone()),
        proxies: Arc::new(config.server.proxies()),
    };
    let billing = Billing {
        prices: Arc::new(Prices::from(&config.prices)),
        ledger: Ledger::new(store, clock),
        holds: CallHolds::new(ByteLocks::open(store.folder())?),
    };
    let capacity = Capacity {
        pool,
        bodies: BodyBudget::new(config.server.bodies_mib << 20),
        ingesting: Arc::new(Semaphore::new(INGESTING_MAX)),
        receiver_tests: Arc::new(Semaphore::new(test_delivery::AT_ONCE_MAX)),
        geocoding_files: BodyBudget::new(FILES_AT_ONCE_MAX),
        request_timeout: config.server.request_timeout(),
    };
    let web = Web {
        console: Arc::new(ConsolePage::new(&config.console, &config.server)),
        origins: Arc::new(config.server.origins()),
    };
    Ok(App {
        data,
        access,
        billing,
        capacity,
        web,
        store: store.clone(),
        clock: clock.clone(),
        cursors: CursorKey::new(store.secret(CURSOR_SECRET)?),
        readiness,
        metrics,
        replica: None,
        doctor: doctor::of_server(store, clock, config),
    })
}

/// Registers the gauges of readiness, log lines and queries.
fn register_service_gauges(
    metrics: &Metrics,
    readiness: Readiness,
    pool: QueryPool,
    queries: SqlService,
) {
    metrics.register_gauges(move |gauges| {
        gauges.set(READY, &[], f64::from(u8::from(readiness.is_ready())));
        gauges.set_count(LOG_LINES_LEFT_OUT, &[], logs::lines_left_out());
        let tallies = queries.tallies();
        gauges.set(SQL_RUNNING, &[], tallies.running() as f64);
        gauges.set_count(SQL_ROWS, &[], tallies.rows());
        gauges.set_count(SQL_BYTES, &[], tallies.bytes());
        for (outcome, count) in tallies.for_workers() {
            gauges.set_count(SQL_FOR_WORKERS, &[("outcome", outcome)], count);
        }
        for (protocol, outcome, count) in tallies.ended() {
            gauges.set_count(
                SQL_QUERIES,
                &[("protocol", protocol), ("outcome", outcome)],
                count,
            );
        }
        gauges.set(QUERY_POOL_JOBS, &[], pool.depth() as f64);
    });
}

/// Returns the market indicators over the tables of the projection's engine.
fn market(properties: &Arc<Projection>, models: &LiveModel, clock: &Clock) -> Market {
    let listings = Arc::clone(properties);
    Market::new(
        properties.shared_engine(),
        Arc::new(move || Some(listings.view())),
        models.clone(),
        clock.clone(),
    )
}

/// Returns the rents of homes over the tables of the projection's engine.
fn rents(properties: &Arc<Projection>, store: &Store, models: &LiveModel, clock: &Clock) -> Rents {
    let listings = Arc::clone(properties);
    Rents::new(
        properties.shared_engine(),
        Arc::new(move || Some(listings.view())),
        Some(store.clone()),
        models.clone(),
        clock.clone(),
    )
}

/// A function that returns the state that the functions of SQL depend on.
type State = Arc<dyn Fn() -> String + Send + Sync>;

/// Returns the service that runs SQL queries over the tables of the projection's engine.
fn queries(
    store: &Store,
    properties: &Projection,
    models: &LiveModel,
    geocoding: &GeocodingService,
    (indicators, layers, state, program): (MarketTable, Layers, State, PathBuf),
    clock: &Clock,
    config: &Config,
) -> Result<SqlService, Failure> {
    let (models, geocoding, now) = (models.clone(), geocoding.clone(), clock.clone());
    let asked = layers.clone();
    let functions = move || {
        let mut functions = address_functions::live_functions(geocoding.geocoder());
        functions.extend(layer_functions::scalar_functions(&asked));
        let today = now.now().date_naive();
        functions.extend(toise_estimate::functions::live_functions(&models, today));
        functions
    };
    let engine = properties.shared_engine();
    let stored = engine.schemas().map(|schema| schema.name);
    let setup = Setup {
        config: config.clone(),
        tables: stored.chain([table::NAME]).map(str::to_owned).collect(),
    };
    let arguments: [&OsStr; 3] = ["--data".as_ref(), store.folder().as_ref(), COMMAND.as_ref()];
    let launch = Launch {
        program,
        arguments: arguments.map(OsStr::to_owned).to_vec(),
        setup: serde_json::to_value(&setup)?,
    };
    let rows = indicators.clone();
    let backend = Backend {
        tables: SqlTables {
            engine,
            listings: Some(properties.listings().clone()),
            functions: Arc::new(functions),
            derived: vec![(table::NAME, Arc::new(indicators))],
            layers,
        },
        derived: Arc::new(move |_, part, interrupt| rows.part(part, interrupt)),
        state,
        launch,
    };
    let audit = AuditLog::new(store.clone(), clock.clone(), config.sql.audit_days);
    let memory_mib = config.engine.sql_memory_mib;
    Ok(SqlService::start(backend, &config.sql, memory_mib, audit)?)
}

/// Returns the state that the functions of SQL depend on, for the workers in the settings.
#[cfg(feature = "cluster")]
fn worker_state(
    models: &LiveModel,
    geocoding: &GeocodingService,
    layers: &Layers,
    clock: &Clock,
    config: &Config,
) -> Result<State, Failure> {
    use toise_cluster::coordinator::server::{FunctionState, ServerWorkers};
    use toise_cluster::identity::Identity;

    // Refuses wrong settings now rather than at the first query.
    if ServerWorkers::new(&config.cluster, || None)?.is_none() {
        return Ok(Arc::new(String::new));
    }
    let (models, geocoding, clock) = (models.clone(), geocoding.clone(), clock.clone());
    let layers = layers.clone();
    let has_adjustments = config.estimate.adjustments() == Adjustments::On;
    Ok(Arc::new(move || {
        let in_use = FunctionState {
            identity: Identity::in_use(
                models.named().as_deref(),
                geocoding.named().as_deref(),
                &layers,
            ),
            today: clock.now().date_naive(),
            has_adjustments,
        };
        // The state consists of dates, texts and flags, so serialisation cannot fail.
        serde_json::to_string(&in_use).unwrap_or_default()
    }))
}

/// Returns no state: the code of workers is not in this executable.
#[cfg(not(feature = "cluster"))]
fn worker_state(
    _: &LiveModel,
    _: &GeocodingService,
    _: &Layers,
    _: &Clock,
    config: &Config,
) -> Result<State, Failure> {
    match config.cluster.workers.as_str() {
        "" => Ok(Arc::new(String::new)),
        _ => Err("cluster.workers: this executable was built without the feature cluster".into()),
    }
}

/// Adds the upstream geocoding service, if one is set, and registers its state and its counts.
fn with_upstream(
    geocoding: GeocodingService,
    upstream: Option<Upstream>,
    metrics: &Metrics,
) -> GeocodingService {
    let Some(upstream) = upstream else {
        return geocoding;
    };
    let observed = upstream.clone();
    metrics.register_gauges(move |gauges| {
        let health = observed.health();
        for state in BreakerState::ALL {
            let is_current = f64::from(u8::from(state == health.breaker));
            gauges.set(UPSTREAM_BREAKER, &[("state", state.as_str())], is_current);
        }
        gauges.set_count(UPSTREAM_BREAKER_OPENED, &[], health.opened);
        for (outcome, count) in health.questions {
            gauges.set_count(UPSTREAM_QUESTIONS, &[("outcome", outcome)], count);
        }
    });
    geocoding.with_upstream(upstream)
}

/// The dependencies of webhook delivery.
pub(crate) fn deliveries(
    app: &App,
    config: &Config,
) -> Result<dispatch::DispatcherContext, Failure> {
    Ok(dispatch::DispatcherContext {
        store: app.store.clone(),
        clock: app.clock.clone(),
        poster: app.data.receivers.client().clone(),
        prices: Arc::clone(&app.billing.prices),
        retention: Retention::from(&config.webhooks),
        metrics: app.metrics.clone(),
    })
}

/// The adverts and properties of a store, with the thresholds of the configuration: all code that ingests adverts or
/// lists pairs of a data folder opens them with this function.
pub fn configured_listings(store: Store, clock: Clock, config: &Config) -> Listings {
    // Invalid thresholds were refused when the settings were read.
    let thresholds = config.dedup.thresholds().unwrap_or_default();
    Listings::new(store, clock).with_thresholds(thresholds)
}

/// Registers the gauges of the store and the tables.
pub(crate) fn register_gauges(app: &App, store: Store, open_data: OpenData) {
    let properties = Arc::clone(&app.data.properties);
    app.metrics.register_gauges(move |gauges| {
        gauges.set(STORE_BYTES, &[], store.bytes() as f64);
        if let Ok(free) = free_bytes(store.folder()) {
            gauges.set(DISK_FREE_BYTES, &[], free as f64);
        }
        if let Ok(Some(backup)) = audit::last_done(&store, "backup") {
            let age = Clock::system().now() - backup.at;
            gauges.set(BACKUP_AGE, &[], age.num_seconds().max(0) as f64);
        }
        // Alerts also change in other processes. If they cannot be read now, the numbers of the last load are reported.
        if let Err(error) = properties.listings().load_alerts() {
            tracing::warn!(%error, "cannot read the alerts for their metrics");
        }
        let active = properties.listings().active_alerts();
        for (about, count) in [
            ("properties", active.on_properties),
            ("adverts", active.on_adverts),
            ("dvf", active.on_sales),
            ("dpe", active.on_diagnostics),
        ] {
            gauges.set(ACTIVE_ALERTS, &[("about", about)], count as f64);
        }
        if let Ok(waiting) = properties.listings().likely_pair_count() {
            gauges.set(PAIRS_WAITING, &[], waiting as f64);
        }
        gauges.set(UNREADABLE_ALERTS, &[], active.unreadable as f64);
        open_data.engine().record_gauges(gauges);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_engine::{Budget, Engine};
    use toise_geocode::live::LiveGeocoder;
    use toise_http::resources::probes;
    use toise_lake::Lake;
    use toise_listings::columns::properties;
    use toise_listings::search::projection::Compaction;
    use toise_listings::search::texts::TextSearch;
    use toise_opendata::{dpe, dvf};
    use toise_synth::{SynthRequest, lake::generate_into_lake};

    #[tokio::test]
    async fn metrics_report_the_sizes_of_tables_store_and_process() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let request = SynthRequest {
            dataset: toise_opendata::Dataset::Dvf,
            items: 50,
            seed: 1,
            full_width: false,
        };
        generate_into_lake(data, request, toise_base::progress::Progress::silent()).unwrap();
        let tables = [dvf::schema(), dpe::schema(), properties()];
        let engine = Arc::new(Engine::open(data, &tables, Budget::default()).unwrap());
        let open_data = OpenData::new(Arc::clone(&engine));
        let rows = open_data
            .engine()
            .view(toise_opendata::dvf::schema())
            .unwrap();
        let rows = rows.snapshot().rows();
        let store = Store::open(data).unwrap();
        let (clock, mut config) = (Clock::system(), Config::default());
        config.geocoding.upstream = "https://geocoder.example/geocodage".into();
        let listings = Listings::new(store.clone(), clock.clone());
        let lake = Lake::open(data).unwrap();
        let (texts, compaction) = (TextSearch::open(data), Compaction::Here);
        let properties = Projection::open(listings, engine, lake, texts, compaction);
        let properties = Arc::new(properties.unwrap());
        let answers = Arc::new(open_data.clone());
        let models = LiveModel::open(data, config.estimate.adjustments());
        let supervisor = Supervisor::default();
        let app = app(
            &supervisor,
            &store,
            Sources {
                open_data: answers,
                properties,
                models,
                geocoding: GeocodingService::new(data, LiveGeocoder::open(data), None),
                program: PathBuf::new(),
            },
            &clock,
            &config,
        )
        .unwrap();
        let backup =
            audit::Act::at_command_line("backup").ended(toise_store::audit::DONE.to_owned());
        audit::append(&store, &clock, backup).unwrap();
        register_gauges(&app, store, open_data);
        app.readiness.set_ready();
        let response = probes::metrics(&app).await.unwrap().response;
        assert!(
            response.headers()["content-type"]
                .to_str()
                .unwrap()
                .starts_with("text/plain")
        );
        let text = String::from_utf8(response.into_body().to_vec()).unwrap();
        for line in [
            format!("toise_lake_rows{{table=\"dvf\"}} {rows}"),
            "toise_lake_files{table=\"dpe\"} 0".into(),
            "toise_column_cache_capacity_bytes 2147483648".into(),
            "toise_column_cache_lookups_total{outcome=\"miss\"} 0".into(),
            "toise_ready 1".into(),
            "toise_geocoding_upstream_breaker{state=\"closed\"} 1".into(),
            "toise_geocoding_upstream_breaker{state=\"open\"} 0".into(),
            "toise_geocoding_upstream_breaker_opened_total 0".into(),
            "toise_geocoding_upstream_questions_total{outcome=\"kept\"} 0".into(),
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
        assert!(!text.contains("toise_store_bytes 0"), "{text}");
        let age = text
            .lines()
            .find_map(|line| line.strip_prefix("toise_backup_age_seconds "));
        assert!(
            age.unwrap().parse::<f64>().unwrap() < 3_600.0,
            "{age:?} since the backup"
        );
        let types = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        for name in types {
            assert!(
                text.contains(&format!("# HELP {name} ")),
                "{name} has no help text"
            );
        }
    }
}
