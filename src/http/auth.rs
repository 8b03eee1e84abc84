//! Authentication and authorisation: resolves the `x-api-key` header to a key that may use the endpoint, or 401 or
//! 403.

use std::sync::Arc;

use warp::http::{HeaderMap, Method};

use super::App;
use super::endpoint::Access;
use super::error::ApiError;
use toise_accounts::key::KeyRecord;
use toise_accounts::verify::KeyVerifier;

/// What a key must be.
const INVALID: &str = "must be a key that is known, not revoked and not expired";
/// Header that carries the key.
pub const KEY_HEADER: &str = "x-api-key";

/// Returns the valid key of a request: that of its header, or that of its session of the console.
pub async fn authenticate_call(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Arc<KeyRecord>, ApiError> {
    if !headers.contains_key(KEY_HEADER)
        && let Some(text) = app.sessions.key(method, headers)?
    {
        let key = app
            .verifier
            .verify(&text)
            .await
            .map_err(ApiError::internal)?;
        return key.ok_or(ApiError::Unauthorised(INVALID));
    }
    authenticate(&app.verifier, headers).await
}

/// Returns the valid key in the header of a request.
pub async fn authenticate(
    verifier: &KeyVerifier,
    headers: &HeaderMap,
) -> Result<Arc<KeyRecord>, ApiError> {
    let text = headers
        .get(KEY_HEADER)
        .ok_or(ApiError::Unauthorised("is required"))?;
    let key = match text.to_str() {
        Ok(text) => verifier.verify(text).await.map_err(ApiError::internal)?,
        Err(_) => None,
    };
    key.ok_or(ApiError::Unauthorised(INVALID))
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
