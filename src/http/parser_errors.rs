//! The answer to what the HTTP library cannot parse: it would have a status and nothing else; here it gets the body of every
//! error, a request id and a line in the log.

use std::net::IpAddr;
use std::time::Duration;

use uuid::Uuid;
use warp::http::StatusCode;
use warp::http::header::{CONNECTION, CONTENT_LENGTH, HeaderValue};

use super::answer_headers;
use super::error::ApiError;
use super::request_line::{self, RequestLine};

/// How an answer of HTTP/1 begins; its minor version follows.
const HTTP_1: &[u8] = b"HTTP/1.";
/// Place of the status in the first line.
const STATUS: std::ops::Range<usize> = HTTP_1.len() + 2..HTTP_1.len() + 5;

/// What to send in place of an answer that the library made by itself; `None` if the bytes are something else.
pub(super) fn replacement(bytes: &[u8], client: IpAddr) -> Option<Vec<u8>> {
    if !bytes.starts_with(HTTP_1) {
        return None;
    }
    let status = StatusCode::from_bytes(bytes.get(STATUS)?).ok()?;
    let error = match status {
        StatusCode::BAD_REQUEST => ApiError::Malformed("the head of the request cannot be read"),
        StatusCode::URI_TOO_LONG => ApiError::HeadTooLarge {
            status,
            what: "the target of the request is too long",
        },
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ApiError::HeadTooLarge {
            status,
            what: "the headers are too many or too long",
        },
        _ => return None,
    };
    let request_id = Uuid::now_v7();
    let mut response = error.into_response(request_id);
    let length = HeaderValue::from(response.body().len());
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, length);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    answer_headers::set_request_id(headers, request_id);
    request_line::write(&RequestLine {
        request_id,
        client: Some(client),
        method: "",
        path: "",
        status: status.as_u16(),
        key_id: None,
        credits: 0,
        duration: Duration::ZERO,
    });
    let reason = status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
    for (name, value) in response.headers() {
        text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    text.extend(b"\r\n");
    text.extend(response.body());
    Some(text)
}
