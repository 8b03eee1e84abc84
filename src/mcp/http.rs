//! Streamable HTTP at `/mcp`, on the port of the service.
//!
//! There are no sessions: every message is a separate request that carries the key, so any server behind a balancer may
//! answer it. This module checks key, size and media type of a message, with the errors of the service. Each message
//! counts once against the rate of its key. A short tool call counts as the request that it makes, so that an agent
//! above its rate gets a tool result that says so. All other messages are counted here.
//!
//! Requests of web pages (`Origin`) are refused, so that no page can use its visitor's browser to reach a service that
//! it cannot reach itself. The host that a request names is not checked, because no request is answered without a key.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;
use warp::filters::BoxedFilter;
use warp::http::header::{HeaderValue, WWW_AUTHENTICATE};
use warp::http::{Method, Request, Response, StatusCode};
use warp::{Filter, Reply};

use crate::backend::Backend;
use crate::catalog;
use crate::handler::ToolHandler;
use crate::refusals;
use crate::request::build_request;
use toise_accounts::key::KeyRecord;
use toise_http::endpoint::{BODY_BYTES_MAX, JSON_BODY};
use toise_http::error::error_response;
use toise_http::filters;
use toise_http::input::{credentials, parsed_size};
use toise_http::pipeline::head::{AlreadyCounted, Head};
use toise_http::pipeline::response_headers;
use toise_service::App;
use toise_service::admission::{self, CallRules, Caller, KEY_HEADER};
use toise_service::error::ApiError;
use toise_transport::body::{self, BodyError, Incoming};
use toise_transport::client_address::PeerAddress;
use toise_transport::request_line::{self, RequestLine};

/// Path that receives messages.
pub const PATH: &str = "/mcp";
/// The method of messages that call a tool.
const CALL: &str = "tools/call";
/// Maximum bytes of a message that is parsed before it is counted.
const SHORT_BYTES: usize = 16 << 10;

type McpService = StreamableHttpService<ToolHandler, NeverSessionManager>;

/// Returns the filters of the service, with `/mcp` added.
pub fn with_mcp(app: &App) -> BoxedFilter<(warp::reply::Response,)> {
    let service = filters::service(app.clone());
    let handler = ToolHandler::new(Backend::Here(service.clone()), None);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .enforce_origin_validation();
    let sessions = Arc::new(NeverSessionManager::default());
    let reception = McpService::new(move || Ok(handler.clone()), sessions, config);
    // A filter clones its captured values for every request.
    let (app, reception) = (Arc::new(app.clone()), Arc::new(reception));
    warp::path!("mcp")
        .and(filters::head())
        .and(body::incoming())
        .then(move |head: Head, body: Incoming| {
            let (app, reception) = (app.clone(), reception.clone());
            async move { respond(&app, &reception, head, body).await }
        })
        .boxed()
        .or(service)
        .unify()
        .boxed()
}

/// Answers a message. Every response has a request id, and every message is logged and counted.
async fn respond(
    app: &App,
    reception: &McpService,
    head: Head,
    mut body: Incoming,
) -> warp::reply::Response {
    let started = Instant::now();
    let request_id = Uuid::now_v7();
    let mut key = None;
    let mut response = match receive(app, &head, &mut body, &mut key).await {
        Ok(message) => {
            let response = reception.handle(message).await;
            if refusals::is_plain_text(&response) {
                refusals::to_api_error(response, request_id)
                    .await
                    .into_response()
            } else {
                let (parts, body) = response.into_parts();
                let mut response = warp::reply::stream(body.into_data_stream()).into_response();
                *response.status_mut() = parts.status;
                *response.headers_mut() = parts.headers;
                response
            }
        }
        Err(error) => {
            body.drain(&head.headers, Some(BODY_BYTES_MAX)).await;
            error_response(&error, request_id).into_response()
        }
    };
    set_headers(&mut response, app, request_id, key.as_deref());
    log(
        app,
        &head,
        request_id,
        key.as_deref(),
        &response,
        started.elapsed(),
    );
    response
}

