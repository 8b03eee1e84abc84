//! Runs the service: opens it, listens, and drains it on SIGTERM or Ctrl-C, or when one of its workers dies.
//!
//! All background threads and tasks are under one [`Supervisor`]. When one of them dies the service stops being ready,
//! drains as on SIGTERM and ends with an error that names the worker, so that the service manager restarts it. While a
//! worker hangs, the service is not ready.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::compose::{Sources, app, configured_listings, deliveries, register_gauges};
use crate::config::Config;
use crate::disk::DiskCheck;
use crate::replica::{self, ReplicaData};
use crate::{
    Failure, contours, doctor, features, merges, open_files, personal_data, publishing, readiness,
    refreshing, sweep, verify, waiting_rows,
};
use toise_alerts::dispatch;
use toise_alerts::open_data::{self, OpenDataAlertsContext};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_base::supervise::Supervisor;
use toise_base::watch::watch;
use toise_collect::portals::Portals;
use toise_engine::{Budget, Engine};
use toise_estimate::live::LiveModel;
use toise_geocode::live::LiveGeocoder;
use toise_geocode::service::GeocodingService;
use toise_http::endpoint::audience::Audience;
use toise_http::server;
use toise_lake::Lake;
use toise_listings::Listings;
use toise_listings::search::projection::compaction::{rebuild, retry_while_locked};
use toise_listings::search::projection::{self, Compaction, Projection};
use toise_listings::search::texts::TextSearch;
use toise_opendata::{OpenData, imported};
use toise_portfolios::PortfolioContext;
use toise_publish::follow::follow;
use toise_publish::replica::Replica;
use toise_service::App;
use toise_service::replica::ReplicaStatus;
use toise_service::sessions::Sessions;
use toise_sql::process::own_executable;
use toise_store::Store;
use toise_telemetry::{descriptors, logs};
use toise_transport::server::ServerLimits;
use toise_transport::tls::Tls;

/// Maximum wait, after requests are drained, for work still running on threads.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Tables that the store can rebuild: properties and adverts.
const LISTING_TABLES: usize = 2;

/// Where a service listens.
#[derive(Clone)]
pub struct Addresses {
    /// Address of HTTP, as `http://127.0.0.1:8080`.
    pub http: String,
    /// Address of Arrow Flight SQL, as `grpc://127.0.0.1:8081`, if it is on.
    pub flight: Option<String>,
    /// Address of metrics and administration, as `http://127.0.0.1:9100`, if they have their own listener.
    pub admin: Option<String>,
    /// Creates the codes of links into the console.
    pub sessions: Sessions,
}

/// Serves a data folder until SIGTERM or Ctrl-C; `on_ready` is called with the addresses once the service accepts
/// requests.
///
/// # Errors
/// The service cannot start, or one of its workers died.
pub fn serve(
    data: &Path,
    config: &Config,
    on_ready: impl FnOnce(&Addresses) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let _log = logs::start(&config.log);
    open_files::raise()?;
    descriptors::warn_if_few(config.server.connections_max);
    let tls = match config.server.tls_files() {
        Some((certificate, key)) => Some(Tls::load(&certificate, &key)?),
        None => None,
    };
    run_service(data, config, async |app| {
        let store = app.store.clone();
        // Logged after `on_ready`, which may create keys.
        let on_ready = |addresses: &Addresses| {
            on_ready(addresses)?;
            doctor::log_findings(data, config, Some(&store));
            Ok(())
        };
        listen(config, tls, app, on_ready).await
    })
}

