//! A service that is a replica: which state it shows, and what only its writer does.
//!
//! Every response carries the state in `x-toise-as-of`. Requests that change something, or need what replicas do not
//! have, are answered 421 with the writer's address before the key is looked at.

use std::sync::Arc;

use arc_swap::ArcSwap;
use warp::http::header::{HeaderName, HeaderValue};

use super::error::ApiError;

/// Header with the moment that an answer is as of and the number of the snapshot, on every response of a replica.
pub const AS_OF_HEADER: HeaderName = HeaderName::from_static("x-toise-as-of");

/// Beginnings of the paths of what only the writer does.
const PREFIXES: [&str; 3] = [
    "/geocoding/async/",
    "/v2/protected/admin/",
    "/v2/protected/consumption",
];
/// Parts of the paths of what only the writer does: alerts, pages that are collected, checks, reports.
const PARTS: [&str; 1] = ["/search/alerts"];
/// Ends of such paths.
const ENDS: [&str; 3] = ["/url", "/check", "/report"];

/// The published state that a replica shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsOf {
    /// Number of the snapshot.
    pub number: u64,
    /// When it was captured, ISO 8601.
    pub created_at: String,
    /// Where its writer takes requests, if it said so.
    pub writer: Option<String>,
}

impl AsOf {
    /// The value of the header: the moment, then the number.
    pub fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("{}; snapshot={}", self.created_at, self.number)).ok()
    }
}

/// The state that a replica shows, which changes while it runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReplicaStatus {
    shown: Arc<ArcSwap<AsOf>>,
}

impl ReplicaStatus {
    /// A replica that shows a state.
    pub fn new(as_of: AsOf) -> Self {
        Self {
            shown: Arc::new(ArcSwap::from_pointee(as_of)),
        }
    }

    /// The state shown now.
    pub fn as_of(&self) -> Arc<AsOf> {
        self.shown.load_full()
    }

    /// Says that another state is shown.
    pub fn set(&self, as_of: AsOf) {
        self.shown.store(Arc::new(as_of));
    }
}

/// The value of the header on an answer, if this is a replica.
pub(crate) fn as_of_header(replica: Option<&ReplicaStatus>) -> Option<HeaderValue> {
    replica.and_then(|replica| replica.as_of().header())
}

/// Refuses on a replica what only the writer does.
///
/// # Errors
/// [`ApiError::WriterOnly`], with the address of the writer.
pub(crate) fn refuse_writers(replica: Option<&ReplicaStatus>, path: &str) -> Result<(), ApiError> {
    match replica {
        Some(replica) if is_for_writer(path) => {
            Err(ApiError::WriterOnly(replica.as_of().writer.clone()))
        }
        _ => Ok(()),
    }
}

/// Whether a path, as in [`crate::endpoint::Endpoint`], is one of what only the writer does.
fn is_for_writer(path: &str) -> bool {
    PREFIXES.iter().any(|prefix| path.starts_with(prefix))
        || PARTS.iter().any(|part| path.contains(part))
        || ENDS.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Counting;
    use crate::resources;
    use warp::http::Method;

    #[test]
    fn replicas_answer_what_reads_and_leave_what_writes_to_the_writer() {
        for path in [
            "/healthz",
            "/v2/protected/opendata/dvf/search",
            "/v2/protected/opendata/dpe/match/_many",
            "/v2/protected/estimate/property/lite",
            "/v2/protected/properties/search",
            "/v2/protected/properties/{flxId}",
            "/v2/protected/adverts/{flxId}",
            "/v2/protected/sql",
            "/v2/protected/tiles/{dataset}/{z}/{x}/{y}",
            "/geocoding/search/csv",
        ] {
            assert!(!is_for_writer(path), "{path}");
        }
        for endpoint in resources::endpoints() {
            let changes = [Method::PUT, Method::PATCH, Method::DELETE].contains(&endpoint.method);
            let is_free = endpoint.counting == Counting::Free && endpoint.method == Method::POST;
            let is_written = (changes || is_free) && endpoint.is_protected();
            if is_written {
                assert!(
                    is_for_writer(endpoint.path),
                    "{} {} is answered by replicas",
                    endpoint.method,
                    endpoint.path
                );
            }
        }
    }
}
