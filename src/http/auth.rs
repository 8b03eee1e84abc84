//! The key of a request: from the `x-api-key` header to a key that may use the endpoint, or 401 or 403.

use std::sync::Arc;

use warp::http::HeaderMap;

use super::endpoint::Access;
use super::error::ApiError;
use toise_accounts::key::KeyRecord;
use toise_accounts::verify::{Recalled, Verifier};

/// Header that carries the key.
pub const KEY_HEADER: &str = "x-api-key";

/// The working key a request names. The store is asked on a blocking thread, when the key was not seen lately or the
/// keys were not looked at for a fifth of a second; other calls pay no hop between threads.
pub async fn authenticate(
    verifier: &Verifier,
    headers: &HeaderMap,
) -> Result<Arc<KeyRecord>, ApiError> {
    let text = headers
        .get(KEY_HEADER)
        .ok_or(ApiError::Unauthorised("is required"))?;
    let key = match text.to_str() {
        Ok(text) => match verifier.recall(text) {
            Recalled::Known(key) => key,
            Recalled::Unknown => {
                let (verifier, text) = (verifier.clone(), text.to_owned());
                tokio::task::spawn_blocking(move || verifier.verify(&text))
                    .await
                    .map_err(ApiError::internal)??
            }
        },
        Err(_) => None,
    };
    key.ok_or(ApiError::Unauthorised(
        "must be a key that is known, not revoked and not expired",
    ))
}

/// Whether a key may use an endpoint with this access.
pub fn authorise(key: &KeyRecord, access: Access) -> Result<(), ApiError> {
    match access {
        Access::Scoped(scope, endpoint) if !key.may(scope, endpoint) => {
            Err(ApiError::Forbidden { scope, endpoint })
        }
        Access::Public | Access::Keyed | Access::Scoped(..) => Ok(()),
    }
}
