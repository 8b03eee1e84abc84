//! `toise serve`: the HTTP service over a data folder, until SIGTERM or Ctrl-C.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use super::{CommandResult, Common};
use crate::accounts::credits::Prices;
use crate::accounts::ledger::Ledger;
use crate::accounts::meter::Meters;
use crate::accounts::verify::Verifier;
use crate::clock::Clock;
use crate::engine::Budget;
use crate::engine::cursor::CursorKey;
use crate::engine::pool::Pool;
use crate::http::idempotency::Claims;
use crate::http::opendata::Answers;
use crate::http::server::{self, Limits};
use crate::http::{App, Readiness};
use crate::opendata::OpenData;
use crate::store::Store;

/// Longest a request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Questions that may wait for a thread of the query pool.
const QUERY_QUEUE_MAX: usize = 256;
/// Name of the secret that seals cursors.
const CURSOR_SECRET: &str = "cursor";

/// Arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "HOST:PORT")]
    pub listen: String,
}

/// Runs `serve`.
pub fn run(common: &Common, arguments: &ServeArgs) -> CommandResult {
    let as_json = common.json;
    let open_data = OpenData::open(&common.data, Budget::default())?;
    serve(
        &common.data,
        &arguments.listen,
        Arc::new(open_data),
        move |address| {
            if as_json {
                println!("{}", json!({"address": format!("http://{address}")}));
            } else {
                println!("listening on http://{address}");
            }
            Ok(())
        },
    )
}

/// Serves a data folder until SIGTERM or Ctrl-C; `on_ready` is told the address once requests are taken.
pub fn serve(
    data: &Path,
    listen: &str,
    answers: Arc<dyn Answers>,
    on_ready: impl FnOnce(SocketAddr) -> CommandResult,
) -> CommandResult {
    log_to_standard_error();
    let store = Store::open(data)?;
    let app = app(&store, answers, &Clock::system())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Signals are caught before the address is told, so that none sent from then on is lost.
        let stop = stop_signal()?;
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = listener.local_addr()?;
        on_ready(address)?;
        server::run(listener, app, Limits::default(), stop).await;
        Ok(())
    })
}

/// The service over a store and tables, not yet listening.
pub fn app(
    store: &Store,
    answers: Arc<dyn Answers>,
    clock: &Clock,
) -> Result<App, Box<dyn std::error::Error + Send + Sync>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(App {
        answers,
        store: store.clone(),
        clock: clock.clone(),
        meters: Meters::new(clock.clone()),
        prices: Arc::new(Prices::default()),
        ledger: Ledger::start(store.clone()),
        claims: Claims::default(),
        verifier: Verifier::new(store.clone(), clock.clone())?,
        cursors: CursorKey::new(store.secret(CURSOR_SECRET)?),
        pool: Pool::new(threads, QUERY_QUEUE_MAX)?,
        readiness: Readiness::default(),
        request_timeout: REQUEST_TIMEOUT,
    })
}

fn log_to_standard_error() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // A caller that installed its own subscriber keeps it.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
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
