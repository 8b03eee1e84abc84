//! Connections: accepted up to a maximum, with timeouts, over TLS if configured, and drained when the service
//! stops.
//!
//! warp's own server has none of these, so this loop accepts connections and serves each with hyper. Connections
//! beyond the maximum wait in the kernel's backlog; one in its TLS handshake counts. Those of one address beyond its share
//! are closed. The timeouts by phase are in
//! `connection.rs`.

use std::error::Error;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use warp::filters::BoxedFilter;
use warp::http::Response;

use super::App;
use super::audience::Audience;
use super::client_address::{Networks, PeerAddress};
use super::connection::{Activity, TimedStream, Timeouts, TrackedBody};
use super::connections_by_address::{AddressConnection, ConnectionsByAddress, UnkeyedPlace};
use super::malformed;
use super::out_of_turn::{Doorkeeper, EndsConnection};
use super::paid_reads::{PaidReads, PaidStream, UnpaidReads};
use super::router::ROUTER;
use super::tls::Tls;
use super::{auth, filters};
use crate::settings::ServerSettings;
use toise_accounts::uses::KeyUses;
use toise_base::clock::Clock;
use toise_store::Store;
use toise_telemetry::{Metrics, Refusal};

/// Pause after a failed accept, usually because file descriptors are exhausted.
const ACCEPT_RETRY_AFTER: Duration = Duration::from_millis(100);
/// Interval at which recorded latencies are aggregated into histogram buckets.
const METRICS_UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// Maximum bytes of a request head over HTTP/1, which a connection may hold while the head does not end. Over HTTP/2 the
/// library allows 16 KiB.
const HEAD_BYTES_MAX: usize = 96 << 10;
/// Maximum requests at once on a connection over HTTP/2.
const STREAMS_MAX: u32 = 100;
/// Bytes of bodies that a client may send over an HTTP/2 connection before they are read, which the connection holds.
const WINDOW_BYTES: u32 = 256 << 10;
/// How often it is written when keys were last used.
const KEY_USES_EVERY: Duration = Duration::from_secs(30);

/// Limits of connections.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Maximum open connections.
    pub connections_max: usize,
    /// Maximum open connections of one client address; further ones are closed.
    pub connections_per_address_max: usize,
    /// Maximum duration of a TLS handshake.
    pub tls_handshake_timeout: Duration,
    /// Maximum wait for a complete request head, from its first byte or from the start of the connection.
    pub header_read_timeout: Duration,
    /// Maximum idle time between two requests.
    pub keep_alive_idle: Duration,
    /// Maximum wait for running requests when the service stops.
    pub drain_timeout: Duration,
    /// Addresses whose connections are those of many clients.
    pub proxies: Arc<Networks>,
    /// Who the listener is for.
    pub audience: Audience,
    /// Lets clients wait for their turn; everybody is let in without one.
    pub doorkeeper: Option<Doorkeeper>,
}

impl Default for ServerLimits {
    /// The limits of the default configuration.
    fn default() -> Self {
        Self::from(&ServerSettings::default())
    }
}

impl From<&ServerSettings> for ServerLimits {
    fn from(server: &ServerSettings) -> Self {
        Self {
            connections_max: server.connections_allowed(),
            connections_per_address_max: server.connections_per_address_max,
            tls_handshake_timeout: Duration::from_secs(server.tls_handshake_timeout_s),
            header_read_timeout: Duration::from_secs(server.header_read_timeout_s),
            keep_alive_idle: Duration::from_secs(server.keep_alive_idle_s),
            drain_timeout: Duration::from_secs(server.drain_timeout_s),
            proxies: Arc::new(server.proxies()),
            audience: Audience::Everyone,
            doorkeeper: None,
        }
    }
}

/// Serves HTTP, over TLS if given, until `stop` resolves, then finishes running requests within the drain timeout.
/// `filter` is that of the service ([`crate::filters::service`]), with what is served beside it.
pub async fn run(
    listener: TcpListener,
    tls: Option<Tls>,
    app: App,
    filter: BoxedFilter<(warp::reply::Response,)>,
    limits: ServerLimits,
    stop: impl Future<Output = ()> + Send,
) {
    let readiness = app.readiness.clone();
    let metrics = app.metrics.clone();
    let upkeep = readiness
        .supervisor()
        .watch("metrics-upkeep", run_metrics_upkeep(metrics.clone()));
    let upkeep = tokio::spawn(upkeep);
    let (uses, store) = (app.key_uses.clone(), app.store.clone());
    let writing = readiness
        .supervisor()
        .watch("key-uses", run_key_uses(uses.clone(), store.clone()));
    let writing = tokio::spawn(writing);
    let service = TowerToHyperService::new(warp::service(filter));
    let limits = ServerLimits {
        proxies: app.proxies.clone(),
        doorkeeper: Some(doorkeeper(app)),
        ..limits
    };
    readiness.set_ready();
    let stop = async {
        stop.await;
        readiness.set_draining();
    };
    accept(listener, tls, metrics, limits, service, stop).await;
    upkeep.abort();
    writing.abort();
    write_key_uses(uses, store).await;
}

