//! Maps errors to HTTP responses: the one place where the error body is written.

use bytes::Bytes;
use serde_json::json;
use uuid::Uuid;
use warp::http::Response;
use warp::http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

use toise_service::error::ApiError;

/// Seconds after which a rejected call may be retried.
const OVERLOAD_RETRY_AFTER_S: u32 = 1;

/// Seconds after which a call blocked by another one may be retried.
const BUSY_RETRY_AFTER_S: u32 = 10;

/// Returns the response to an error. An internal failure is logged, and its response contains the request id for the
/// client to quote.
pub fn error_response(error: &ApiError, request_id: Uuid) -> Response<Bytes> {
    let (status, code) = error.status_and_code();
    let mut message = error.to_string();
    if status.is_server_error() {
        message = format!("{message} (request {request_id})");
    }
    if let ApiError::Internal(failure) = error {
        let backtrace = failure.backtrace();
        tracing::error!(%request_id, error = %failure, backtrace, "request failed");
    }
    let body = json!({"error": {"message": message, "code": code}});
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match error {
        ApiError::Unauthorised(_) => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey, Bearer"));
        }
        ApiError::MethodNotAllowed(methods) => {
            if let Ok(methods) = HeaderValue::from_str(methods) {
                headers.insert(ALLOW, methods);
            }
        }
        ApiError::TooManyUnkeyed(refused)
        | ApiError::RateLimited(refused)
        | ApiError::QuotaReached(refused)
        | ApiError::TooManyAtOnce(refused) => {
            headers.insert(RETRY_AFTER, HeaderValue::from(refused.retry_after_s));
        }
        ApiError::UpstreamUnavailable { retry_after_s, .. } => {
            headers.insert(RETRY_AFTER, HeaderValue::from(*retry_after_s));
        }
        ApiError::StillWaiting(_) => {
            headers.insert(RETRY_AFTER, HeaderValue::from(BUSY_RETRY_AFTER_S));
        }
        ApiError::Overloaded | ApiError::NotReady(_) | ApiError::TimedOut | ApiError::NoModel => {
            headers.insert(RETRY_AFTER, HeaderValue::from(OVERLOAD_RETRY_AFTER_S));
        }
        _ => {}
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_accounts::ledger::LedgerError;
    use toise_engine::pool::PoolError;
    use toise_service::open_data::AnswerError;
    use toise_store as store;

    fn response(error: impl Into<ApiError>) -> Response<Bytes> {
        error_response(&error.into(), Uuid::now_v7())
    }

    #[test]
    fn an_internal_failure_reveals_only_the_request_id() {
        let id = Uuid::now_v7();
        let response = error_response(&ApiError::internal("/secret/path: no such file"), id);
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
            assert_eq!(response(error).status(), 503);
        }
    }

    #[test]
    fn a_page_of_open_data_that_may_skip_rows_is_an_expired_cursor() {
        let changed: AnswerError = toise_engine::Error::RowsChanged.into();
        let error = ApiError::from(changed);
        assert!(matches!(error, ApiError::CursorExpired), "{error}");
        let failed: AnswerError = "the disk is gone".into();
        assert_eq!(response(failed).status(), 500);
    }

    #[test]
    fn overload_is_503_with_retry_after() {
        let overloaded = response(PoolError::Overloaded);
        assert_eq!(overloaded.status(), 503);
        assert_eq!(overloaded.headers()["retry-after"], "1");
        assert_eq!(response(store::Error::Overloaded).status(), 503);
        assert_eq!(response(LedgerError::Overloaded).status(), 503);
    }
}
