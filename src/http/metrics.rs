//! What operators' tools ask: numbers for Prometheus, and whether the process is alive.
//!
//! `/livez` answers 200 as long as the process serves at all: one that does not should be restarted. `/healthz` tells
//! whether it takes requests now: one that does not should be sent none.

use bytes::Bytes;
use warp::http::Response;
use warp::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};

use super::App;
use super::error::ApiError;

/// Prometheus' text format.
const CONTENT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Answers `/metrics`. Sizes are read on a blocking thread.
pub async fn handler(app: &App) -> Result<Response<Bytes>, ApiError> {
    let metrics = app.metrics.clone();
    let rendered = tokio::task::spawn_blocking(move || metrics.render())
        .await
        .map_err(ApiError::internal)?;
    let mut response = Response::new(Bytes::from(rendered));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, CONTENT);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Answers `/livez`.
pub fn livez() -> Response<Bytes> {
    Response::new(Bytes::new())
}