/// Requests that show no key wait at the door, except health checks.
fn doorkeeper(app: App) -> Doorkeeper {
    let pace = app.pace.clone();
    Doorkeeper::new(&pace, move |method, path, headers| {
        !auth::shows_key(&app, method, headers) && !ROUTER.is_probe(method, path)
    })
}

/// Serves operators on a listener of their own until `stop` resolves; see [`Audience::Operators`].
pub async fn run_for_operators(
    listener: TcpListener,
    tls: Option<Tls>,
    app: App,
    limits: ServerLimits,
    stop: impl Future<Output = ()> + Send,
) {
    let limits = ServerLimits {
        audience: Audience::Operators,
        ..limits
    };
    let service = TowerToHyperService::new(warp::service(filters::service(app.clone())));
    accept(listener, tls, app.metrics, limits, service, stop).await;
}

/// Serves any service, over TLS if given, until `stop` resolves, then finishes running requests within the drain
/// timeout. Connections are capped and timed as those of HTTP.
pub async fn accept<S, B>(
    listener: TcpListener,
    tls: Option<Tls>,
    metrics: Metrics,
    limits: ServerLimits,
    service: S,
    stop: impl Future<Output = ()> + Send,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let builder = builder(&limits);
    let unpaid = UnpaidReads::new(Clock::system());
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let by_address = ConnectionsByAddress::default();
    let graceful = GracefulShutdown::new();
    // Closed when the service stops: what is held at the door is not waited for.
    let (open, held) = watch::channel(());
    tokio::pin!(stop);
    loop {
        let accepted = async {
            // The semaphore is never closed; if it were, the loop would accept without a maximum.
            let slot = Arc::clone(&slots).acquire_owned().await.ok();
            (listener.accept().await, slot)
        };
        let (stream, peer, slot) = tokio::select! {
            () = &mut stop => break,
            (accepted, slot) = accepted => match accepted {
                Ok((stream, peer)) => (stream, peer.ip(), slot),
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(ACCEPT_RETRY_AFTER).await;
                    continue;
                }
            },
        };
        // A proxy has the connections of all its clients.
        let is_of_many = limits.proxies.contain(peer);
        let most = match is_of_many {
            true => limits.connections_max,
            false => limits.connections_per_address_max,
        };
        let (paid, doorkeeper) = match is_of_many || limits.audience == Audience::Operators {
            true => (PaidReads::unlimited(), None),
            false => (PaidReads::begin(), limits.doorkeeper.clone()),
        };
        let Some(counted_address) = by_address.open(peer, most) else {
            metrics.record_refusal(Refusal::Connections);
            continue;
        };
        // Responses are written in one piece: waiting to fill a segment would only delay them.
        let _ = stream.set_nodelay(true);
        let acceptor = tls.as_ref().map(Tls::acceptor);
        let watcher = graceful.watcher();
        let counted = metrics.connection();
        let (builder, service, limits) = (builder.clone(), service.clone(), limits.clone());
        let mut held = held.clone();
        let metrics = metrics.clone();
        let client = Client {
            peer,
            paid,
            unpaid: unpaid.clone(),
            audience: limits.audience,
            doorkeeper,
            place: Mutex::default(),
        };
        tokio::spawn(async move {
            let is_let_in = tokio::select! {
                is_let_in = client.is_let_in(&counted_address) => is_let_in,
                _ = held.changed() => false,
            };
            if !is_let_in {
                metrics.record_refusal(Refusal::Connections);
                return;
            }
            match acceptor {
                None => serve(stream, client, builder, service, &limits, watcher).await,
                Some(acceptor) => {
                    if let Some(stream) = tls_handshake(stream, acceptor, &limits).await {
                        serve(stream, client, builder, service, &limits, watcher).await;
                    }
                }
            }
            drop((slot, counted, counted_address));
        });
    }
    drop((listener, open));
    drain(graceful, &limits).await;
}

/// Waits for running requests, at most for the drain timeout.
async fn drain(graceful: GracefulShutdown, limits: &ServerLimits) {
    let connections = graceful.count();
    tracing::info!(connections, "draining");
    if tokio::time::timeout(limits.drain_timeout, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("drain timeout reached; requests still running were aborted");
    }
}

