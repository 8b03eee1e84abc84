//! Every error response of an endpoint, and the one place that maps errors to HTTP.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::json;
use uuid::Uuid;
use warp::http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use warp::http::{Response, StatusCode};

use super::readiness::STARTING_OR_DRAINING;
use toise_accounts::ledger::LedgerError;
use toise_accounts::meter::LimitExceeded;
use toise_accounts::operators::BeyondBounds;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::query::QueryError;
use toise_engine::pool::PoolError;
use toise_sql::SqlError;
use toise_store as store;

/// Seconds after which a rejected call may be retried.
const OVERLOAD_RETRY_AFTER_S: u32 = 1;

/// Seconds after which a call blocked by another one may be retried.
const BUSY_RETRY_AFTER_S: u32 = 10;

/// An error response.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The body is not JSON.
    #[error("body: must be JSON: {0}")]
    NotJson(String),
    /// The request is one that HTTP forbids.
    #[error("{0}")]
    Malformed(&'static str),
    /// The head of the request exceeds what the library reads.
    #[error("{what}")]
    HeadTooLarge {
        /// Status that the library chose.
        status: StatusCode,
        /// What is wrong.
        what: &'static str,
    },
    /// The path contains a `%` that is not followed by two hexadecimal digits.
    #[error("path: percent-encoding is broken")]
    BrokenEncoding,
    /// The body is JSON but violates the contract.
    #[error(transparent)]
    Invalid(#[from] Fault),
    /// The key is missing or invalid.
    #[error("x-api-key: {0}")]
    Unauthorised(&'static str),
    /// The key may not be used from the client's address.
    #[error("x-api-key: this key may not be used from this address")]
    WrongAddress,
    /// The key may not do this to another key.
    #[error("x-api-key: {0}")]
    BeyondBounds(#[from] BeyondBounds),
    /// The key is valid but has no grant for this endpoint.
    #[error("x-api-key: this key is granted neither the scope {:?} nor the endpoint {endpoint:?}", scope.as_str())]
    Forbidden {
        /// Scope that would grant the endpoint.
        scope: Scope,
        /// Grant for this endpoint alone.
        endpoint: &'static str,
    },
    /// The client's address has sent too many texts that are no keys.
    #[error("x-api-key: too many invalid keys from this address; retry after {} s", .0.retry_after_s)]
    TooManyRefused(LimitExceeded),
    /// The client's address has more requests without a valid key than it can wait for.
    #[error("too many requests without a valid key from this address; retry after {} s", .0.retry_after_s)]
    TooManyUnkeyed(LimitExceeded),
    /// The key has exceeded its rate limit.
    #[error("too many calls a second for this key; retry after {} s", .0.retry_after_s)]
    RateLimited(LimitExceeded),
    /// The key has exceeded its monthly quota.
    #[error("monthly quota exceeded; it resets in {} s", .0.retry_after_s)]
    QuotaReached(LimitExceeded),
    /// The key has the maximum number of estimates running and waiting.
    #[error("too many estimates at once for this key; retry shortly")]
    TooManyAtOnce(LimitExceeded),
    /// An earlier request of the same kind is still waiting.
    #[error("{0}; retry later")]
    StillWaiting(String),
    /// The idempotency key was used for another request.
    #[error(
        "idempotency-key: was used for another request in the last 24 hours; must be a new one"
    )]
    IdempotencyConflict,
    /// The call under the idempotency key was made, and must not be made again.
    #[error(
        "idempotency-key: the call was made and answered with {status}; the answer is not kept any more, and the call is \
         not made again"
    )]
    AnswerNotKept {
        /// Status of the answer.
        status: u16,
    },
    /// The record is not in a state that allows this.
    #[error("{0}")]
    WrongState(String),
    /// No such record, or it belongs to another account.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The query string cannot be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// No such route.
    #[error("no such route")]
    NoRoute,
    /// The path exists with other methods, listed as in `Allow`.
    #[error("method not allowed; must be one of: {0}")]
    MethodNotAllowed(String),
    /// The body is longer than the endpoint accepts.
    #[error("body: must not exceed {bytes_max} bytes")]
    TooLarge {
        /// Maximum length, in bytes.
        bytes_max: usize,
    },
    /// The body does not have the media type that the endpoint accepts.
    #[error("content-type: must be {0}, without content-encoding")]
    UnsupportedMediaType(&'static str),
    /// The client stopped sending its body, or sent it too slowly.
    #[error("body: did not arrive completely or in time")]
    BodyInterrupted,
    /// Too many concurrent queries.
    #[error("the service is busy; retry shortly")]
    Overloaded,
    /// No model has been trained yet.
    #[error(
        "no model to estimate with: train one with `toise train`; the service loads it automatically"
    )]
    NoModel,
    /// The only source of addresses gives no answer.
    #[error("the upstream geocoding service gives no answer; retry after {retry_after_s} s")]
    UpstreamUnavailable {
        /// Time after which it may be asked again, in seconds.
        retry_after_s: u32,
    },
    /// The service is starting or draining, or something keeps it from working.
    #[error("not ready: {0}")]
    NotReady(Cow<'static, str>),
    /// Only the writer does this, and this is a replica.
    #[error("this is a replica, and only the writer does this{}", at_writer(.0.as_deref()))]
    WriterOnly(Option<String>),
    /// The rows changed since the page that a cursor belongs to, and are not kept as they were.
    #[error("cursor expired, start the search again")]
    CursorExpired,
    /// The request exceeded its time limit.
    #[error("the request took too long")]
    TimedOut,
    /// An internal failure; its text is logged and never sent to the client.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Where the writer is, as the end of a sentence.
fn at_writer(address: Option<&str>) -> String {
    address.map_or_else(String::new, |address| format!(": send it to {address}"))
}

impl ApiError {
    /// Wraps an internal failure. If the files of the store were taken away, the service is about to stop and is not
    /// ready any more; this is logged here.
    pub fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let error = error.into();
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
        while let Some(here) = cause {
            if here.is::<store::ReplacedFile>() {
                tracing::error!(%error, "request failed");
                return ApiError::NotReady(STARTING_OR_DRAINING.into());
            }
            cause = here.source();
        }
        ApiError::Internal(error)
    }

    /// Status and `error.code` as in the contract's table; 408 shares the code of the transport errors.
    pub fn status_and_code(&self) -> (StatusCode, u32) {
        match self {
            ApiError::NotJson(_)
            | ApiError::BrokenEncoding
            | ApiError::Query(QueryError::Encoding)
            | ApiError::Malformed(_) => (StatusCode::BAD_REQUEST, 10002),
            ApiError::Invalid(_) | ApiError::Query(QueryError::Repeated(_)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, 10002)
            }
            ApiError::Unauthorised(_) => (StatusCode::UNAUTHORIZED, 10001),
            ApiError::Forbidden { .. } | ApiError::WrongAddress | ApiError::BeyondBounds(_) => {
                (StatusCode::FORBIDDEN, 10004)
            }
            ApiError::NoRoute | ApiError::NotFound(_) => (StatusCode::NOT_FOUND, 10003),
            ApiError::TooManyRefused(_)
            | ApiError::TooManyUnkeyed(_)
            | ApiError::RateLimited(_)
            | ApiError::TooManyAtOnce(_)
            | ApiError::StillWaiting(_) => (StatusCode::TOO_MANY_REQUESTS, 10005),
            ApiError::QuotaReached(_) => (StatusCode::TOO_MANY_REQUESTS, 10006),
            ApiError::IdempotencyConflict
            | ApiError::AnswerNotKept { .. }
            | ApiError::WrongState(_) => (StatusCode::CONFLICT, 10008),
            ApiError::CursorExpired => (StatusCode::UNPROCESSABLE_ENTITY, 10009),
            ApiError::WriterOnly(_) => (StatusCode::MISDIRECTED_REQUEST, 10010),
            ApiError::HeadTooLarge { status, .. } => (*status, 10007),
            ApiError::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, 10007),
            ApiError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, 10007),
            ApiError::UnsupportedMediaType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, 10007),
            ApiError::BodyInterrupted => (StatusCode::REQUEST_TIMEOUT, 10007),
            ApiError::Overloaded
            | ApiError::NotReady(_)
            | ApiError::TimedOut
            | ApiError::NoModel
            | ApiError::UpstreamUnavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, 10000),
            ApiError::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, 10000),
        }
    }

    /// The response. An internal failure is logged, and its response contains the request id for the client to
    /// quote.
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
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey, Bearer"));
            }
            ApiError::MethodNotAllowed(methods) => {
                if let Ok(methods) = HeaderValue::from_str(methods) {
                    headers.insert(ALLOW, methods);
                }
            }
            ApiError::TooManyRefused(refused)
            | ApiError::TooManyUnkeyed(refused)
            | ApiError::RateLimited(refused)
            | ApiError::QuotaReached(refused)
            | ApiError::TooManyAtOnce(refused) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(refused.retry_after_s));
            }
            ApiError::UpstreamUnavailable { retry_after_s } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(*retry_after_s));
            }
            ApiError::StillWaiting(_) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(BUSY_RETRY_AFTER_S));
            }
            ApiError::Overloaded
            | ApiError::NotReady(_)
            | ApiError::TimedOut
            | ApiError::NoModel => {
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

impl From<SqlError> for ApiError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::TooManyAtOnce => {
                ApiError::StillWaiting("too many queries at once for this key".to_owned())
            }
            SqlError::Overloaded => ApiError::Overloaded,
            SqlError::Cancelled => ApiError::TimedOut,
            SqlError::Internal(source) => ApiError::Internal(source),
            fault @ (SqlError::Invalid { .. } | SqlError::ReadOnly(_) | SqlError::Limit(_)) => {
                ApiError::Invalid(Fault::new("query", fault.to_string()))
            }
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
    fn an_internal_failure_reveals_only_the_request_id() {
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
    fn a_store_whose_files_are_taken_away_is_not_ready() {
        let gone = || {
            let path = "/data/store.sqlite".into();
            store::Error::Replaced(store::ReplacedFile { path })
        };
        let by_ledger = LedgerError::from(gone());
        let nested = std::io::Error::other(LedgerError::Store(gone()));
        for error in [
            ApiError::from(gone()),
            ApiError::from(by_ledger),
            ApiError::internal(nested),
        ] {
            assert!(matches!(error, ApiError::NotReady(_)), "{error}");
            assert_eq!(error.into_response(Uuid::now_v7()).status(), 503);
        }
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
