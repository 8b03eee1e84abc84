//! Probes for operators' tools: liveness, readiness, metrics and version.
//!
//! `/livez` answers 200 as long as the process serves at all: a process that does not should be restarted.
//! `/healthz` reports whether it accepts requests now: if not, none should be sent.

use bytes::Bytes;
use futures::FutureExt;
use serde_json::json;
use warp::http::Response;
use warp::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};

use crate::endpoint::Endpoint;
use crate::endpoint::response::ApiResponse;
use crate::openapi::{Operation, content, enveloped, reference};
use toise_contract::fields::schema::record;
use toise_service::App;
use toise_service::error::ApiError;

/// Media type of the Prometheus text format.
const CONTENT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Header of `/healthz` with the workers that wait for another process, and which.
const WAITS_FOR: HeaderName = HeaderName::from_static("x-toise-waits-for");

/// Header of `/healthz` with the tables of open data whose last refresh failed.
const NOT_REFRESHED: HeaderName = HeaderName::from_static("x-toise-not-refreshed");

/// The endpoints for probes, metrics and version.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint::page("/healthz", |call| healthz(call.app).boxed()).with_operation(|| {
        let not_ready = json!({
            "description": "The service is starting or draining, a worker hangs, or the disk is full or not \
                            writable",
            "content": content(reference("Error")),
        });
        Operation::new("healthz", "Readiness of the service")
            .with_only_listed_failures()
            .with_response("503", not_ready)
    }),
    Endpoint::page("/livez", |_| {
        async { Ok(Response::new(Bytes::new()).into()) }.boxed()
    })
    .with_operation(|| Operation::new("livez", "Whether the process answers at all")),
    Endpoint::page("/metrics", |call| metrics(call.app).boxed()).with_operation(|| {
        Operation::new("metrics", "Metrics of the service for Prometheus")
            .with_answer_of_type("text/plain", json!({"type": "string"}))
    }),
    Endpoint::page("/version", |_| async { Ok(version()) }.boxed()).with_operation(|| {
        Operation::new("version", "Version of the service")
            .with_answer(enveloped(record(json!({"version": {"type": "string"}}))))
    }),
];

async fn healthz(app: &App) -> Result<ApiResponse, ApiError> {
    if let Some(reason) = app.readiness.refusal() {
        return Err(ApiError::NotReady(reason));
    }
    let mut response = Response::new(Bytes::new());
    // The server is ready: its calls are answered whichever process runs the workers.
    if let Some(waits) = app.readiness.waits()
        && let Ok(waits) = HeaderValue::try_from(waits)
    {
        response.headers_mut().insert(WAITS_FOR, waits);
    }
    // The tables are still those that were held.
    if let Some(tables) = app.readiness.not_refreshed()
        && let Ok(tables) = HeaderValue::try_from(tables)
    {
        response.headers_mut().insert(NOT_REFRESHED, tables);
    }
    Ok(response.into())
}

/// Handles `/metrics`. Sizes are read on a blocking thread.
pub async fn metrics(app: &App) -> Result<ApiResponse, ApiError> {
    let metrics = app.metrics.clone();
    let rendered = tokio::task::spawn_blocking(move || metrics.render())
        .await
        .map_err(ApiError::internal)?;
    let mut response = Response::new(Bytes::from(rendered));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, CONTENT);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response.into())
}

fn version() -> ApiResponse {
    ApiResponse::data(json!({"version": env!("CARGO_PKG_VERSION")}))
}
