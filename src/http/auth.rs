//! The key of a request: from the `x-api-key` header to a key that may use the route, or 401 or 403.

use std::sync::Arc;

use warp::http::HeaderMap;

use super::error::ApiError;
use super::routes::Access;
use crate::accounts::keys::KeyRecord;
use crate::accounts::verify::Verifier;

/// Header that carries the key.
pub const KEY_HEADER: &str = "x-api-key";

/// The key of a request to a route with this access; `None` on a public route, whatever the header says.
///
/// Reads the store on the calling thread when the key was not seen lately: one indexed row, tens of microseconds.
pub fn authorise(
    verifier: &Verifier,
    access: Access,
    headers: &HeaderMap,
) -> Result<Option<Arc<KeyRecord>>, ApiError> {
    let Access::Scoped(scope) = access else {
        return Ok(None);
    };
    let text = headers
        .get(KEY_HEADER)
        .ok_or(ApiError::Unauthorised("is required"))?;
    let key = match text.to_str() {
        Ok(text) => verifier.verify(text).map_err(ApiError::internal)?,
        Err(_) => None,
    };
    let key = key.ok_or(ApiError::Unauthorised(
        "must be a key that is known, not revoked and not expired",
    ))?;
    if !key.scopes.contains(scope) {
        return Err(ApiError::Forbidden(scope));
    }
    Ok(Some(key))
}
