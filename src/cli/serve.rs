//! `toise serve`: the HTTP service over a data folder, until SIGTERM or Ctrl-C.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::config::SettingArgs;
use super::import::kept_contours;
use super::{CommandResult, Common};
use crate::accounts::ledger::Ledger;
use crate::accounts::meter::Meters;
use crate::accounts::verify::Verifier;
use crate::alerts::Alerts;
use crate::alerts::dispatch::{self, Dispatcher};
use crate::alerts::retention::Retention;
use crate::clock::Clock;
use crate::collect::Collector;
use crate::config::Config;
use crate::config::prices::Prices;
use crate::engine::cursor::CursorKey;
use crate::engine::pool::Pool;
use crate::engine::{Budget, Engine};
use crate::estimate::live::LiveModel;
use crate::http::alerts::addresses::Addresses;
use crate::http::idempotency::Claims;
use crate::http::listings::INGESTING_MAX;
use crate::http::opendata::Answers;
use crate::http::server::{self, Limits};
use crate::http::tls::Tls;
use crate::http::{App, Readiness};
use crate::lake::Lake;
use crate::listings::Listings;
use crate::listings::columns::{adverts, properties};
use crate::listings::projection::Projection;
use crate::listings::texts::Texts;
use crate::net::post::Poster;
use crate::net::receiver::Gate;
use crate::opendata::{OpenData, dpe, dvf};
use crate::store::Store;
use crate::telemetry::{Metrics, logs};

/// Name of the secret that seals cursors.
const CURSOR_SECRET: &str = "cursor";
/// Longest wait, once requests are drained, for small work that threads still do.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Arguments of `serve`.
#[derive(Args, Debug)]
#[command(after_help = "\
SIGTERM and Ctrl-C finish running requests, within server.drain_timeout_s; SIGHUP reads the TLS certificate again.
`toise config --default` prints every setting with its meaning.

Examples:

  toise serve --listen 0.0.0.0:8080 --price API_ESTIMATE_PROPERTY_LITE=2
  toise serve --config /etc/toise.toml --set log.format=json
  TOISE_SERVER__TLS_CERTIFICATE=chain.pem TOISE_SERVER__TLS_KEY=key.pem toise serve --listen 0.0.0.0:443")]
