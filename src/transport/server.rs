//! Accepts connections up to a maximum, with timeouts and optional TLS, and drains them when the service stops.
//!
//! warp's own server has none of these, so this loop accepts connections and serves each with hyper. Connections above
//! the maximum wait in the kernel's backlog; connections in their TLS handshake count too. Connections of one address
//! above its share are closed. `connection.rs` implements the timeouts. HTTP, Flight SQL and the cluster use this loop.

use std::error::Error;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::client_address::{Networks, PeerAddress};
use super::connection::{Activity, Timeouts, timed};
use super::connections_by_address::ConnectionsByAddress;
use super::malformed;
use super::tls::Tls;
use toise_telemetry::{Metrics, Refusal};

/// Pause after a failed accept, usually because file descriptors are exhausted.
const ACCEPT_RETRY_AFTER: Duration = Duration::from_millis(100);

/// Maximum bytes of a request head over HTTP/1, which a connection may hold until the head is complete. Over HTTP/2 the
/// library allows 16 KiB.
const HEAD_BYTES_MAX: usize = 96 << 10;
/// Maximum concurrent requests on an HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
/// Maximum requests of an HTTP/2 connection that are refused because too many are running. Clients are informed of the
/// maximum; a client that ignores it is disconnected.
const REFUSED_STREAMS_MAX: usize = 64;
/// Bytes of bodies that a client may send over an HTTP/2 connection before they are read. They stay in memory.
const WINDOW_BYTES: u32 = 256 << 10;

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
    /// Addresses of proxies: their connections carry many clients, so the limits of one address do not apply to them.
    pub proxies: Arc<Networks>,
}

impl Default for ServerLimits {
    /// Returns the limits of the default configuration.
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            connections_per_address_max: 512,
            tls_handshake_timeout: Duration::from_secs(10),
            header_read_timeout: Duration::from_secs(30),
            keep_alive_idle: Duration::from_secs(75),
            drain_timeout: Duration::from_secs(20),
            proxies: Arc::default(),
        }
    }
}

/// Serves any service, over TLS if given, until `stop` resolves, then finishes running requests within the drain
/// timeout.
///
/// Each request gets the extension [`PeerAddress`], and [`malformed::Malformed`] if HTTP forbids it.
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
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let by_address = ConnectionsByAddress::default();
    let graceful = GracefulShutdown::new();
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
        let counted_address = if limits.proxies.contain(peer) {
            None
        } else {
            let Some(counted) = by_address.open(peer, limits.connections_per_address_max) else {
                metrics.record_refusal(Refusal::Connections);
                continue;
            };
            Some(counted)
        };
        // Responses are written in one piece: waiting to fill a segment would only delay them.
        let _ = stream.set_nodelay(true);
        let acceptor = tls.as_ref().map(Tls::acceptor);
        let watcher = graceful.watcher();
        let counted = metrics.connection();
        let client = Client {
            peer,
            requests: counted_address
                .as_ref()
                .map(|counted| Arc::clone(&counted.requests)),
        };
        let (builder, service, limits) = (builder.clone(), service.clone(), limits.clone());
        tokio::spawn(async move {
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
    drop(listener);
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
    // `Activity` limits heads and idle time instead.
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(HEAD_BYTES_MAX)
        .header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_local_error_reset_streams(REFUSED_STREAMS_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .keep_alive_interval(limits.header_read_timeout);
    builder
}

/// Returns the stream after its TLS handshake; `None` if the handshake failed or timed out.
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

/// The client of a connection.
struct Client {
    peer: IpAddr,
    /// A permit for each request that it may still begin; `None` for a proxy, which carries many clients.
    requests: Option<Arc<Semaphore>>,
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
    let activity = Activity::begin(Instant::now());
    let tracked = {
        let activity = activity.clone();
        service_fn(move |mut request: Request<Incoming>| {
            let running = activity.request(request.version());
            insert_extensions(&mut request, client.peer);
            let (service, requests) = (service.clone(), client.requests.clone());
            // Boxed, so that the task of a waiting connection is small.
            Box::pin(async move {
                let permit = match requests {
                    // Never closed; if it were, requests would run without a maximum.
                    Some(requests) => requests.acquire_owned().await.ok(),
                    None => None,
                };
                let response = service.call(request).await;
                drop((running, permit));
                response
            })
        })
    };
    let io = TokioIo::new(timed(stream, activity.clone()));
    let connection = watcher.watch(builder.serve_connection(io, tracked).into_owned());
    let timeouts = Timeouts {
        head: limits.header_read_timeout,
        idle: limits.keep_alive_idle,
    };
    tokio::select! {
        ended = connection => {
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended");
            }
        }
        () = activity.timed_out(timeouts) => {}
    }
}

fn insert_extensions(request: &mut Request<Incoming>, peer: IpAddr) {
    let malformed = malformed::find_fault(request);
    let extensions = request.extensions_mut();
    if let Some(malformed) = malformed {
        extensions.insert(malformed);
    }
    extensions.insert(PeerAddress(peer));
}
