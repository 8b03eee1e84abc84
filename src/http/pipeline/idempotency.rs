//! Repeatable calls: the `Idempotency-Key` header, the digest of a request, and the outcome of earlier calls.
//!
//! A client that does not know whether its call arrived sends it again under the same key. While the first call runs,
//! the second waits ([`toise_accounts::holds`]); then it gets the stored response. Responses are stored with the
//! ledger's row, in one commit. The response of a call that only reads is not stored if it is large: the repeated call
//! then runs again, free of charge.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;
use warp::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use warp::http::{HeaderMap, Method, Response, StatusCode};

use crate::endpoint::limits::KEY_CHARS_MAX;
use crate::endpoint::response::ApiResponse;
use toise_accounts::holds::CallHold;
use toise_accounts::ledger::{Ledger, StoredResponse};
use toise_contract::Fault;
use toise_service::error::ApiError;
use toise_store::sealing::SealingKey;

/// Header with the client's key.
pub const IDEMPOTENCY_HEADER: &str = "idempotency-key";
/// Header that marks a replayed response.
pub const REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Header that marks the response of a repeated call that was computed again, free of charge.
pub const RECOMPUTED_HEADER: HeaderName = HeaderName::from_static("idempotent-recomputed");
/// Purpose from which the keys that seal responses with secrets are derived.
const SEAL_PURPOSE: &str = "toise responses with secrets under idempotency keys";
/// Prefix of the media type of a sealed response.
const SEALED_PREFIX: &str = "sealed:";

/// Returns the idempotency key of a request, if any.
pub fn read_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(IDEMPOTENCY_HEADER) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    let is_legible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if text.is_empty() || text.len() > KEY_CHARS_MAX || !is_legible {
        let allowed = format!("must be 1 to {KEY_CHARS_MAX} visible ASCII characters");
        return Err(Fault::new(IDEMPOTENCY_HEADER, allowed).into());
    }
    Ok(Some(text.to_owned()))
}