/// Opens the tables. If a table of imported data is damaged or lacks a file, requests that read it get 503 until it is
/// repaired. A damaged table of listings is rebuilt from the store first, except on a replica, which gets it from the
/// writer.
///
/// # Errors
/// A table cannot be read, or one of listings cannot be rebuilt.
fn open_tables(
    data: &Path,
    config: &Config,
    listings: &Listings,
    compaction: Compaction,
) -> Result<(Arc<Engine>, Projection), Failure> {
    let lake =
        || -> projection::Result<Lake> { Ok(Lake::open(data)?.keeping(config.lake.keep_versions)) };
    let open = || -> projection::Result<_> {
        let budget = Budget::from(&config.engine);
        let engine = Engine::open_despite_damage(data, &verify::tables(), &imported(), budget)?;
        let engine = Arc::new(engine);
        if compaction == Compaction::OnWriter {
            // The tables, indexes and model of a replica change together, when a snapshot is installed.
            engine.freeze_views();
        }
        let (listings, texts) = (listings.clone(), TextSearch::open(data));
        let opened = Projection::open(listings, Arc::clone(&engine), lake()?, texts, compaction);
        Ok((engine, opened?))
    };
    for _ in 0..LISTING_TABLES {
        let error = match open() {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let damaged = error.damaged_table();
        let Some(listing) = damaged.filter(|_| compaction == Compaction::Here) else {
            return Err(error.into());
        };
        tracing::error!(%error, "rebuilding the table {} from the store", listing.table());
        retry_while_locked(|| rebuild(listings, &lake()?, listing, &|_| {}))?;
    }
    Ok(open()?)
}

/// Runs `work` with the service of a data folder and its workers, and ends them after it.
///
/// # Errors
/// The service cannot start, the work fails, or one of the workers died.
pub fn run_service(
    data: &Path,
    config: &Config,
    work: impl AsyncFnOnce(App) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    sweep::sweep(data);
    let following = first_snapshot(data, config, runtime.handle())?;
    let supervisor = Supervisor::with_bounds(readiness::WORK_BOUNDS);
    let store = Store::open_supervised(data, &supervisor)?;
    let clock = Clock::system();
    let addresses = LiveGeocoder::open(data);
    let listings = configured_listings(store.clone(), clock.clone(), config)
        .with_contours(contours::kept(data))
        .with_addresses(addresses.clone())
        .with_identity(Portals::load(data)?.identity());
    listings.load_alerts()?;
    let compaction = if following.is_some() {
        Compaction::OnWriter
    } else {
        Compaction::Here
    };
    let (engine, properties) = open_tables(data, config, &listings, compaction)?;
    if compaction == Compaction::Here {
        personal_data::resume(data, &store, &listings)?;
    }
    let open_data = OpenData::new(engine);
    let models = LiveModel::open(data, config.estimate.adjustments());
    let geocoding = GeocodingService::new(data, addresses.clone(), contours::kept(data));
    let mut app = app(
        &supervisor,
        &store,
        Sources {
            open_data: Arc::new(open_data.clone()),
            properties: Arc::new(properties),
            models,
            geocoding,
            program: own_executable()?,
        },
        &clock,
        config,
    )?;
    app.data.sql.prepare();
    let disk = DiskCheck::new(
        &store,
        config.server.disk_free_min_mib << 20,
        &app.readiness,
    );
    let looking = disk.start(&supervisor)?;
    let ledger = app.billing.ledger.clone();
    let writing = waiting_rows::start(&supervisor, store.folder(), &ledger, &app.metrics)?;
    let logging = readiness::log_changes(app.readiness.clone());
    runtime.spawn(supervisor.watch("readiness-log", logging));
    register_gauges(&app, store, open_data);
    let workers = match following {
        None => Workers::of_writer(data, &supervisor, &app, config, addresses, runtime.handle())?,
        Some((replica, status)) => {
            replica::register_gauges(&app.metrics, &status, &clock);
            app.replica = Some(status.clone());
            let shown = ReplicaData {
                properties: Arc::clone(&app.data.properties),
                models: app.data.models.clone(),
                addresses,
                status,
                metering_every: Duration::from_secs(config.lake.metering_every_s),
                metered: Instant::now(),
            };
            let (store, handle) = (app.store.clone(), runtime.handle().clone());
            let following = follow(&supervisor, replica, store, shown, handle)?;
            Workers(Box::new(following))
        }
    };
    let outcome = runtime.block_on(work(app));
    // Stops the workers while the runtime can still finish the deliveries in flight.
    drop((workers, looking, writing));
    waiting_rows::finish(&ledger);
    drop(ledger);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    outcome?;
    match supervisor.failed() {
        None => Ok(()),
        Some(failure) => Err(failure.into()),
    }
}

/// Brings a replica to the newest snapshot; `None` for a service with its own data.
fn first_snapshot(
    data: &Path,
    config: &Config,
    runtime: &Handle,
) -> Result<Option<(Replica, ReplicaStatus)>, Failure> {
    if config.lake.replica.is_empty() {
        replica::refuse_folder(data)?;
        return Ok(None);
    }
    let bar = Progress::new(false).bytes("downloading", Some(0));
    let first = replica::open_newest(data, &config.lake, runtime, &bar)?;
    bar.finish_and_clear();
    Ok(Some(first))
}

/// The background work of the service, which ends when this is dropped.
struct Workers(#[expect(dead_code, reason = "held for its guards")] Box<dyn std::any::Any>);

impl Workers {
    /// Starts the background work of a service with its own data. The guards are dropped in this order.
    fn of_writer(
        data: &Path,
        supervisor: &Supervisor,
        app: &App,
        config: &Config,
        addresses: LiveGeocoder,
        runtime: &Handle,
    ) -> Result<Self, Failure> {
        let watching = (
            addresses.watch(supervisor)?,
            app.data.models.watch(supervisor)?,
        );
        let keeping = app.data.properties.start_workers(supervisor)?;
        let to_deliver = deliveries(app, config)?;
        let dispatcher = dispatch::start(supervisor, to_deliver, runtime.clone())?;
        let open_data_alerts = OpenDataAlertsContext {
            store: app.store.clone(),
            clock: app.clock.clone(),
            engine: app.data.properties.shared_engine(),
            percolator: Arc::clone(app.data.properties.listings().percolator()),
        };
        let comparing = open_data::start(supervisor, open_data_alerts)?;
        let metrics = app.metrics.clone();
        let collecting = app
            .data
            .collector
            .start(supervisor, runtime.clone(), metrics)?;
        let to_value = PortfolioContext {
            engine: app.data.properties.shared_engine(),
            models: app.data.models.clone(),
            addresses: addresses.clone(),
            prices: Arc::clone(&app.billing.prices),
        };
        let valuing = app.data.portfolios.run(supervisor, to_value)?;
        let geocoding_projects = app.data.projects.run(supervisor, addresses)?;
        let publishing = publishing::start(supervisor, data, &app.store, config, runtime)?;
        let refreshing = refreshing::start(
            supervisor, data, config, &app.readiness, &app.metrics, runtime,
        )?;
        let listings = app.data.properties.listings().clone();
        let dated = listings.clone();
        let dating = watch(supervisor, "sighting-dates", move || {
            if let Err(error) = dated.correct_stamps() {
                tracing::warn!(%error, "cannot correct dates in the future; will retry");
            }
        })?;
        let forgetting = personal_data::start(supervisor, &listings, config)?;
        let counting = merges::start(supervisor, listings, &app.metrics)?;
        Ok(Self(Box::new((
            forgetting,
            counting,
            dating,
            refreshing,
            publishing,
            collecting,
            geocoding_projects,
            valuing,
            comparing,
            dispatcher,
            keeping,
            watching,
        ))))
    }
}

/// Serves an agent on standard input and output from a data folder, with an API key, until the agent closes the
/// connection or a signal stops this process. `key` creates the key once the service runs.
///
/// # Errors
/// The service cannot start, the agent does not speak the protocol, or one of the workers died.
#[cfg(feature = "mcp")]
pub fn serve_agent(
    data: &Path,
    config: &Config,
    key: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let _log = logs::start(&config.log);
    open_files::raise()?;
    run_service(data, config, async |app| {
        let stop = stop_signal()?;
        let supervisor = app.readiness.supervisor().clone();
        app.readiness.set_ready();
        let key = key()?;
        tokio::select! {
            served = toise_mcp::stdio::serve_here(&app, &key) => served?,
            () = stop => {}
            failure = supervisor.failure() => tracing::error!(%failure, "stopping"),
        }
        app.readiness.set_draining();
        Ok(())
    })
}

async fn listen(
    config: &Config,
    tls: Option<Tls>,
    app: App,
    on_ready: impl FnOnce(&Addresses) -> Result<(), Failure>,
) -> Result<(), Failure> {
    features::check(config)?;
    // Signal handlers are installed before the address is reported, so that no signal sent afterwards is lost.
    let stop = stop_signal()?;
    let supervisor = app.readiness.supervisor().clone();
    reload_tls_on_sighup(&supervisor, tls.clone())?;
    let listener = bind(&config.server.listen).await?;
    let flight = match config.flight.listen.as_str() {
        "" => None,
        wanted => Some(bind(wanted).await?),
    };
    let admin = match config.admin.listen.as_str() {
        "" => None,
        wanted => Some(bind(wanted).await?),
    };
    let is_secure = tls.is_some();
    let address = |(plain, secure): (&str, &str), listener: &TcpListener| {
        let scheme = if is_secure { secure } else { plain };
        let address = listener.local_addr()?;
        Ok::<_, Failure>(format!("{scheme}://{address}"))
    };
    let of_flight = |listener| address(("grpc", "grpc+tls"), listener);
    on_ready(&Addresses {
        sessions: app.access.sessions.clone(),
        http: address(("http", "https"), &listener)?,
        flight: flight.as_ref().map(of_flight).transpose()?,
        admin: admin
            .as_ref()
            .map(|listener| address(("http", "https"), listener))
            .transpose()?,
    })?;
    let stop = async {
        tokio::select! {
            () = stop => {}
            failure = supervisor.failure() => tracing::error!(%failure, "stopping"),
        }
    };
    let limits = ServerLimits::from(&config.server);
    let audience = if admin.is_some() {
        Audience::Customers
    } else {
        Audience::Everyone
    };
    let (stop_flight, flight_stopped) = oneshot::channel::<()>();
    let (stop_admin, admin_stopped) = oneshot::channel::<()>();
    let admin = admin.map(|listener| {
        let stopped = async move {
            // Stops too if the sender is gone.
            let _ = admin_stopped.await;
        };
        let (tls, app, limits) = (tls.clone(), app.clone(), limits.clone());
        tokio::spawn(server::run_for_operators(
            listener, tls, app, limits, stopped,
        ))
    });
    let flight = flight.map(|listener| {
        let stopped = async move {
            // Stops too if the sender is gone.
            let _ = flight_stopped.await;
        };
        features::serve_flight(listener, tls.clone(), app.clone(), limits.clone(), stopped)
    });
    let stop = async {
        stop.await;
        drop((stop_flight, stop_admin));
    };
    let filter = features::service(config, &app);
    server::run(listener, tls, app, filter, audience, limits, stop).await;
    for other in [flight, admin].into_iter().flatten() {
        other.await?;
    }
    Ok(())
}

async fn bind(wanted: &str) -> Result<TcpListener, Failure> {
    let listener = toise_transport::listener::listen(wanted).await;
    listener.map_err(|error| cannot_listen(wanted, &error))
}

/// Checks that an address can be listened on, before work that takes long. Does not keep it.
///
/// # Errors
/// It cannot.
pub fn check_address(wanted: &str) -> Result<(), Failure> {
    let listener = std::net::TcpListener::bind(wanted);
    listener
        .map(drop)
        .map_err(|error| cannot_listen(wanted, &error))
}

fn cannot_listen(wanted: &str, error: &std::io::Error) -> Failure {
    let help = "another address, such as a free port of this machine: --listen 127.0.0.1:0";
    format!("cannot listen on {wanted}: {error}; {help}").into()
}

/// Resolves at SIGTERM or Ctrl-C.
///
/// # Errors
/// The handler cannot be installed.
#[cfg(unix)]
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Resolves at Ctrl-C.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Reloads the certificate on every SIGHUP; has no effect without TLS.
///
/// # Errors
/// The handler cannot be installed.
#[cfg(unix)]
pub fn reload_tls_on_sighup(supervisor: &Supervisor, tls: Option<Tls>) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    let renewing = async move {
        while hangup.recv().await.is_some() {
            match tls.as_ref().map(Tls::reload) {
                Some(Ok(())) => tracing::info!("certificate reloaded"),
                Some(Err(error)) => {
                    tracing::error!(%error, "certificate not renewed; the previous one stays in use");
                }
                None => {}
            }
        }
    };
    tokio::spawn(supervisor.watch("certificate-reload", renewing));
    Ok(())
}

/// There is no such signal here.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn reload_tls_on_sighup(_supervisor: &Supervisor, _tls: Option<Tls>) -> std::io::Result<()> {
    Ok(())
}
