//! Data about a request, collected while it is processed, for the headers of its response and for the log.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;
use warp::http::Response;
use warp::http::header::HeaderValue;

use crate::endpoint::{Endpoint, GEOCODING_PREFIX, PROTECTED_PREFIX};
use crate::pipeline::head::Head;
use crate::pipeline::response_headers;
use toise_accounts::audit::Act;
use toise_accounts::key::KeyRecord;
use toise_accounts::meter::RateState;
use toise_service::App;
use toise_service::admission::Refused;
use toise_service::error::ApiError;
use toise_transport::body_budget::BodyLease;
use toise_transport::request_line::{self, RequestLine};

/// Data for headers and log, collected while a request is processed.
pub(super) struct RequestTrace {
    pub request_id: Uuid,
    pub client: Option<IpAddr>,
    pub endpoint: Option<&'static Endpoint>,
    pub key: Option<Arc<KeyRecord>>,
    pub rate: Option<RateState>,
    pub quota_percent: Option<u64>,
    pub credits: u64,
    /// Whether the body is being received. If this takes too long, the client is the cause.
    pub is_receiving: bool,
    /// The memory of the response.
    pub response_lease: Option<BodyLease>,
    /// The administrative act that was begun.
    pub act: Option<Act>,
}

impl RequestTrace {
    /// Begins the trace of a request.
    pub fn begin(client: Option<IpAddr>, endpoint: Option<&'static Endpoint>) -> Self {
        Self {
            request_id: Uuid::now_v7(),
            client,
            endpoint,
            key: None,
            rate: None,
            quota_percent: None,
            credits: 0,
            is_receiving: false,
            response_lease: None,
            act: None,
        }
    }

    /// Notes the key and the rate of a call that was refused; returns its error.
    pub fn note_refused(&mut self, refused: Refused) -> ApiError {
        self.key = refused.key;
        self.rate = refused.rate;
        refused.error
    }

    /// Sets the headers of a response. Without a valid key, the rate of the client's address is given.
    pub fn set_headers(&self, path: &str, response: &mut Response<Bytes>) {
        let headers = response.headers_mut();
        response_headers::set_request_id(headers, self.request_id);
        response_headers::set_robots(headers);
        if !is_protected(path) && self.key.is_none() {
            return;
        }
        headers.insert(
            response_headers::CREDITS_HEADER,
            HeaderValue::from(self.credits),
        );
        if let Some(rate) = self.rate {
            response_headers::set_rate_headers(headers, rate);
        }
        if let Some(percent) = self.quota_percent {
            headers.insert(
                response_headers::QUOTA_WARNING_HEADER,
                HeaderValue::from(percent),
            );
        }
    }

    /// Writes the request to the log and counts it.
    pub fn log(&self, app: &App, head: &Head, response: &Response<Bytes>, duration: Duration) {
        let status = response.status().as_u16();
        let pattern = self.endpoint.map(|endpoint| endpoint.path);
        app.metrics
            .record_request(pattern, head.method.as_str(), status, duration);
        request_line::write(&RequestLine {
            request_id: self.request_id,
            client: self.client,
            method: head.method.as_str(),
            path: &logged_path(head.path.as_str(), pattern),
            status,
            key_id: self.key.as_ref().map(|key| key.key_id),
            credits: self.credits,
            duration,
        });
    }
}

/// Path parameter that gives access to a result. The log shows this name instead of its value.
const TOKEN: &str = "{token}";
/// Beginning of the paths that may have a token, also where no endpoint has the path.
const PROJECTS: &str = "/geocoding/async/projects/";
/// Place of a token among the parts of such a path, the empty one before the first slash included.
const TOKEN_PLACE: usize = 6;

/// Returns a path as the log shows it: without tokens.
fn logged_path<'p>(path: &'p str, pattern: Option<&str>) -> Cow<'p, str> {
    let of_pattern = pattern.and_then(|pattern| pattern.split('/').position(|part| part == TOKEN));
    let unmatched = pattern.is_none() && path.starts_with(PROJECTS);
    let Some(place) = of_pattern.or(unmatched.then_some(TOKEN_PLACE)) else {
        return Cow::Borrowed(path);
    };
    match path.match_indices('/').nth(place.saturating_sub(1)) {
        Some((slash, _)) => Cow::Owned(format!("{}{TOKEN}", &path[..=slash])),
        None => Cow::Borrowed(path),
    }
}

/// Returns whether a path needs a key.
pub(super) fn is_protected(path: &str) -> bool {
    let mut prefixes = [PROTECTED_PREFIX, GEOCODING_PREFIX].into_iter();
    prefixes.any(|prefix| path.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_shows_no_token() {
        let pattern = "/geocoding/async/projects/{id}/output-file/{token}";
        let shown = "/geocoding/async/projects/1/output-file/{token}";
        let path = "/geocoding/async/projects/1/output-file/secret";
        assert_eq!(logged_path(path, Some(pattern)), shown);
        assert_eq!(logged_path(&format!("{path}/"), None), shown);
        let encoded = "/geocoding/async/projects/1/output%2Dfile/secret";
        assert!(!logged_path(encoded, None).contains("secret"));
        assert_eq!(logged_path("/version", Some("/version")), "/version");
        let start = "/geocoding/async/projects/1/start";
        assert_eq!(logged_path(start, None), start);
    }
}