/// Returns the digest of a request.
pub fn request_digest(method: &Method, path: &str, query: &str, body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [
        method.as_str().as_bytes(),
        path.as_bytes(),
        query.as_bytes(),
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.update(body);
    *hasher.finalize().as_bytes()
}

/// The decision how to handle a call, based on earlier calls under its idempotency key.
#[derive(Debug)]
pub(super) enum IdempotencyOutcome {
    /// The call has no key: it runs.
    NoKey,
    /// It is the first call under its key: it runs.
    First(IdempotencyClaim),
    /// The call was answered before; this is the stored response.
    Replayed(ApiResponse),
    /// The call was answered before, only reads, and its response is not stored: it runs again, free of charge.
    Recomputed,
}

impl IdempotencyOutcome {
    /// Returns a digest that identifies the call, if it is the first under its key; see
    /// [`crate::endpoint::call::Call::new_id`].
    pub(super) fn call_digest(&self) -> Option<[u8; 32]> {
        match self {
            Self::First(claim) => Some(claim.call_digest()),
            Self::NoKey | Self::Replayed(_) | Self::Recomputed => None,
        }
    }

    /// Returns the hold on the key, for work that must end before the call may be repeated.
    pub(super) fn hold(&self) -> Option<Arc<CallHold>> {
        match self {
            Self::First(claim) => Some(claim.hold()),
            Self::NoKey | Self::Replayed(_) | Self::Recomputed => None,
        }
    }

    /// Returns the response of the call, and the claim under which it is stored.
    pub(super) fn conclude(self, returned: ApiResponse) -> (ApiResponse, Option<IdempotencyClaim>) {
        match self {
            Self::First(claim) => (returned, Some(claim)),
            Self::Recomputed => {
                let returned = returned.with_header(RECOMPUTED_HEADER, "true");
                (returned.free_of_charge(), None)
            }
            Self::NoKey | Self::Replayed(_) => (returned, None),
        }
    }
}

/// An idempotency key held by one call.
#[derive(Debug)]
pub struct IdempotencyClaim {
    hold: Arc<CallHold>,
    digest: [u8; 32],
    /// Whether the call only reads; see [`IdempotencyClaim::repeatable`].
    is_repeatable: bool,
    /// Whether its response is kept.
    is_kept: bool,
    /// Seals responses with secrets; see [`IdempotencyClaim::sealing_with`].
    seal: Option<Box<SealingKey>>,
}

impl IdempotencyClaim {
    /// Returns the claim of a call, by the digest of its request.
    pub(super) fn new(hold: CallHold, digest: [u8; 32]) -> Self {
        Self {
            hold: Arc::new(hold),
            digest,
            is_repeatable: false,
            is_kept: true,
            seal: None,
        }
    }

    /// Marks the call as one that only reads: it can run again if its response is not stored. If `is_kept` is false,
    /// the response is never stored.
    pub fn repeatable(mut self, is_kept: bool) -> Self {
        self.is_repeatable = true;
        self.is_kept = is_kept;
        self
    }

    /// Seals stored responses with secrets, such as a new key, with the text of the caller's API key. That text is
    /// stored nowhere, so only a caller who sends the same key can read them.
    pub fn sealing_with(mut self, api_key: Option<&[u8]>) -> Self {
        let parts = api_key.map(|api_key| [api_key, self.hold.key().as_bytes()]);
        let seal = parts.map(|parts| SealingKey::derived(SEAL_PURPOSE, &parts));
        self.seal = seal.map(Box::new);
        self
    }

    /// Returns the hold on the key, for work that must end before the call may be made again.
    pub(super) fn hold(&self) -> Arc<CallHold> {
        Arc::clone(&self.hold)
    }

    /// Returns the digest of account, key and request.
    fn call_digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let account_id = self.hold.account_id();
        hasher.update(account_id.as_bytes()).update(&self.digest);
        let key = self.hold.key();
        *hasher.update(key.as_bytes()).finalize().as_bytes()
    }

    /// Decides how the call is handled, by the response stored under its key. Reads the ledger.
    ///
    /// # Errors
    /// The idempotency key belongs to another request, or the response of a call that must not be made twice is not
    /// kept.
    pub(super) async fn outcome(self, ledger: &Ledger) -> Result<IdempotencyOutcome, ApiError> {
        let (ledger, hold) = (ledger.clone(), self.hold());
        let found =
            tokio::task::spawn_blocking(move || ledger.stored(hold.account_id(), hold.key()));
        let stored = found
            .await
            .map_err(ApiError::internal)?
            .map_err(ApiError::internal)?;
        let Some(stored) = stored else {
            return Ok(IdempotencyOutcome::First(self));
        };
        if stored.request_digest != self.digest {
            return Err(ApiError::IdempotencyConflict);
        }
        match stored.body {
            Some(body) => {
                let replayed = self.replayed(stored.status, &stored.content_type, body)?;
                Ok(IdempotencyOutcome::Replayed(replayed))
            }
            None if stored.is_repeatable => Ok(IdempotencyOutcome::Recomputed),
            None => Err(ApiError::ResponseNotKept {
                status: stored.status,
            }),
        }
    }

    /// Returns a stored response, marked as replayed.
    fn replayed(
        &self,
        status: u16,
        content_type: &str,
        body: Bytes,
    ) -> Result<ApiResponse, ApiError> {
        let (content_type, body) = match content_type.strip_prefix(SEALED_PREFIX) {
            None => (content_type, body),
            Some(content_type) => {
                let opened = self
                    .seal
                    .as_ref()
                    .and_then(|seal| seal.open(&body, self.hold.account_id().as_bytes()).ok());
                // Another key of the account made the call, so this caller may not read the response.
                let opened = opened.ok_or(ApiError::IdempotencyConflict)?;
                (content_type, opened.into())
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).map_err(ApiError::internal)?;
        let headers = response.headers_mut();
        if let Ok(content_type) = HeaderValue::from_str(content_type) {
            headers.insert(CONTENT_TYPE, content_type);
        }
        headers.insert(REPLAYED_HEADER, HeaderValue::from_static("true"));
        Ok(ApiResponse::from(response).free_of_charge())
    }

    /// Converts the response to its stored form; `None` if it has secrets and cannot be sealed.
    pub fn to_stored_response(
        &self,
        request_id: Uuid,
        returned: &ApiResponse,
    ) -> Option<StoredResponse> {
        let headers = returned.response.headers();
        let content_type = headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let mut content_type = content_type.unwrap_or_default().to_owned();
        let mut body = returned.response.body().clone();
        if headers
            .get(CACHE_CONTROL)
            .is_some_and(|value| value == "no-store")
        {
            let seal = self.seal.as_ref()?;
            body = seal
                .seal(&body, self.hold.account_id().as_bytes())
                .ok()?
                .into();
            content_type = format!("{SEALED_PREFIX}{content_type}");
        }
        Some(StoredResponse {
            idempotency_key: self.hold.key().to_owned(),
            request_digest: self.digest,
            request_id,
            is_repeatable: self.is_repeatable,
            status: returned.response.status().as_u16(),
            content_type,
            body: self.is_kept.then_some(body),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_request_are_separated_in_its_digest() {
        let post = Method::POST;
        let digest = |path, query, body: &str| request_digest(&post, path, query, body.as_bytes());
        assert_ne!(digest("/a", "b", ""), digest("/ab", "", ""));
        assert_ne!(digest("/a", "", "b"), digest("/a", "b", ""));
        assert_eq!(digest("/a", "", "b"), digest("/a", "", "b"));
    }
}
