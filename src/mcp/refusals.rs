//! Converts refusals of the protocol's library from plain text to the error form of the service:
//! `{"error": {"message", "code"}}`.
//!
//! JSON-RPC errors are left unchanged: they also have `error` with a message and a code, and the identifier of their
//! message.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Collected};
use serde_json::json;
use uuid::Uuid;
use warp::http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use warp::http::{Response, StatusCode};

use toise_http::error::error_response;
use toise_service::error::ApiError;

/// The methods of [`super::http::PATH`].
const METHODS: &str = "POST";
/// The error message for an `Accept` header that lacks a media type.
const ACCEPT_RULE: &str = "accept: must name application/json and text/event-stream";
/// Media type of errors.
const JSON: &str = "application/json";

/// Returns whether a response is a refusal in plain text.
pub(crate) fn is_plain_text<B>(response: &Response<B>) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    let is_json = media_type.is_some_and(|media_type| media_type.as_bytes() == JSON.as_bytes());
    !is_json && (response.status().is_client_error() || response.status().is_server_error())
}

/// Converts a refusal to the error form of the service.
pub(crate) async fn to_api_error(
    refusal: Response<BoxBody<Bytes, Infallible>>,
    request_id: Uuid,
) -> Response<Bytes> {
    let (parts, body) = refusal.into_parts();
    let Ok(text) = body.collect().await.map(Collected::to_bytes);
    let text = String::from_utf8_lossy(&text).into_owned();
    let (status, code, message) = match parts.status {
        StatusCode::METHOD_NOT_ALLOWED => {
            let allowed = parts.headers.get(ALLOW);
            let allowed = allowed.and_then(|methods| methods.to_str().ok());
            let error = ApiError::MethodNotAllowed(allowed.unwrap_or(METHODS).to_owned());
            return error_response(&error, request_id);
        }
        status if status.is_server_error() => {
            return error_response(&ApiError::internal(text), request_id);
        }
        StatusCode::NOT_ACCEPTABLE => (StatusCode::NOT_ACCEPTABLE, 10007, ACCEPT_RULE.to_owned()),
        // The media type was checked before, so the library could not read the message itself.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            let message = format!("body: must be a message of the protocol: {text}");
            (StatusCode::BAD_REQUEST, 10002, message)
        }
        status @ StatusCode::FORBIDDEN => (status, 10004, text),
        status @ StatusCode::NOT_FOUND => (status, 10003, text),
        status @ StatusCode::PAYLOAD_TOO_LARGE => (status, 10007, text),
        status => (status, 10002, text),
    };
    let error = json!({"error": {"message": message, "code": code}});
    let mut response = Response::new(Bytes::from(error.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use serde_json::Value;

    fn refusal(
        status: u16,
        media_type: &str,
        text: &'static str,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let response = Response::builder()
            .status(status)
            .header("content-type", media_type);
        response.body(Full::new(Bytes::from(text)).boxed()).unwrap()
    }

    #[tokio::test]
    async fn a_refusal_in_text_gets_the_form_of_every_error() {
        for (status, text, expected, code, message) in [
            (
                405,
                "Method Not Allowed",
                405,
                10007,
                "method not allowed; must be one of: POST",
            ),
            (406, "Not Acceptable", 406, 10007, ACCEPT_RULE),
            (
                415,
                "EOF",
                400,
                10002,
                "body: must be a message of the protocol: EOF",
            ),
            (403, "Forbidden: Origin", 403, 10004, "Forbidden: Origin"),
            (404, "Not Found", 404, 10003, "Not Found"),
            (400, "Bad Request", 400, 10002, "Bad Request"),
        ] {
            let refused = refusal(status, "text/plain; charset=utf-8", text);
            assert!(is_plain_text(&refused));
            let response = to_api_error(refused, Uuid::nil()).await;
            assert_eq!(response.status(), expected);
            assert_eq!(response.headers()["content-type"], JSON);
            let body: Value = serde_json::from_slice(response.body()).unwrap();
            assert_eq!(body, json!({"error": {"message": message, "code": code}}));
        }
        let failed = to_api_error(refusal(500, "", "secret"), Uuid::nil()).await;
        let body = String::from_utf8_lossy(failed.body()).into_owned();
        assert!(failed.status() == 500 && !body.contains("secret"), "{body}");
    }

    #[test]
    fn answers_and_errors_of_the_protocol_stay() {
        assert!(!is_plain_text(&refusal(400, JSON, "{}")));
        assert!(!is_plain_text(&refusal(200, "text/event-stream", "")));
        assert!(!is_plain_text(&refusal(202, "", "")));
    }
}
