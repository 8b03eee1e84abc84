//! A worker: answers parts of bulk jobs and plans of SQL for commands on other machines.
//!
//! It holds the data of a folder ([`WorkerData`]). `datafusion-distributed` runs plans, in sessions with the functions
//! and data files of this folder (`sessions`). The code of the local commands answers parts of bulk jobs (`parts`). A
//! replica's worker follows the publications of its writer (`follow`).

mod data;
mod follow;
mod parts;
mod service;
mod sessions;

use std::future::Future;
use std::sync::Arc;

use arrow_flight::flight_service_server::FlightServiceServer;
use datafusion_distributed::Worker;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Status};

use crate::Access;
use crate::protocol::MESSAGE_BYTES_MAX;
pub use data::WorkerData;
pub use follow::WorkerReplica;
use service::WorkService;
use sessions::Sessions;
use toise_telemetry::Metrics;
use toise_transport::server::{ServerLimits, accept};
use toise_transport::tls::Tls;

/// Serves commands until `stop` resolves, then finishes running requests within the drain timeout.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    access: Access,
    worker_data: Arc<WorkerData>,
    (limits, metrics): (ServerLimits, Metrics),
    stop: impl Future<Output = ()> + Send,
) {
    let sessions = Sessions::new(Arc::clone(&worker_data), access.clone());
    let plans = Worker::from_session_builder(sessions).with_version(env!("CARGO_PKG_VERSION"));
    let parts = FlightServiceServer::new(WorkService::new(worker_data))
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let routes = Routes::new(parts).add_service(plans.into_worker_server());
    let guarded = InterceptedService::new(routes, move |request: Request<()>| {
        if access.admits(request.metadata()) {
            Ok(request)
        } else {
            Err(Status::unauthenticated("the token does not match"))
        }
    });
    accept(
        listener,
        tls,
        metrics,
        limits,
        TowerToHyperService::new(guarded),
        stop,
    )
    .await;
}
