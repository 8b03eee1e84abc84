//! The composition: builds the service that [`toise_http`] runs from a data folder and a configuration.
//!
//! This is the only module that depends on every room; no room depends on the whole configuration.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::Failure;
use crate::config::Config;
use toise_accounts::ledger::Ledger;
use toise_accounts::meter::Meters;
use toise_accounts::prices::Prices;
use toise_accounts::verify::Verifier;
use toise_alerts::Alerts;
use toise_alerts::dispatch::{self};
use toise_alerts::retention::Retention;
use toise_base::clock::Clock;
use toise_collect::Collector;
use toise_contract::cursor::CursorKey;
use toise_engine::pool::Pool;
use toise_estimate::live::LiveModel;
use toise_http::alerts::addresses::Addresses;
use toise_http::idempotency::Claims;
use toise_http::listings::INGESTING_MAX;
use toise_http::opendata::Answers;
use toise_http::{App, Readiness};
use toise_listings::projection::Projection;
use toise_net::post::Poster;
use toise_net::receiver::Gate;
use toise_opendata::OpenData;
use toise_store::Store;
use toise_telemetry::Metrics;

/// Name of the secret that signs cursors.
const CURSOR_SECRET: &str = "cursor";
/// Builds the service over a store and tables; it does not listen yet.
pub fn app(
    store: &Store,
    answers: Arc<dyn Answers>,
    properties: Arc<Projection>,
    models: LiveModel,
    clock: &Clock,
    config: &Config,
) -> Result<App, Failure> {
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

/// The dependencies of webhook delivery.
pub(crate) fn deliveries(
    data: &Path,
    app: &App,
    config: &Config,
) -> Result<dispatch::Setup, Failure> {
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

/// Registers the gauges of the store and the tables.
pub(crate) fn observe(app: &App, store: Store, open_data: OpenData) {
    let properties = Arc::clone(&app.properties);
    app.metrics.observe(move |gauges| {
        gauges.set("toise_store_bytes", &[], store.bytes() as f64);
        // Other processes may change alerts too. If they cannot be loaded now, the last values are reported.
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

#[cfg(test)]
mod tests {
    use super::*;
    use toise_engine::{Budget, Engine};
    use toise_http::metrics;
    use toise_lab::synth::{Request, lake::into_lake};
    use toise_lake::Lake;
    use toise_listings::Listings;
    use toise_listings::columns::properties;
    use toise_listings::texts::Texts;
    use toise_opendata::{dpe, dvf};

    #[tokio::test]
    async fn metrics_report_the_sizes_of_tables_store_and_process() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let request = Request {
            dataset: toise_opendata::Dataset::Dvf,
            items: 50,
            seed: 1,
            full_width: false,
        };
        into_lake(data, request, toise_base::progress::Progress::silent()).unwrap();
        let tables = [dvf::schema(), dpe::schema(), properties()];
        let engine = Arc::new(Engine::open(data, &tables, Budget::default()).unwrap());
        let open_data = OpenData::over(Arc::clone(&engine));
        let rows = open_data
            .engine()
            .view(toise_opendata::dvf::schema())
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
