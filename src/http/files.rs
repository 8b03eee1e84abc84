//! Files compiled into the executable, and their responses: with a digest as `ETag`, and under a content security
//! policy that allows a page to load from and connect to the service only.

use bytes::Bytes;
use warp::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use warp::http::{HeaderMap, Response, StatusCode};

use toise_transport::coding::ConstantBody;

/// The content security policy: a page may load files of the service, and inline styles and images.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";
/// The content security policy of a page without scripts and without anything to load.
pub const HTML_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// Cache rule of files: a browser may keep them for a day before it revalidates.
pub const FILE_CACHE: &str = "public, max-age=86400";
/// Cache rule of pages and their settings: revalidated on every use.
pub const PAGE_CACHE: &str = "no-cache";

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// A file ready to send.
#[derive(Debug)]
pub struct DocsFile {
    /// Its name in the path.
    pub name: &'static str,
    content_type: HeaderValue,
    cache: &'static str,
    etag: HeaderValue,
    /// Its content.
    pub bytes: Bytes,
}

impl DocsFile {
    /// Returns a file with a media type; `None` if the media type is not a valid header value.
    pub fn new(
        name: &'static str,
        media_type: &str,
        cache: &'static str,
        bytes: Bytes,
    ) -> Option<Self> {
        let content_type = if media_type.starts_with("text/") {
            format!("{media_type}; charset=utf-8")
        } else {
            media_type.to_owned()
        };
        let etag = format!("\"{}\"", blake3::hash(&bytes).to_hex());
        Some(Self {
            name,
            content_type: HeaderValue::from_str(&content_type).ok()?,
            cache,
            etag: HeaderValue::from_str(&etag).ok()?,
            bytes,
        })
    }

    /// Returns the response with the file, or 304 if the client already has it.
    pub fn send(&self, headers: &HeaderMap) -> Response<Bytes> {
        self.send_under(&HeaderValue::from_static(POLICY), headers)
    }

    /// Like [`Self::send`], under another content security policy.
    pub fn send_under(&self, policy: &HeaderValue, headers: &HeaderMap) -> Response<Bytes> {
        let unchanged = headers
            .get_all(IF_NONE_MATCH)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|list| list.split(','))
            .any(|tag| tag.trim().trim_start_matches("W/").as_bytes() == self.etag.as_bytes());
        let mut response = if unchanged {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            Response::new(self.bytes.clone())
        };
        response.extensions_mut().insert(ConstantBody);
        let headers = response.headers_mut();
        if !unchanged {
            headers.insert(CONTENT_TYPE, self.content_type.clone());
        }
        headers.insert(ETAG, self.etag.clone());
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        for (name, value) in [
            (CACHE_CONTROL, self.cache),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (
                PERMISSIONS_POLICY,
                "camera=(), geolocation=(), microphone=()",
            ),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
