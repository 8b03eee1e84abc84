//! Arrow Flight SQL on its own port: the same queries, limits, scope, price and audit log as SQL over HTTP.
//!
//! A client authenticates every call with its API key (`gate`): as a bearer token, in the header `x-api-key`, or as the
//! password of a handshake, which answers with the bearer token. A statement is planned when a client asks for its
//! information, and runs when the client redeems its ticket (`service`). The ticket is the statement itself, so the
//! server keeps no state in between. Prepared statements are kept with the parameters bound to them (`prepared`); the
//! parameters are checked first ([`parameters`]). Requests for catalogs, schemas and tables are answered from the
//! tables of the service (`catalog`).
//!
//! Everything here runs on the query threads, which have low priority, so encoding rows never delays HTTP.

#![forbid(unsafe_code)]

mod catalog;
mod gate;
pub mod parameters;
mod prepared;
mod service;

use std::future::Future;

use arrow_flight::flight_service_server::FlightServiceServer;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

use service::FlightSql;
use toise_service::App;
use toise_transport::server::{ServerLimits, accept};
use toise_transport::tls::Tls;

/// Serves Flight SQL, over TLS if given, until `stop` resolves, then finishes running calls within the drain timeout.
pub async fn run(
    listener: TcpListener,
    tls: Option<Tls>,
    app: App,
    limits: ServerLimits,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let metrics = app.metrics.clone();
    let handle = match app.data.sql.handle() {
        Ok(handle) => handle,
        Err(error) => {
            tracing::error!(%error, "Flight SQL is not served");
            return;
        }
    };
    let service = FlightServiceServer::new(FlightSql::new(app));
    let service = TowerToHyperService::new(service);
    let serving = handle.spawn(accept(listener, tls, metrics, limits, service, stop));
    if let Err(error) = serving.await {
        tracing::error!(%error, "Flight SQL ended");
    }
}