pub struct ServeArgs {
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs `serve`.
pub fn run(common: &Common, arguments: &ServeArgs) -> CommandResult {
    let as_json = common.json;
    let config = common.configuration(arguments.settings.flags()?)?.config;
    serve(&common.data, &config, move |address| {
        if as_json {
            println!("{}", json!({"address": address}));
        } else {
            println!("listening on {address}");
        }
        Ok(())
    })
}

/// Serves a data folder until SIGTERM or Ctrl-C; `on_ready` is told the address once requests are taken.
pub fn serve(
    data: &Path,
    config: &Config,
    on_ready: impl FnOnce(&str) -> CommandResult,
) -> CommandResult {
    logs::start(&config.log);
    logs::warn_of_few_descriptors(config.server.connections_max);
    let tls = match config.server.tls_files() {
        Some((certificate, key)) => Some(Tls::load(&certificate, &key)?),
        None => None,
    };
    let tables = [dvf::schema(), dpe::schema(), properties(), adverts()];
    let engine = Arc::new(Engine::open(data, &tables, Budget::from(&config.engine))?);
    let open_data = OpenData::over(Arc::clone(&engine));
    let store = Store::open(data)?;
    let clock = Clock::system();
    let listings = Listings::new(store.clone(), clock.clone()).with_contours(kept_contours(data));
    listings.load_alerts()?;
    let properties = Arc::new(Projection::open(
        listings,
        engine,
        Lake::open(data)?,
        Texts::open(data)?,
    )?);
    let _keeping = properties.keep_up()?;
    let models = LiveModel::open(data, config.estimate.adjustments());
    let _watching = models.keep_up()?;
    let app = app(
        &store,
        Arc::new(open_data.clone()),
        properties,
        models,
        &clock,
        config,
    )?;
    observe(&app, store, open_data);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let dispatcher = Dispatcher::start(deliveries(data, &app, config)?, runtime.handle().clone())?;
    let collecting = app
        .collector
        .start(runtime.handle().clone(), app.metrics.clone())?;
    let outcome = runtime.block_on(listen(config, tls, app, on_ready));
    drop(collecting);
    // Finishes the deliveries under way while there is a runtime to finish them on.
    drop(dispatcher);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    outcome
}

async fn listen(
    config: &Config,
    tls: Option<Tls>,
    app: App,
    on_ready: impl FnOnce(&str) -> CommandResult,
) -> CommandResult {
    // Signals are caught before the address is told, so that none sent from then on is lost.
    let stop = stop_signal()?;
    renew_on_hangup(tls.clone())?;
    let wanted = &config.server.listen;
    let listener = TcpListener::bind(wanted)
        .await
        .map_err(|error| format!("cannot listen on {wanted}: {error}"))?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    on_ready(&format!("{scheme}://{}", listener.local_addr()?))?;
    server::run_over(listener, tls, app, Limits::from(&config.server), stop).await;
    Ok(())
}

/// The service over a store and tables, not yet listening.
pub fn app(
    store: &Store,
    answers: Arc<dyn Answers>,
    properties: Arc<Projection>,
    models: LiveModel,
    clock: &Clock,
    config: &Config,
) -> Result<App, Box<dyn Error + Send + Sync>> {
    let pool = Pool::new(config.engine.threads(), config.engine.query_queue_max)?;
    let readiness = Readiness::default();
    let metrics = Metrics::new()?;
    let observed = readiness.clone();
    let depth = pool.clone();
    metrics.observe(move |gauges| {
        gauges.set("toise_ready", &[], f64::from(u8::from(observed.is_ready())));
        gauges.set("toise_query_pool_jobs", &[], depth.depth() as f64);
    });
    Ok(App {
        answers,
        store: store.clone(),
        clock: clock.clone(),
        meters: Meters::new(clock.clone()),
        limits: config.limits,
        prices: Arc::new(Prices::from(&config.prices)),
        collector: Collector::new(
            store.clone(),
            properties.listings().clone(),
            &config.collect,
        )?,
        ledger: Ledger::of(store),
        properties,
        models,
        alerts: Alerts::new(store.clone(), clock.clone(), config.alerts),
        addresses: Addresses::new(Gate::new(config.webhooks.allowed())),
        ingesting: Arc::new(Semaphore::new(INGESTING_MAX)),
        claims: Claims::default(),
        verifier: Verifier::new(store.clone(), clock.clone())?,
        cursors: CursorKey::new(store.secret(CURSOR_SECRET)?),
        pool,
        readiness,
        metrics,
        request_timeout: config.server.request_timeout(),
    })
}

/// What deliveries to webhooks need.
fn deliveries(
    data: &Path,
    app: &App,
    config: &Config,
) -> Result<dispatch::Setup, Box<dyn Error + Send + Sync>> {
    Ok(dispatch::Setup {
        data: data.to_owned(),
        store: app.store.clone(),
        clock: app.clock.clone(),
        poster: Poster::new(app.addresses.gate().clone())?,
        prices: Arc::clone(&app.prices),
        retention: Retention::from(&config.webhooks),
        metrics: app.metrics.clone(),
    })
}

/// Has the sizes of store and tables told when the numbers are asked for.
fn observe(app: &App, store: Store, open_data: OpenData) {
    let properties = Arc::clone(&app.properties);
    app.metrics.observe(move |gauges| {
        gauges.set("toise_store_bytes", &[], store.bytes() as f64);
        // Alerts change in other processes too. What cannot be read now is told as it was last.
        let _ = properties.listings().load_alerts();
        let active = properties.listings().active_alerts();
        for (about, count) in [
            ("properties", active.on_properties),
            ("adverts", active.on_adverts),
        ] {
            gauges.set("toise_active_alerts", &[("about", about)], count as f64);
        }
        gauges.set("toise_unreadable_alerts", &[], active.unreadable as f64);
        open_data.engine().observe(gauges);
    });
}

#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
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

#[cfg(not(unix))]
fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Reads the certificate again on every SIGHUP, which without TLS does nothing.
#[cfg(unix)]
fn renew_on_hangup(tls: Option<Tls>) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match tls.as_ref().map(Tls::reload) {
                Some(Ok(())) => tracing::info!("certificate read again"),
                Some(Err(error)) => {
                    tracing::error!(%error, "certificate not renewed, the former one stays");
                }
                None => {}
            }
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn renew_on_hangup(_tls: Option<Tls>) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::metrics;
    use crate::synth::{Request, lake::into_lake};

    #[tokio::test]
    async fn the_numbers_tell_the_sizes_of_tables_store_and_process() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let request = Request {
            dataset: crate::opendata::Dataset::Dvf,
            items: 50,
            seed: 1,
            full_width: false,
        };
        into_lake(data, request, crate::progress::Progress::silent()).unwrap();
        let tables = [dvf::schema(), dpe::schema(), properties()];
        let engine = Arc::new(Engine::open(data, &tables, Budget::default()).unwrap());
        let open_data = OpenData::over(Arc::clone(&engine));
        let rows = open_data
            .engine()
            .view(crate::opendata::dvf::schema())
            .unwrap();
        let rows = rows.snapshot().rows();
        let store = Store::open(data).unwrap();
        let (clock, config) = (Clock::system(), Config::default());
        let listings = Listings::new(store.clone(), clock.clone());
        let lake = Lake::open(data).unwrap();
        let properties =
            Arc::new(Projection::open(listings, engine, lake, Texts::open(data).unwrap()).unwrap());
        let answers = Arc::new(open_data.clone());
        let models = LiveModel::open(data, config.estimate.adjustments());
        let app = app(&store, answers, properties, models, &clock, &config).unwrap();
        observe(&app, store, open_data);
        app.readiness.set_ready();
        let response = metrics::handler(&app).await.unwrap();
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
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
        assert!(!text.contains("toise_store_bytes 0"), "{text}");
    }
}
