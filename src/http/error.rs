//! Everything an endpoint can answer instead of data, and the one place that turns it into HTTP.

use bytes::Bytes;
use serde_json::json;
use uuid::Uuid;
use warp::http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use warp::http::{Response, StatusCode};

use toise_accounts::ledger::LedgerError;
use toise_accounts::meter::LimitExceeded;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::query::BrokenQuery;
use toise_engine::pool::PoolError;
use toise_store as store;

/// Seconds after which a refused question may be asked again.
const OVERLOAD_RETRY_AFTER_S: u32 = 1;

/// Seconds after which a call that another holds up may be tried again.
const BUSY_RETRY_AFTER_S: u32 = 10;

/// An answer that is an error.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The body is not JSON.
    #[error("body: must be JSON: {0}")]
    NotJson(String),
    /// The path holds a `%` that two hexadecimal digits do not follow.
    #[error("path: percent-encoding is broken")]
    BrokenEncoding,
    /// The body is JSON but not what the contract asks.
    #[error(transparent)]
    Invalid(#[from] Fault),
    /// No key, or one that does not work.
    #[error("x-api-key: {0}")]
    Unauthorised(&'static str),
    /// The key works but not for this.
    #[error("x-api-key: this key is granted neither the scope {:?} nor the endpoint {endpoint:?}", scope.as_str())]
    Forbidden {
        /// Scope that would open the endpoint.
        scope: Scope,
        /// Grant that would open this endpoint alone.
        endpoint: &'static str,
    },
    /// The key asked more often than it may.
    #[error("too many calls a second for this key; retry after {} s", .0.retry_after_s)]
    RateLimited(LimitExceeded),
    /// The key asked more in this month than it may.
    #[error("the monthly quota of this key is reached; it begins anew in {} s", .0.retry_after_s)]
    QuotaReached(LimitExceeded),
    /// The key has as many estimates under way and waiting as it may.
    #[error("too many estimates at once for this key; retry shortly")]
    TooManyAtOnce(LimitExceeded),
    /// What was asked for before waits to be done.
    #[error("{0}; retry later")]
    StillWaiting(String),
    /// The client's key was used for another request.
    #[error(
        "idempotency-key: was used for another request in the last 24 hours; must be a new one"
    )]
    IdempotencyConflict,
    /// No record of that name, or one of another account.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The query string cannot be decoded.
    #[error(transparent)]
    BrokenQuery(#[from] BrokenQuery),
    /// No such route.
    #[error("no such route")]
    NoRoute,
    /// The path exists with other methods, listed as in `Allow`.
    #[error("method not allowed; must be one of: {0}")]
    MethodNotAllowed(String),
    /// The body is longer than the endpoint takes.
    #[error("body: must not exceed {bytes_max} bytes")]
    TooLarge {
        /// What the endpoint takes.
        bytes_max: usize,
    },
    /// The body is not of the media type the endpoint takes.
    #[error("content-type: must be application/json, without content-encoding")]
    UnsupportedMediaType,
    /// The client stopped sending its body, or sent it too slowly.
    #[error("body: did not arrive whole and in time")]
    BodyInterrupted,
    /// Too many questions at once.
    #[error("the service is busy; retry shortly")]
    Overloaded,
    /// No model was trained yet.
    #[error(
        "no model to estimate with: train one with `toise train`; the service takes it up by itself"
    )]
    NoModel,
    /// The service starts or drains.
    #[error("not ready: starting or draining")]
    NotReady,
    /// The request took longer than requests may.
    #[error("the request took too long")]
    TimedOut,
    /// A failure of ours; its text goes to the log, never to the client.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ApiError {
    /// Hides a failure of ours.
    pub fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ApiError::Internal(error.into())
    }

    /// Status and `error.code`, as the contract's table has them; 408 joins the row of the transport's errors.
    pub fn status_and_code(&self) -> (StatusCode, u32) {
        match self {
            ApiError::NotJson(_) | ApiError::BrokenEncoding | ApiError::BrokenQuery(_) => {
                (StatusCode::BAD_REQUEST, 10002)
            }
            ApiError::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, 10002),
            ApiError::Unauthorised(_) => (StatusCode::UNAUTHORIZED, 10001),
            ApiError::Forbidden { .. } => (StatusCode::FORBIDDEN, 10004),
            ApiError::NoRoute | ApiError::NotFound(_) => (StatusCode::NOT_FOUND, 10003),
            ApiError::RateLimited(_) | ApiError::TooManyAtOnce(_) | ApiError::StillWaiting(_) => {
                (StatusCode::TOO_MANY_REQUESTS, 10005)
            }
            ApiError::QuotaReached(_) => (StatusCode::TOO_MANY_REQUESTS, 10006),
            ApiError::IdempotencyConflict => (StatusCode::CONFLICT, 10008),
            ApiError::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, 10007),
            ApiError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, 10007),
            ApiError::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, 10007),
            ApiError::BodyInterrupted => (StatusCode::REQUEST_TIMEOUT, 10007),
            ApiError::Overloaded | ApiError::NotReady | ApiError::TimedOut | ApiError::NoModel => {
                (StatusCode::SERVICE_UNAVAILABLE, 10000)
            }
            ApiError::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, 10000),
        }
    }

    /// The answer; what is our failure is logged and carries the request id for the client to quote.
    pub fn into_response(self, request_id: Uuid) -> Response<Bytes> {
        let (status, code) = self.status_and_code();
        let mut message = self.to_string();
        if status.is_server_error() {
            message = format!("{message} (request {request_id})");
        }
        if let ApiError::Internal(source) = &self {
            tracing::error!(%request_id, error = %source, "request failed");
        }
        let body = json!({"error": {"message": message, "code": code}});
        let mut response = Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match &self {
            ApiError::Unauthorised(_) => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey"));
            }
            ApiError::MethodNotAllowed(methods) => {
                if let Ok(methods) = HeaderValue::from_str(methods) {
                    headers.insert(ALLOW, methods);
                }
            }
            ApiError::RateLimited(refused)
            | ApiError::QuotaReached(refused)
            | ApiError::TooManyAtOnce(refused) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(refused.retry_after_s));
            }
            ApiError::StillWaiting(_) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(BUSY_RETRY_AFTER_S));
            }
            ApiError::Overloaded | ApiError::NotReady | ApiError::TimedOut | ApiError::NoModel => {
                headers.insert(RETRY_AFTER, HeaderValue::from(OVERLOAD_RETRY_AFTER_S));
            }
            _ => {}
        }
        response
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Overloaded => ApiError::Overloaded,
            error => ApiError::internal(error),
        }
    }
}

impl From<LedgerError> for ApiError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Overloaded => ApiError::Overloaded,
            error => ApiError::internal(error),
        }
    }
}

impl From<PoolError> for ApiError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Overloaded => ApiError::Overloaded,
            PoolError::Panicked => ApiError::internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_ours_says_nothing_but_the_request_id() {
        let id = Uuid::now_v7();
        let response = ApiError::internal("/secret/path: no such file").into_response(id);
        assert_eq!(response.status(), 500);
        let body = String::from_utf8(response.into_body().to_vec()).unwrap();
        assert!(
            body.contains(&id.to_string()) && !body.contains("secret"),
            "{body}"
        );
    }

    #[test]
    fn overload_is_503_with_retry_after() {
        let response = ApiError::from(PoolError::Overloaded).into_response(Uuid::now_v7());
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "1");
        for full in [
            ApiError::from(store::Error::Overloaded),
            LedgerError::Overloaded.into(),
        ] {
            assert_eq!(full.into_response(Uuid::now_v7()).status(), 503);
        }
    }
}
