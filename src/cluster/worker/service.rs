//! The Arrow Flight service of a worker, whose actions commands call.

use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, Result as ActionResult, SchemaResult,
    Ticket,
};
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status, Streaming};

use super::WorkerData;
use crate::protocol::{IDENTIFY, Job, PART, unpack};
use crate::{Error, Result};

/// Maximum parts answered at once; further ones wait. Each uses all cores and holds its rows in memory.
const PARTS_AT_ONCE: usize = 2;

type Answer<T> = std::result::Result<Response<T>, Status>;
type Stream<T> = BoxStream<'static, std::result::Result<T, Status>>;

/// The service of one worker.
pub(super) struct WorkService {
    worker_data: Arc<WorkerData>,
    places: Arc<Semaphore>,
}

impl WorkService {
    pub(super) fn new(worker_data: Arc<WorkerData>) -> Self {
        Self {
            worker_data,
            places: Arc::new(Semaphore::new(PARTS_AT_ONCE)),
        }
    }

    /// Runs work that blocks or computes on the blocking pool.
    async fn run(
        &self,
        work: impl FnOnce(&WorkerData) -> Result<Bytes> + Send + 'static,
    ) -> std::result::Result<Bytes, Status> {
        let worker_data = Arc::clone(&self.worker_data);
        let done = tokio::task::spawn_blocking(move || work(&worker_data)).await;
        let done = done.map_err(|error| Status::unavailable(error.to_string()))?;
        done.map_err(status)
    }
}

/// Converts an error to a status. A command takes [`Status::invalid_argument`] as an error that every worker would
/// return, and any other status as a fault of this one.
fn status(error: Error) -> Status {
    match error {
        Error::Refused { reason, .. } => Status::failed_precondition(reason),
        Error::Message(_) | Error::Arrow(_) | Error::Query(_) => {
            Status::invalid_argument(error.to_string())
        }
        error => Status::unavailable(error.to_string()),
    }
}

fn not_offered<T>() -> Answer<T> {
    Err(Status::unimplemented("a worker has no such call"))
}

#[tonic::async_trait]
impl FlightService for WorkService {
    type HandshakeStream = Stream<HandshakeResponse>;
    type ListFlightsStream = Stream<FlightInfo>;
    type DoGetStream = Stream<FlightData>;
    type DoPutStream = Stream<PutResult>;
    type DoExchangeStream = Stream<FlightData>;
    type DoActionStream = Stream<ActionResult>;
    type ListActionsStream = Stream<ActionType>;

    async fn do_action(&self, request: Request<Action>) -> Answer<Self::DoActionStream> {
        let Action { r#type, body } = request.into_inner();
        let body = match r#type.as_str() {
            IDENTIFY => {
                let introduce = |worker_data: &WorkerData| {
                    Ok(serde_json::to_vec(&worker_data.introduction()?)?.into())
                };
                self.run(introduce).await?
            }
            PART => {
                // The semaphore is never closed.
                let _place = self.places.acquire().await.ok();
                self.run(move |worker_data| {
                    let (job, part) = unpack::<Job>(&body)?;
                    worker_data.job(&job)?.answer(&part)
                })
                .await?
            }
            other => return Err(Status::unimplemented(format!("no action {other}"))),
        };
        let answer = stream::iter([Ok(ActionResult { body })]);
        Ok(Response::new(answer.boxed()))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Answer<Self::ListActionsStream> {
        let actions = [
            (
                IDENTIFY,
                "the data and version that this worker answers from",
            ),
            (PART, "the answer to a part of a bulk job"),
        ];
        let actions = actions.map(|(name, description)| {
            Ok(ActionType {
                r#type: name.into(),
                description: description.into(),
            })
        });
        Ok(Response::new(stream::iter(actions).boxed()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Answer<Self::HandshakeStream> {
        not_offered()
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        not_offered()
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        not_offered()
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<PollInfo> {
        not_offered()
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        not_offered()
    }

    async fn do_get(&self, _: Request<Ticket>) -> Answer<Self::DoGetStream> {
        not_offered()
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        not_offered()
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Answer<Self::DoExchangeStream> {
        not_offered()
    }
}
