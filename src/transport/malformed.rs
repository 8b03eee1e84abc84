//! Detects requests that HTTP forbids and hyper accepts.
//!
//! If a proxy and this server read such a request differently, one client can be made to receive the response of
//! another (request smuggling). So the request is refused with 400.

use hyper::{Request, Version};
use warp::http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use warp::http::{HeaderMap, Uri};

/// The reason why a request is malformed. The accept loop adds it to the extensions of the request; clients cannot set
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(&'static str);

impl Malformed {
    /// Returns the message for the client.
    pub fn message(self) -> &'static str {
        self.0
    }
}

/// Returns why a request is malformed. If it has no path, its path is set to `/`, because the router needs one.
pub(super) fn find_fault<B>(request: &mut Request<B>) -> Option<Malformed> {
    if !request.uri().path().starts_with('/') || request.uri().path_and_query().is_none() {
        *request.uri_mut() = Uri::from_static("/");
        return Some(Malformed("the target of a request must be a path"));
    }
    if request.version() < Version::HTTP_2 {
        find_head_fault(request.version(), request.headers()).map(Malformed)
    } else {
        None
    }
}

fn find_head_fault(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    let hosts = headers.get_all(HOST).iter().count();
    if hosts > 1 || (hosts == 0 && version == Version::HTTP_11) {
        return Some("host: must be given once");
    }
    let codings = headers.get_all(TRANSFER_ENCODING).iter();
    let codings: Vec<&[u8]> = codings
        .flat_map(|list| list.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    match codings.as_slice() {
        [] => None,
        [one] if one.eq_ignore_ascii_case(b"chunked") => headers
            .contains_key(CONTENT_LENGTH)
            .then_some("content-length: must not be given with transfer-encoding"),
        _ => Some("transfer-encoding: must be chunked, once"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(uri: &str, headers: &[(&str, &str)]) -> Option<&'static str> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(()).unwrap();
        let fault = find_fault(&mut request);
        assert!(request.uri().path().starts_with('/'));
        fault.map(|malformed| malformed.0)
    }

    #[test]
    fn requests_that_two_servers_read_differently_are_refused() {
        let host = ("host", "a");
        assert_eq!(fault("/version", &[host]), None);
        assert_eq!(
            fault("/version", &[host, ("transfer-encoding", "Chunked")]),
            None
        );
        for headers in [
            &[][..],
            &[host, host],
            &[host, ("transfer-encoding", "chunked, chunked")],
            &[
                host,
                ("transfer-encoding", "chunked"),
                ("transfer-encoding", "chunked"),
            ],
            &[host, ("transfer-encoding", "gzip")],
            &[
                host,
                ("transfer-encoding", "chunked"),
                ("content-length", "3"),
            ],
        ] {
            assert!(fault("/version", headers).is_some(), "{headers:?}");
        }
        assert!(fault("example.com:443", &[host]).is_some());
        assert!(fault("*", &[host]).is_some());
    }
}
