//! Headers of every response: the request id, the credits charged, and the state of the rate of the key or the address.

use uuid::Uuid;
use warp::http::HeaderMap;
use warp::http::header::{HeaderName, HeaderValue};

use toise_accounts::meter::RateState;

/// Header with the request id, on every response.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Header with the credits charged for a call, on every protected response.
pub const CREDITS_HEADER: HeaderName = HeaderName::from_static("x-credits");
/// Header with the key's rate, calls per second.
pub const RATE_LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
/// Header with the calls that can be made at once.
pub const RATE_REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
/// Header with the seconds until the full burst is available again.
pub const RATE_RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");
/// Header with the percentage of the monthly quota used, once it is 75 or more.
pub const QUOTA_WARNING_HEADER: HeaderName = HeaderName::from_static("x-quota-used-percent");

/// Header that keeps search engines from indexing a response, as the terms of the sales data require.
const ROBOTS_HEADER: HeaderName = HeaderName::from_static("x-robots-tag");

/// Asks search engines not to index a response.
pub fn set_robots(headers: &mut HeaderMap) {
    headers.insert(ROBOTS_HEADER, HeaderValue::from_static("noindex"));
}

/// Sets the header with the request id.
pub fn set_request_id(headers: &mut HeaderMap, request_id: Uuid) {
    if let Ok(id) = HeaderValue::from_str(&request_id.to_string()) {
        headers.insert(REQUEST_ID_HEADER, id);
    }
}

/// Sets the headers with the state of a rate.
pub fn set_rate_headers(headers: &mut HeaderMap, rate: RateState) {
    headers.insert(RATE_LIMIT_HEADER, HeaderValue::from(rate.limit));
    headers.insert(RATE_REMAINING_HEADER, HeaderValue::from(rate.remaining));
    headers.insert(RATE_RESET_HEADER, HeaderValue::from(rate.reset_s));
}
