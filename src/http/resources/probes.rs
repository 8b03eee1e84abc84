//! Probes for operators' tools: liveness, readiness, metrics and version.
//!
//! `/livez` answers 200 as long as the process serves at all: a process that does not should be restarted.
//! `/healthz` reports whether it accepts requests now: if not, none should be sent.

use serde_json::json;
use warp::http::StatusCode;
use warp::http::header::{CACHE_CONTROL, HeaderName};

use crate::endpoint::call::Call;
use crate::endpoint::response::ApiResponse;
use crate::endpoint::{Access, Endpoint, endpoints};
use crate::openapi::{Operation, content, enveloped, reference};
use toise_contract::fields::schema::record;
use toise_service::App;
use toise_service::error::ApiError;

/// Media type of the Prometheus text format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Header of `/healthz` with the workers that wait for another process, and which.
const WAITS_FOR: HeaderName = HeaderName::from_static("x-toise-waits-for");

/// Header of `/healthz` with the tables of open data whose last refresh failed.
const NOT_REFRESHED: HeaderName = HeaderName::from_static("x-toise-not-refreshed");

/// The endpoints for probes, metrics and version.
pub const ENDPOINTS: &[Endpoint] = endpoints! {
    GET "/healthz", Access::Public, Reads, healthz(call).with_operation(healthz_operation);
    GET "/livez", Access::Public, Reads, livez(call)
        .with_operation(|| Operation::new("livez", "Whether the process answers at all"));
    GET "/metrics", Access::Public, Reads, current_metrics(call)
        .with_operation(|| {
            Operation::new("metrics", "Metrics of the service for Prometheus")
                .with_response_of_type("text/plain", json!({"type": "string"}))
        });
    GET "/version", Access::Public, Reads, version(call)
        .with_operation(|| {
            Operation::new("version", "Version of the service")
                .with_response(enveloped(record(json!({"version": {"type": "string"}}))))
        });
};

fn healthz_operation() -> Operation {
    let not_ready = json!({
        "description": "The service is starting or draining, a worker hangs, or the disk is full or not writable",
        "content": content(reference("Error")),
    });
    Operation::new("healthz", "Readiness of the service")
        .with_only_listed_failures()
        .with_other_response("503", not_ready)
}

async fn healthz(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let readiness = &call.app.readiness;
    if let Some(reason) = readiness.refusal() {
        return Err(ApiError::NotReady(reason));
    }
    let mut response = ApiResponse::empty(StatusCode::OK);
    // The server is ready: it answers calls no matter which process runs the workers.
    if let Some(waits) = readiness.waits() {
        response = response.with_header(WAITS_FOR, &waits);
    }
    // The server uses the previous tables.
    if let Some(tables) = readiness.not_refreshed() {
        response = response.with_header(NOT_REFRESHED, &tables);
    }
    Ok(response)
}

async fn livez(_: &Call<'_>) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::empty(StatusCode::OK))
}

/// Handles `/metrics`, and the same metrics for operators.
pub(super) async fn current_metrics(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    metrics(call.app).await
}

/// Returns the metrics of a service. Sizes are read on a blocking thread.
pub async fn metrics(app: &App) -> Result<ApiResponse, ApiError> {
    let metrics = app.metrics.clone();
    let rendered = tokio::task::spawn_blocking(move || metrics.render())
        .await
        .map_err(ApiError::internal)?;
    Ok(ApiResponse::typed(CONTENT_TYPE, rendered).with_header(CACHE_CONTROL, "no-store"))
}

async fn version(_: &Call<'_>) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::data(
        json!({"version": env!("CARGO_PKG_VERSION")}),
    ))
}
