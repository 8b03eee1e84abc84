//! The key of a request: in its header, as bearer token, or behind the cookie of a console session.

use std::borrow::Cow;

use warp::http::header::AUTHORIZATION;
use warp::http::{HeaderMap, Method};

use toise_service::App;
use toise_service::admission::KEY_HEADER;
use toise_service::error::ApiError;

/// Returns the text of the key in the headers of a request: in the key header, otherwise as a bearer token.
pub fn key_text(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(text) = headers.get(KEY_HEADER) {
        return Some(text.as_bytes());
    }
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim().as_bytes())
}

/// Returns the text of the key of a request: from its headers, otherwise from its console session.
///
/// # Errors
/// The request changes something and does not carry the token of its session.
pub fn find_key<'h>(
    app: &App,
    method: &Method,
    headers: &'h HeaderMap,
) -> Result<Option<Cow<'h, [u8]>>, ApiError> {
    if let Some(text) = key_text(headers) {
        return Ok(Some(text.into()));
    }
    let session = app.access.sessions.key(method, headers)?;
    Ok(session.map(|text| text.into_bytes().into()))
}
