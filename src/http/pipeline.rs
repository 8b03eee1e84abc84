//! What every request passes, in this order and nowhere else: request id, route, limits of size and time, key, scope,
//! endpoint, headers. Rate limits and quotas belong between scope and endpoint, credits between endpoint and headers.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use bytes::{Buf, Bytes};
use futures::{FutureExt, Stream};
use serde_json::json;
use uuid::Uuid;
use warp::Filter;
use warp::filters::BoxedFilter;
use warp::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use warp::http::{HeaderMap, Method, Response};
use warp::path::FullPath;

use super::error::ApiError;
use super::routes::{self, BodyRule, Endpoint};
use super::{App, auth, body, openapi, opendata};

/// Header that names a request, on every answer.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Header that tells the credits a call cost, on every protected answer.
pub const CREDITS_HEADER: HeaderName = HeaderName::from_static("x-credits");
const PROTECTED_PREFIX: &str = "/v2/protected/";

/// The whole service as one warp filter, which takes every request and rejects none.
pub fn filter(app: App) -> BoxedFilter<(Response<Bytes>,)> {
    warp::method()
        .and(warp::path::full())
        .and(warp::header::headers_cloned())
        .and(warp::body::stream())
        .then(
            move |method: Method, path: FullPath, headers: HeaderMap, body| {
                let app = app.clone();
                async move { answer(&app, &method, path.as_str(), &headers, body).await }
            },
        )
        .boxed()
}

async fn answer<S, B>(
    app: &App,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    mut body: S,
) -> Response<Bytes>
where
    S: Stream<Item = Result<B, warp::Error>> + Unpin,
    B: Buf,
{
    let started = Instant::now();
    let request_id = Uuid::now_v7();
    let bounded = tokio::time::timeout(
        app.request_timeout,
        handle(app, method, path, headers, &mut body),
    );
    // A panic must not take the connection, and the other requests on it, along.
    let outcome = match AssertUnwindSafe(bounded).catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_elapsed)) => Err(ApiError::TimedOut),
        Err(_panic) => Err(ApiError::internal("the endpoint panicked")),
    };
    let mut response = match outcome {
        Ok(response) => response,
        Err(error) => {
            body::drain(&mut body, headers).await;
            error.into_response(request_id)
        }
    };
    let answer_headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&request_id.to_string()) {
        answer_headers.insert(REQUEST_ID_HEADER, id);
    }
    if path.starts_with(PROTECTED_PREFIX) {
        answer_headers.insert(CREDITS_HEADER, HeaderValue::from_static("0"));
    }
    tracing::info!(
        %request_id,
        %method,
        path,
        status = response.status().as_u16(),
        duration_us = started.elapsed().as_micros() as u64,
        "answered"
    );
    response
}

async fn handle<S, B>(
    app: &App,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: &mut S,
) -> Result<Response<Bytes>, ApiError>
where
    S: Stream<Item = Result<B, warp::Error>> + Unpin,
    B: Buf,
{
    if !is_percent_encoded(path) {
        return Err(ApiError::BrokenEncoding);
    }
    let route = routes::find(method, path)?;
    // The length is refused before the key is looked at, the body read only after it.
    body::check_headers(route.body, headers)?;
    let _key = auth::authorise(&app.verifier, route.access, headers)?;
    let bytes = match route.body {
        BodyRule::None => Bytes::new(),
        BodyRule::Json { bytes_max } => body::read(body, bytes_max).await?,
    };
    match route.endpoint {
        Endpoint::Healthz => healthz(app),
        Endpoint::Version => Ok(version()),
        Endpoint::OpenApi => Ok(json_response(openapi::document_bytes())),
        Endpoint::Search(dataset) => opendata::search(app, dataset, bytes).await,
        Endpoint::Match(dataset) => opendata::find_matches(app, dataset, bytes).await,
        Endpoint::MatchMany(dataset) => opendata::find_matches_many(app, dataset, bytes).await,
    }
}

/// A 200 answer with a JSON text.
pub(super) fn json_response(body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn healthz(app: &App) -> Result<Response<Bytes>, ApiError> {
    if app.readiness.is_ready() {
        Ok(Response::new(Bytes::new()))
    } else {
        Err(ApiError::NotReady)
    }
}

/// Whether every `%` of a path is followed by two hexadecimal digits.
fn is_percent_encoded(path: &str) -> bool {
    path.split('%').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

fn version() -> Response<Bytes> {
    let body = json!({"data": {"version": env!("CARGO_PKG_VERSION")}});
    json_response(Bytes::from(body.to_string()))
}
