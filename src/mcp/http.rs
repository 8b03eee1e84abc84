//! Streamable HTTP at `/mcp`, beside the service and on the same port.
//!
//! There are no sessions: every message is a request of its own that carries the key, so any server behind a balancer
//! may answer it. A message is checked for key, size and media type here, with the errors of the service; a call of a tool
//! is then a request like any other and counts once against the rate of its key, and every other message does as well.
//!
//! Web pages are refused (`Origin`), so that none can use the service of a machine that it only reaches through the
//! browser of its visitor. Which host a request names does not matter: nothing is answered without a key.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use uuid::Uuid;
use warp::filters::BoxedFilter;
use warp::http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use warp::http::{HeaderMap, Method, Request, StatusCode};
use warp::{Filter, Reply};

use crate::answering::Answering;
use crate::handler::ToolHandler;
use toise_http::body::{self, Incoming};
use toise_http::client_address::PeerAddress;
use toise_http::endpoint::{BODY_BYTES_MAX, JSON_BODY};
use toise_http::error::ApiError;
use toise_http::pipeline::{Head, REQUEST_ID_HEADER};
use toise_http::{App, admission, auth, filters};
use toise_telemetry::log_writer::UNKEYED;

/// Path at which messages are taken.
pub const PATH: &str = "/mcp";
/// What a message without a key lacks.
const NO_KEY: &str = "is required, or the same key as bearer token in authorization";
/// The message that calls a tool.
const CALL: &str = "tools/call";

type Reception = StreamableHttpService<ToolHandler, NeverSessionManager>;

/// The service with `/mcp` beside it.
pub fn beside(app: &App) -> BoxedFilter<(warp::reply::Response,)> {
    let service = filters::service(app.clone());
    let handler = ToolHandler::new(Answering::Here(service.clone()), None);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .enforce_origin_validation();
    let sessions = Arc::new(NeverSessionManager::default());
    let reception = Reception::new(move || Ok(handler.clone()), sessions, config);
    let app = app.clone();
    warp::path!("mcp")
        .and(filters::head())
        .and(body::incoming())
        .then(move |head: Head, body: Incoming| {
            let (app, reception) = (app.clone(), reception.clone());
            async move { answer(&app, &reception, head, body).await }
        })
        .boxed()
        .or(service)
        .unify()
        .boxed()
}

/// Answers a message; in every case, the response has a request id and is logged and counted.
async fn answer(
    app: &App,
    reception: &Reception,
    head: Head,
    mut body: Incoming,
) -> warp::reply::Response {
    let started = Instant::now();
    let request_id = Uuid::now_v7();
    let method = head.method.clone();
    let received = receive(app, &head, &mut body).await;
    if received.is_err() {
        app.pace.keep(head.client(app)).await;
    }
    let mut response = match received {
        Ok(message) => {
            let response = reception.handle(message).await;
            let (parts, body) = response.into_parts();
            let mut response = warp::reply::stream(body.into_data_stream()).into_response();
            *response.status_mut() = parts.status;
            *response.headers_mut() = parts.headers;
            response
        }
        Err(error) => {
            let pace = app.pace.discarding(head.client(app));
            body.drain(&head.headers, Some(BODY_BYTES_MAX), pace).await;
            error.into_response(request_id).into_response()
        }
    };
    let status = response.status();
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Ok(id) = HeaderValue::from_str(&request_id.to_string()) {
        headers.insert(REQUEST_ID_HEADER, id);
    }
    let duration = started.elapsed();
    app.metrics
        .record_request(Some(PATH), method.as_str(), status.as_u16(), duration);
    let client = head.client(app).map(tracing::field::display);
    let status = status.as_u16();
    match status == StatusCode::UNAUTHORIZED.as_u16() {
        true => {
            tracing::info!(target: UNKEYED, %request_id, client, path = PATH, status, "answered");
        }
        false => tracing::info!(%request_id, client, %method, path = PATH, status, "answered"),
    }
    response
}

/// Checks a message and reads it.
async fn receive(
    app: &App,
    head: &Head,
    body: &mut Incoming,
) -> Result<Request<Full<Bytes>>, ApiError> {
    if let Some(malformed) = head.malformed {
        return Err(malformed.into());
    }
    let client = head.client(app);
    let mut headers = head.headers.clone();
    if head.method == Method::POST {
        body::check_headers(JSON_BODY, &headers)?;
    }
    take_bearer(&mut headers);
    if !headers.contains_key(auth::KEY_HEADER) {
        return Err(ApiError::Unauthorised(NO_KEY));
    }
    let key = auth::authenticate(app, &headers, client).await?;
    if !key.may_come_from(client) {
        return Err(ApiError::WrongAddress);
    }
    let bytes = match head.method {
        Method::POST => {
            let mut lease = app.bodies.lease(Some(key.key_id), client);
            let read = body.read(BODY_BYTES_MAX, body::declared(&headers), &mut lease);
            let read = tokio::time::timeout(app.request_timeout, read).await;
            read.map_err(|_| ApiError::BodyInterrupted)??
        }
        _ => Bytes::new(),
    };
    if !is_call(&bytes) {
        admission::admit(app, &app.meters.of(key.key_id, key.allowance))?;
    }
    let mut message = Request::new(Full::new(bytes));
    *message.method_mut() = head.method.clone();
    *message.headers_mut() = headers;
    if let Some(client) = client {
        message.extensions_mut().insert(PeerAddress(client));
    }
    Ok(message)
}

/// Makes the token of `Authorization: Bearer` the key, unless there is one.
fn take_bearer(headers: &mut HeaderMap) {
    if headers.contains_key(auth::KEY_HEADER) {
        return;
    }
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, token)| HeaderValue::from_str(token.trim()).ok());
    if let Some(key) = bearer {
        headers.insert(auth::KEY_HEADER, key);
    }
}

/// Whether a message calls a tool, and so is admitted as the request that the call stands for.
fn is_call(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Called {
        method: String,
    }
    serde_json::from_slice::<Called>(message).is_ok_and(|called| called.method == CALL)
}
