//! Sends the requests of tools, either to the HTTP filters of this process or through a server.

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use reqwest::Method;
use serde_json::{Value, json};
use tower_service::Service;
use uuid::Uuid;
use warp::filters::BoxedFilter;
use warp::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use warp::http::{Request, StatusCode};

use crate::request::ToolRequest;
use toise_http::endpoint::BODY_BYTES_MAX;
use toise_http::error::error_response;
use toise_http::pipeline::head::AlreadyCounted;
use toise_net::api_client::{ApiClient, Error};
use toise_service::admission::KEY_HEADER;
use toise_service::error::ApiError;
use toise_sql::audit::Protocol;
use toise_transport::body::BodyError;
use toise_transport::client_address::PeerAddress;

/// Maximum bytes of the response to a tool call.
pub const RESPONSE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What responds to the requests of tools. Cheap to clone.
#[derive(Clone)]
pub enum Backend {
    /// The filters of this process.
    Here(BoxedFilter<(warp::reply::Response,)>),
    /// A server, called with the key of this client.
    Server(ApiClient),
}

/// The caller of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller<'c> {
    /// Its key.
    pub key: Option<&'c HeaderValue>,
    /// Its address, if it called over the network.
    pub peer: Option<PeerAddress>,
    /// Set if the message has been counted against the rate of the key.
    pub counted: Option<AlreadyCounted>,
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolResponse {
    /// Whether the status is 2xx.
    pub is_success: bool,
    /// The body.
    pub body: Value,
}

/// The reason why a request has no usable response.
#[derive(Debug, thiserror::Error)]
enum BackendError {
    /// The response is longer than [`RESPONSE_BYTES_MAX`].
    #[error(
        "the answer is longer than {} MiB; ask for less, by narrower filters or fewer records",
        RESPONSE_BYTES_MAX >> 20
    )]
    TooLong,
    /// The response was cut off, for example because a query reached a limit while it ran.
    #[error(
        "the answer is incomplete, as when a query reaches a limit while it runs; ask for fewer rows"
    )]
    Unfinished,
    /// The response is not JSON.
    #[error("the answer is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// The key is not a valid header value, or the target is not a valid address.
    #[error("the request cannot be sent: {0}")]
    Unsendable(warp::http::Error),
    /// The server cannot be reached.
    #[error(transparent)]
    Unreached(Error),
}

impl Backend {
    /// Sends a request with the key of a caller. A failure also becomes a response.
    pub(crate) async fn send(&self, request: ToolRequest, caller: Caller<'_>) -> ToolResponse {
        // Checked here, because a server drops the connection of a client that sends far too much instead of responding.
        if request
            .body
            .as_ref()
            .is_some_and(|body| body.len() > BODY_BYTES_MAX)
        {
            let bytes_max = BODY_BYTES_MAX;
            return ToolResponse::refused(BodyError::TooLarge { bytes_max }.into());
        }
        let response = match self {
            Self::Here(filter) => call_filter(filter, request, caller).await,
            Self::Server(client) => call_server(client, request).await,
        };
        response.unwrap_or_else(|error| failed(&error.to_string()))
    }
}

impl ToolResponse {
    fn from_body(status: u16, body: &[u8]) -> Result<Self, BackendError> {
        Ok(Self {
            is_success: (200..300).contains(&status),
            body: serde_json::from_slice(body).map_err(BackendError::NotJson)?,
        })
    }

    /// Returns the service's error as the response to a call that makes no request.
    pub(crate) fn refused(error: ApiError) -> Self {
        let response = error_response(&error, Uuid::now_v7());
        Self {
            is_success: false,
            body: serde_json::from_slice(response.body()).unwrap_or_default(),
        }
    }
}

fn failed(message: &str) -> ToolResponse {
    let code = ApiError::NotReady(Default::default()).status_and_code().1;
    ToolResponse {
        is_success: false,
        body: json!({"error": {"message": message, "code": code}}),
    }
}

async fn call_filter(
    filter: &BoxedFilter<(warp::reply::Response,)>,
    request: ToolRequest,
    caller: Caller<'_>,
) -> Result<ToolResponse, BackendError> {
    let body = request.body.unwrap_or_default();
    let mut builder = Request::builder()
        .method(request.method)
        .uri(request.target)
        .header(CONTENT_TYPE, "application/json")
        .header(CONTENT_LENGTH, body.len())
        // Lets the audit log distinguish queries of tools from others.
        .extension(Protocol::Mcp);
    if let Some(key) = caller.key {
        builder = builder.header(KEY_HEADER, key);
    }
    if let Some(peer) = caller.peer {
        builder = builder.extension(peer);
    }
    if let Some(counted) = caller.counted {
        builder = builder.extension(counted);
    }
    let request = builder
        .body(Full::new(body))
        .map_err(BackendError::Unsendable)?;
    let Ok(response) = warp::service(filter.clone()).call(request).await;
    let status = response.status().as_u16();
    let collected = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect();
    let body = collected
        .await
        .map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => BackendError::TooLong,
            None => BackendError::Unfinished,
        })?;
    ToolResponse::from_body(status, &body.to_bytes())
}

async fn call_server(
    client: &ApiClient,
    request: ToolRequest,
) -> Result<ToolResponse, BackendError> {
    let ToolRequest {
        method,
        target,
        body,
    } = request;
    let asked = client.send(method, &target, body, RESPONSE_BYTES_MAX).await;
    let (status, body) = asked.map_err(|error| match error {
        Error::TooLong(_) => BackendError::TooLong,
        error => BackendError::Unreached(error),
    })?;
    ToolResponse::from_body(status, &body)
}

/// Checks that the server responds and accepts the key.
///
/// # Errors
/// The server cannot be reached, or does not accept the key.
pub(crate) async fn check(client: &ApiClient) -> Result<(), String> {
    let asked = client
        .send(Method::GET, CHECKED_PATH, None, RESPONSE_BYTES_MAX)
        .await;
    let (status, body) = asked.map_err(|error| error.to_string())?;
    if status == StatusCode::OK {
        return Ok(());
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = body["error"]["message"].as_str().map(str::to_owned);
    Err(message.unwrap_or_else(|| format!("the server answered {status}")))
}

/// A free endpoint that any key may call.
const CHECKED_PATH: &str = "/v2/protected/consumption";
