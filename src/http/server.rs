//! Connections: accepted under a cap, timed, and drained within a bound when the service stops.
//!
//! warp's own server has none of the three, so this loop accepts by itself and serves each connection with hyper. A
//! connection beyond the cap waits in the kernel's backlog. One that sends no whole request head in time is closed,
//! also before its first byte, which hyper's header timeout does not cover.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::{App, pipeline};

/// Pause after the system refuses a connection, usually for want of file descriptors.
const ACCEPT_RETRY_AFTER: Duration = Duration::from_millis(100);

/// Bounds of the connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at once.
    pub connections_max: usize,
    /// Longest wait for a request head, idle time between requests included.
    pub header_read_timeout: Duration,
    /// Longest wait for running requests when the service stops.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            header_read_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(20),
        }
    }
}

/// Serves until `stop` resolves, then finishes running requests within the drain timeout.
pub async fn run(
    listener: TcpListener,
    app: App,
    limits: Limits,
    stop: impl Future<Output = ()> + Send,
) {
    let readiness = app.readiness.clone();
    let service = TowerToHyperService::new(warp::service(pipeline::filter(app)));
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let graceful = GracefulShutdown::new();
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.header_read_timeout);
    tokio::pin!(stop);
    readiness.set_ready();
    loop {
        let accepted = async {
            // The semaphore is never closed; were it, the loop would go on without a cap.
            let slot = Arc::clone(&slots).acquire_owned().await.ok();
            (listener.accept().await, slot)
        };
        let (stream, slot) = tokio::select! {
            () = &mut stop => break,
            (accepted, slot) = accepted => match accepted {
                Ok((stream, _peer)) => (stream, slot),
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(ACCEPT_RETRY_AFTER).await;
                    continue;
                }
            },
        };
        // Answers are written whole: waiting to fill a segment only delays them.
        let _ = stream.set_nodelay(true);
        let watcher = graceful.watcher();
        let builder = builder.clone();
        let service = service.clone();
        tokio::spawn(async move {
            let asked = Arc::new(AtomicBool::new(false));
            let noting = {
                let asked = Arc::clone(&asked);
                service_fn(move |request: Request<Incoming>| {
                    asked.store(true, Ordering::Relaxed);
                    service.call(request)
                })
            };
            let io: TokioIo<TcpStream> = TokioIo::new(stream);
            let connection = watcher.watch(builder.serve_connection(io, noting).into_owned());
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = &mut connection => Some(ended),
                () = tokio::time::sleep(limits.header_read_timeout) => None,
            };
            let ended = match ended {
                None if asked.load(Ordering::Relaxed) => Some(connection.await),
                ended => ended,
            };
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "connection ended");
            }
            drop(slot);
        });
    }
    readiness.set_draining();
    drop(listener);
    let connections = graceful.count();
    tracing::info!(connections, "draining");
    if tokio::time::timeout(limits.drain_timeout, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("requests still running were cut off");
    }
}
