//! Every error that a client can receive, with its status and code. `conversions` maps the errors of other crates.

mod conversions;
mod failure;

use std::borrow::Cow;
use std::io::ErrorKind;

use warp::http::StatusCode;

pub use failure::Failure;

use super::readiness::STARTING_OR_DRAINING;
use toise_accounts::meter::LimitExceeded;
use toise_accounts::operators::BeyondBounds;
use toise_accounts::scopes::Scope;
use toise_contract::Fault;
use toise_contract::query::QueryError;
use toise_store as store;
use toise_transport::body::BodyError;
use toise_transport::body_budget::BudgetError;

/// An error response.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The body is not JSON.
    #[error("body: must be JSON: {0}")]
    NotJson(String),
    /// HTTP forbids the request.
    #[error("{0}")]
    Malformed(&'static str),
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
    /// The client's address has exceeded the rate of requests without a valid key.
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
    /// The call under the idempotency key was made and is not made again; its response is not kept.
    #[error(
        "idempotency-key: the call was made and answered with {status}; its response is no longer stored, and the call \
         is not made again"
    )]
    ResponseNotKept {
        /// Status of the response.
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
    /// The body cannot be accepted.
    #[error(transparent)]
    Body(BodyError),
    /// Too many concurrent queries.
    #[error("the service is busy; retry shortly")]
    Overloaded,
    /// No model has been trained yet.
    #[error(
        "no model to estimate with: train one with `toise train`; the service loads it automatically"
    )]
    NoModel,
    /// A service that this one depends on does not respond.
    #[error("the upstream {service} service does not respond; retry after {retry_after_s} s")]
    UpstreamUnavailable {
        /// Name of the other service.
        service: &'static str,
        /// Time after which the service may be called again, in seconds.
        retry_after_s: u32,
    },
    /// The service is starting or draining, or something keeps it from working.
    #[error("not ready: {0}")]
    NotReady(Cow<'static, str>),
    /// Only the writer accepts this request, and this server is a replica.
    #[error("this is a replica, and only the writer does this{}", at_writer(.0.as_deref()))]
    WriterOnly(Option<String>),
    /// The rows have changed since the page of the cursor, and the next page cannot be taken from their earlier state.
    #[error("cursor expired, start the search again")]
    CursorExpired,
    /// The request exceeded its time limit.
    #[error("the request took too long")]
    TimedOut,
    /// An internal failure; its text is logged and never sent to the client.
    #[error("internal error")]
    Internal(#[source] Failure),
}

/// Returns the address of the writer, as the end of a sentence.
fn at_writer(address: Option<&str>) -> String {
    address.map_or_else(String::new, |address| format!(": send it to {address}"))
}

impl ApiError {
    /// Wraps an internal failure. If a file of the store was replaced or deleted, the service is about to stop; if the
    /// disk is full or read-only, it waits for space; if a table is damaged, it waits for the operator. The error is
    /// then [`ApiError::NotReady`] and is logged here.
    pub fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let error = error.into();
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
        while let Some(here) = cause {
            if here.is::<store::ReplacedFile>() {
                tracing::error!(%error, "request failed");
                return ApiError::NotReady(STARTING_OR_DRAINING.into());
            }
            if let Some(obstacle) = damage(here) {
                tracing::error!(%error, "request failed");
                return ApiError::NotReady(obstacle);
            }
            if is_unwritable(here) {
                return ApiError::unwritable("the data folder cannot be written", &*error);
            }
            cause = here.source();
        }
        ApiError::Internal(Failure::new(error))
    }

    /// Returns the error of a call that needs a write while nothing can be written; logs its cause.
    pub(crate) fn unwritable(
        obstacle: &'static str,
        cause: &(dyn std::error::Error + 'static),
    ) -> Self {
        tracing::warn!(error = %cause, "request refused: {obstacle}");
        ApiError::NotReady(obstacle.into())
    }

    /// Returns status and `error.code` as in the contract's table; 408 shares the code of the transport errors.
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
            ApiError::TooManyUnkeyed(_)
            | ApiError::RateLimited(_)
            | ApiError::TooManyAtOnce(_)
            | ApiError::StillWaiting(_) => (StatusCode::TOO_MANY_REQUESTS, 10005),
            ApiError::QuotaReached(_) => (StatusCode::TOO_MANY_REQUESTS, 10006),
            ApiError::IdempotencyConflict
            | ApiError::ResponseNotKept { .. }
            | ApiError::WrongState(_) => (StatusCode::CONFLICT, 10008),
            ApiError::CursorExpired => (StatusCode::UNPROCESSABLE_ENTITY, 10009),
            ApiError::WriterOnly(_) => (StatusCode::MISDIRECTED_REQUEST, 10010),
            ApiError::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, 10007),
            ApiError::Body(error) => body_status_and_code(*error),
            ApiError::Overloaded
            | ApiError::NotReady(_)
            | ApiError::TimedOut
            | ApiError::NoModel
            | ApiError::UpstreamUnavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, 10000),
            ApiError::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, 10000),
        }
    }
}

/// Returns what is damaged, if an error reports damage.
fn damage(error: &(dyn std::error::Error + 'static)) -> Option<Cow<'static, str>> {
    match error.downcast_ref()? {
        toise_engine::Error::Damaged { table, .. } => {
            Some(format!("the table {table} is damaged").into())
        }
        toise_engine::Error::Lake(error) if error.damaged_file().is_some() => {
            Some("a file of a table is damaged".into())
        }
        _ => None,
    }
}

/// Returns whether an error says that the disk is full or read-only.
fn is_unwritable(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<store::Error>() {
        return error.is_unwritable();
    }
    error.downcast_ref::<std::io::Error>().is_some_and(|error| {
        matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem
        )
    })
}

fn body_status_and_code(error: BodyError) -> (StatusCode, u32) {
    match error {
        BodyError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, 10007),
        BodyError::UnsupportedMediaType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, 10007),
        BodyError::Interrupted => (StatusCode::REQUEST_TIMEOUT, 10007),
        BodyError::Malformed => (StatusCode::BAD_REQUEST, 10002),
        BodyError::Budget(BudgetError::ShareUsed) => (StatusCode::TOO_MANY_REQUESTS, 10005),
        BodyError::Budget(BudgetError::Full) => (StatusCode::SERVICE_UNAVAILABLE, 10000),
    }
}