fn set_headers<B>(
    response: &mut Response<B>,
    app: &App,
    request_id: Uuid,
    key: Option<&KeyRecord>,
) {
    let is_unauthorised = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    if is_unauthorised {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(key) = key {
        let meter = app.access.meters.of(key.key_id, key.allowance);
        response_headers::set_rate_headers(headers, meter.rate());
    }
    response_headers::set_request_id(headers, request_id);
}

fn log<B>(
    app: &App,
    head: &Head,
    request_id: Uuid,
    key: Option<&KeyRecord>,
    response: &Response<B>,
    duration: Duration,
) {
    let (method, status) = (head.method.as_str(), response.status().as_u16());
    app.metrics
        .record_request(Some(PATH), method, status, duration);
    request_line::write(&RequestLine {
        request_id,
        client: head.client(app),
        method,
        path: PATH,
        status,
        key_id: key.map(|key| key.key_id),
        // The log line of the tool's own request states its credits.
        credits: 0,
        duration,
    });
}

/// Admits a message and reads it. Sets `valid` to its key.
async fn receive(
    app: &App,
    head: &Head,
    body: &mut Incoming,
    valid: &mut Option<Arc<KeyRecord>>,
) -> Result<Request<Full<Bytes>>, ApiError> {
    let client = head.client(app);
    if let Some(malformed) = head.malformed {
        admission::admit_public(app, client)?;
        return Err(malformed.into());
    }
    let key = credentials::key_text(&head.headers);
    let caller = Caller {
        key,
        address: client,
    };
    let rules = CallRules {
        counts_against_rate: false,
        ..CallRules::KEYED
    };
    let admitted = admission::admit(app, caller, rules).await?;
    let mut headers = head.headers.clone();
    if let Some(key) = key.and_then(|key| HeaderValue::from_bytes(key).ok()) {
        // The tools read the key from there, even if it came as a bearer token.
        headers.insert(KEY_HEADER, key);
    }
    if head.method == Method::POST {
        body::check_headers(JSON_BODY, &headers)?;
    }
    let key_id = admitted.key.key_id;
    *valid = Some(Arc::clone(&admitted.key));
    let bytes = match head.method {
        Method::POST => {
            let mut lease = app.capacity.bodies.lease(Some(key_id), client);
            let read = async {
                let read = body.read(BODY_BYTES_MAX, body::declared(&headers), &mut lease);
                let pool = &app.capacity.pool;
                parsed_size::bounded(read.await?, &mut lease, pool, Some(key_id)).await
            };
            let read = tokio::time::timeout(app.capacity.request_timeout, read).await;
            read.map_err(|_| BodyError::Interrupted)??
        }
        _ => Bytes::new(),
    };
    let is_counted_later = bytes.len() <= SHORT_BYTES && is_tool_request(&bytes);
    let mut message = Request::new(Full::new(bytes));
    if !is_counted_later {
        admitted.count_against_rate(app)?;
        message.extensions_mut().insert(AlreadyCounted);
    }
    *message.method_mut() = head.method.clone();
    *message.headers_mut() = headers;
    if let Some(client) = client {
        message.extensions_mut().insert(PeerAddress(client));
    }
    Ok(message)
}

/// Returns whether a message calls a tool, which sends a request to the service.
fn is_tool_request(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: String,
        params: Call,
    }
    #[derive(Deserialize)]
    struct Call {
        name: String,
        #[serde(default)]
        arguments: Map<String, Value>,
    }
    let Ok(Message { method, params }) = serde_json::from_slice(message) else {
        return false;
    };
    method == CALL
        && catalog::find(&params.name)
            .is_some_and(|tool| build_request(tool, params.arguments).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_a_request_is_counted_as_one() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"#;
        let is_one = |params: &str| is_tool_request(format!("{call}{params}}}").as_bytes());
        assert!(is_one(r#"{"name":"search_sales","arguments":{}}"#));
        assert!(is_one(r#"{"name":"search_sales"}"#));
        for other in [
            r#"{"name":"nothing","arguments":{}}"#,
            r#"{"name":"search_sales","arguments":{"nothing":1}}"#,
            r#"{"name":"search_sales","arguments":[]}"#,
            "null",
        ] {
            assert!(!is_one(other), "{other}");
        }
        assert!(!is_tool_request(
            br#"{"method":"tools/list","params":{"name":"search_sales"}}"#
        ));
    }
}
