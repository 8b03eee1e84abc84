//! Serves HTTP on the listeners of customers and operators, with the background tasks of a running service.

use std::future::Future;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;
use warp::filters::BoxedFilter;

use crate::endpoint::audience::Audience;
use crate::filters;
use toise_accounts::uses::KeyUses;
use toise_service::App;
use toise_store::Store;
use toise_telemetry::Metrics;
use toise_transport::server::{ServerLimits, accept};
use toise_transport::tls::Tls;

/// Interval at which recorded latencies are aggregated into histogram buckets.
const METRICS_UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// Interval at which the last use of each key is written to the store.
const KEY_USES_EVERY: Duration = Duration::from_secs(30);

/// Serves HTTP, over TLS if given, until `stop` resolves, then finishes running requests within the drain timeout.
/// `filter` is the service ([`crate::filters::service`]), possibly with other paths.
pub async fn run(
    listener: TcpListener,
    tls: Option<Tls>,
    app: App,
    filter: BoxedFilter<(warp::reply::Response,)>,
    audience: Audience,
    limits: ServerLimits,
    stop: impl Future<Output = ()> + Send,
) {
    let readiness = app.readiness.clone();
    let metrics = app.metrics.clone();
    let upkeep = readiness
        .supervisor()
        .watch("metrics-upkeep", run_metrics_upkeep(metrics.clone()));
    let upkeep = tokio::spawn(upkeep);
    let (uses, store) = (app.access.key_uses.clone(), app.store.clone());
    let writing = readiness
        .supervisor()
        .watch("key-uses", run_key_uses(uses.clone(), store.clone()));
    let writing = tokio::spawn(writing);
    let limits = ServerLimits {
        proxies: app.access.proxies.clone(),
        ..limits
    };
    readiness.set_ready();
    let stop = async {
        stop.await;
        readiness.set_draining();
    };
    accept(
        listener,
        tls,
        metrics,
        limits,
        for_audience(filter, audience),
        stop,
    )
    .await;
    upkeep.abort();
    writing.abort();
    write_key_uses(uses, store).await;
}

/// Serves operators on a separate listener until `stop` resolves; see [`Audience::Operators`].
pub async fn run_for_operators(
    listener: TcpListener,
    tls: Option<Tls>,
    app: App,
    limits: ServerLimits,
    stop: impl Future<Output = ()> + Send,
) {
    let metrics = app.metrics.clone();
    let service = for_audience(filters::service(app), Audience::Operators);
    accept(listener, tls, metrics, limits, service, stop).await;
}

/// Returns the hyper service of a filter, which adds the audience of its listener to the extensions of each request.
fn for_audience(
    filter: BoxedFilter<(warp::reply::Response,)>,
    audience: Audience,
) -> impl Service<
    Request<Incoming>,
    Response = Response<impl hyper::body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static>,
    Error = std::convert::Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static {
    WithAudience {
        service: TowerToHyperService::new(warp::service(filter)),
        audience,
    }
}

/// An error of any type.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A service whose requests carry an audience.
#[derive(Clone)]
struct WithAudience<S> {
    service: S,
    audience: Audience,
}

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for WithAudience<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.audience);
        self.service.call(request)
    }
}

async fn run_key_uses(uses: KeyUses, store: Store) {
    let mut ticks = tokio::time::interval(KEY_USES_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        write_key_uses(uses.clone(), store.clone()).await;
    }
}

/// Writes when keys were last used. If that fails, the uses are kept for the next time.
async fn write_key_uses(uses: KeyUses, store: Store) {
    let written = tokio::task::spawn_blocking(move || uses.write(&store)).await;
    if let Ok(Err(error)) = written {
        tracing::warn!(%error, "cannot write when keys were last used");
    }
}

async fn run_metrics_upkeep(metrics: Metrics) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
    }
}
