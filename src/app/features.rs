//! The parts of the service that a build may leave out: Flight SQL and the Model Context Protocol.

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use warp::filters::BoxedFilter;

use crate::Failure;
use crate::config::Config;
use toise_service::App;
use toise_transport::server::ServerLimits;
use toise_transport::tls::Tls;

/// Refuses settings of parts that this executable does not have.
///
/// # Errors
/// `flight.listen` is set, and the executable was built without Flight SQL.
pub fn check(config: &Config) -> Result<(), Failure> {
    if cfg!(feature = "flight") || config.flight.listen.is_empty() {
        return Ok(());
    }
    Err("this executable was built without Arrow Flight SQL: leave flight.listen empty, or build it with \
         --features flight"
        .into())
}

/// Serves Flight SQL until `stop` resolves.
#[cfg(feature = "flight")]
pub fn serve_flight(
    listener: TcpListener,
    tls: Option<Tls>,
    app: App,
    limits: ServerLimits,
    stop: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(toise_flight::run(listener, tls, app, limits, stop))
}

/// Does nothing: [`check`] has refused an address for Flight SQL.
#[cfg(not(feature = "flight"))]
pub fn serve_flight(
    _: TcpListener,
    _: Option<Tls>,
    _: App,
    _: ServerLimits,
    _: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async {})
}

/// Returns the whole service as one filter, with the Model Context Protocol at `/mcp` if it is built in and enabled.
pub fn service(config: &Config, app: &App) -> BoxedFilter<(warp::reply::Response,)> {
    #[cfg(feature = "mcp")]
    if config.mcp.enabled {
        return toise_mcp::http::with_mcp(app);
    }
    let _ = config;
    toise_http::filters::service(app.clone())
}
