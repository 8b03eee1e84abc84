//! Authentication and authorisation: resolves the `x-api-key` header to a key that may use the endpoint, or 401 or
//! 403.

use std::net::IpAddr;
use std::sync::Arc;

use warp::http::header::AUTHORIZATION;
use warp::http::{HeaderMap, Method};

use super::App;
use super::endpoint::Access;
use super::error::ApiError;
use toise_accounts::key::KeyRecord;
use toise_telemetry::Refusal;

/// What a key must be.
const INVALID: &str = "must be a key that is known, not revoked and not expired";
/// Header that carries the key.
pub const KEY_HEADER: &str = "x-api-key";

/// The key as a request sends it: in its own header, or else as bearer token.
pub fn key_text(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(text) = headers.get(KEY_HEADER) {
        return Some(text.as_bytes());
    }
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim().as_bytes())
}

/// Whether a request shows something that may be a key, in a header or by a session of the console.
pub fn shows_key(app: &App, method: &Method, headers: &HeaderMap) -> bool {
    key_text(headers).is_some() || !matches!(app.sessions.key(method, headers), Ok(None))
}

/// Returns the valid key of a request: that of its header, or that of its session of the console. The caller checks
/// where it comes from ([`KeyRecord::may_come_from`]).
pub async fn authenticate_call(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
    client: Option<IpAddr>,
) -> Result<Arc<KeyRecord>, ApiError> {
    if key_text(headers).is_none()
        && let Some(text) = app.sessions.key(method, headers)?
    {
        let key = app
            .verifier
            .verify(&text)
            .await
            .map_err(ApiError::internal)?;
        return key.ok_or(ApiError::Unauthorised(INVALID));
    }
    authenticate(app, headers, client).await
}

/// Returns the valid key in the header of a request; the caller checks where it comes from. A text that is no key counts
/// against the client's address.
pub async fn authenticate(
    app: &App,
    headers: &HeaderMap,
    client: Option<IpAddr>,
) -> Result<Arc<KeyRecord>, ApiError> {
    let text = key_text(headers).ok_or(ApiError::Unauthorised(
        "is required, or the same key as bearer token in authorization",
    ))?;
    let text = std::str::from_utf8(text).ok();
    verify(app, text, client).await
}

/// Returns the valid key with a text, if it is one. Otherwise that counts against the client's address.
///
/// # Errors
/// The text is no key, or the address sent too many of those; the store cannot be read.
pub async fn verify(
    app: &App,
    text: Option<&str>,
    client: Option<IpAddr>,
) -> Result<Arc<KeyRecord>, ApiError> {
    let key = match text {
        Some(text) => app
            .verifier
            .verify(text)
            .await
            .map_err(ApiError::internal)?,
        None => None,
    };
    if let Some(key) = key {
        return Ok(key);
    }
    if let Some(client) = client
        && let Err(refused) = app.refused_keys.count(client, app.clock.monotonic())
    {
        app.metrics.record_refusal(Refusal::Keys);
        return Err(ApiError::TooManyRefused(refused.into()));
    }
    Err(ApiError::Unauthorised(INVALID))
}

/// Checks whether a key may use an endpoint with this access.
pub fn authorise(key: &KeyRecord, access: Access) -> Result<(), ApiError> {
    match access {
        Access::Scoped(scope, endpoint) if !key.allows(scope, endpoint) => {
            Err(ApiError::Forbidden { scope, endpoint })
        }
        Access::Public | Access::Keyed | Access::Scoped(..) => Ok(()),
    }
}