fn builder(limits: &ServerLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // The connection's activity limits heads and idle time.
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(HEAD_BYTES_MAX)
        .header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .keep_alive_interval(limits.header_read_timeout);
    builder
}

async fn run_key_uses(uses: KeyUses, store: Store) {
    let mut ticks = tokio::time::interval(KEY_USES_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        write_key_uses(uses.clone(), store.clone()).await;
    }
}

/// Writes when keys were last used; what cannot be written is kept for the next time.
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

/// The stream after its TLS handshake; `None` if it failed or timed out.
async fn tls_handshake(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    limits: &ServerLimits,
) -> Option<TlsStream<TcpStream>> {
    match tokio::time::timeout(limits.tls_handshake_timeout, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "TLS handshake failed");
            None
        }
        Err(_elapsed) => {
            tracing::debug!("TLS handshake timed out");
            None
        }
    }
}

/// The other end of a connection.
struct Client {
    peer: IpAddr,
    paid: PaidReads,
    unpaid: UnpaidReads,
    audience: Audience,
    doorkeeper: Option<Doorkeeper>,
    /// Its place among the connections of its address that showed no key.
    place: Mutex<Option<UnkeyedPlace>>,
}

impl Client {
    /// Waits at the door, and tells whether the connection may be read.
    async fn is_let_in(&self, connection: &AddressConnection) -> bool {
        let Some(doorkeeper) = &self.doorkeeper else {
            return true;
        };
        let place = connection.place().await;
        *self.place.lock() = place;
        doorkeeper.let_in(self.peer).await
    }

    /// It showed a key, or asks how the service is: makes its place free.
    fn showed_key(&self) {
        self.place.lock().take();
    }
}

/// Puts on a request what the service is to know of it.
fn tell(request: &mut Request<Incoming>, client: &Client) {
    let malformed = malformed::fault_of(request);
    let extensions = request.extensions_mut();
    if let Some(malformed) = malformed {
        extensions.insert(malformed);
    }
    extensions.insert(PeerAddress(client.peer));
    extensions.insert(client.paid.clone());
    extensions.insert(client.audience);
}

/// Waits for the turn of a request, if it has to, and answers it. Other requests of a connection that ends come to nothing,
/// too.
async fn answer<S, B>(
    mut request: Request<Incoming>,
    client: &Client,
    service: S,
    activity: &Activity,
) -> Result<Result<Response<TrackedBody<B>>, S::Error>, EndsConnection>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
    B: Body,
{
    let running = activity.request(request.version());
    let mut waited = None;
    if let Some(doorkeeper) = &client.doorkeeper
        && !activity.has_ended()
    {
        waited = doorkeeper.keep(client.peer, &request).await?;
    }
    if activity.has_ended() {
        return Err(EndsConnection);
    }
    if let Some(in_turn) = waited {
        request.extensions_mut().insert(in_turn);
    } else {
        client.showed_key();
    }
    tell(&mut request, client);
    let answer = service.call(request).await;
    if let Ok(answer) = &answer
        && answer.extensions().get::<EndsConnection>().is_some()
    {
        return Err(EndsConnection);
    }
    let answer = answer.map(|answer| answer.map(|body| activity.answer(body)));
    drop(running);
    Ok(answer)
}

/// Serves one connection until it ends or times out.
async fn serve<T, S, B>(
    stream: T,
    client: Client,
    builder: Builder<TokioExecutor>,
    service: S,
    limits: &ServerLimits,
    watcher: Watcher,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let activity = Activity::begin(client.peer, Instant::now());
    let (peer, doorkeeper) = (client.peer, client.doorkeeper.clone());
    let stream = PaidStream::new(stream, peer, client.paid.clone(), client.unpaid.clone());
    let client = Arc::new(client);
    let tracked = {
        let activity = activity.clone();
        service_fn(move |request: Request<Incoming>| {
            let (activity, client) = (activity.clone(), client.clone());
            let service = service.clone();
            // Boxed, so that a task which waits is small.
            Box::pin(async move {
                match answer(request, &client, service, &activity).await {
                    Ok(answer) => answer,
                    Err(EndsConnection) => {
                        activity.end();
                        // Nothing is sent any more.
                        std::future::pending().await
                    }
                }
            })
        })
    };
    let io = TokioIo::new(TimedStream::new(stream, activity.clone()));
    let connection = watcher.watch(builder.serve_connection(io, tracked).into_owned());
    let timeouts = Timeouts {
        head: limits.header_read_timeout,
        idle: limits.keep_alive_idle,
    };
    tokio::select! {
        ended = connection => {
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended");
                if let Some(doorkeeper) = &doorkeeper {
                    doorkeeper.note_end(peer, error.as_ref());
                }
            }
        }
        () = activity.over(timeouts) => {}
    }
}
