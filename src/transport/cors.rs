//! Cross-origin requests: pages of the origins that the operator names may call the service from a browser.
//!
//! Keys are sent in a header, so cookies are never allowed: a page can only use a key that it knows. The endpoint of
//! the Model Context Protocol refuses every page, regardless of this configuration.

use bytes::Bytes;
use warp::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderValue, ORIGIN, VARY,
};
use warp::http::{HeaderMap, Method, Response, StatusCode};

/// Every origin.
const ANY: &str = "*";
/// Methods that pages may use.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
/// Headers that pages may send.
const REQUEST_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, idempotency-key, x-api-key");
/// Headers that pages may read.
const RESPONSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "allow, content-disposition, etag, idempotent-recomputed, idempotent-replayed, ratelimit-limit, ratelimit-remaining, \
     ratelimit-reset, retry-after, www-authenticate, x-credits, x-quota-used-percent, x-request-id, x-rows-count, \
     x-toise-as-of, x-toise-snapshots",
);
/// How long a browser may cache the answer to a preflight, in seconds: two hours, the maximum that Chromium honours.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("7200");

/// The origins whose pages may call the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Parses origins (`https://app.example.com`) separated by commas, or `*`.
    ///
    /// # Errors
    /// The first entry that is not an origin.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|one| !one.is_empty());
        let origins = parts.map(|one| {
            if one == ANY || is_origin(one) {
                Ok(one.to_ascii_lowercase())
            } else {
                Err(one.to_owned())
            }
        });
        origins.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the origin of a request, if its pages may call the service.
    fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        let is_allowed = self.0.iter().any(|one| one == ANY || *one == text);
        is_allowed.then(|| origin.clone())
    }

    /// Returns the answer to a preflight from an allowed origin; `None` for other requests.
    pub fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response<Bytes>> {
        let asks =
            *method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks || self.allowed(headers).is_none() {
            return None;
        }
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let answered = response.headers_mut();
        answered.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        answered.insert(ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
        answered.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
        Some(response)
    }

    /// Lets the page that made a request read the response, if its origin is allowed.
    pub fn expose(&self, request: &HeaderMap, response: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        response.append(VARY, HeaderValue::from_name(ORIGIN));
        if let Some(origin) = self.allowed(request) {
            response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
        }
    }
}

/// Returns whether a text is a scheme and a host, with or without a port.
fn is_origin(text: &str) -> bool {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| {
        !host.is_empty()
            && host
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(origin: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, origin.parse().unwrap());
        headers.insert(ACCESS_CONTROL_REQUEST_METHOD, "POST".parse().unwrap());
        headers
    }

    #[test]
    fn pages_of_named_origins_may_call_and_others_may_not() {
        let origins =
            AllowedOrigins::parse("https://app.example.com, http://localhost:3000").unwrap();
        let preflight = |origin: &str| origins.preflight(&Method::OPTIONS, &from(origin));
        assert_eq!(preflight("https://app.example.com").unwrap().status(), 204);
        assert!(preflight("https://evil.example.com").is_none());
        assert!(
            origins
                .preflight(&Method::GET, &from("https://app.example.com"))
                .is_none()
        );
        let mut response = HeaderMap::new();
        origins.expose(&from("http://localhost:3000"), &mut response);
        assert_eq!(
            response[ACCESS_CONTROL_ALLOW_ORIGIN],
            "http://localhost:3000"
        );
        let mut foreign = HeaderMap::new();
        origins.expose(&from("https://evil.example.com"), &mut foreign);
        assert!(!foreign.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
        assert_eq!(foreign[VARY], "origin");
    }

    #[test]
    fn origins_are_a_scheme_and_a_host() {
        assert!(AllowedOrigins::parse("*").is_ok());
        assert_eq!(
            AllowedOrigins::parse("").unwrap(),
            AllowedOrigins::default()
        );
        for text in ["app.example.com", "https://app.example.com/x", "https://"] {
            assert_eq!(AllowedOrigins::parse(text), Err(text.to_owned()));
        }
    }
}
