//! The snapshot that a replica serves.
//!
//! Every response of a replica names it in `x-toise-as-of`. Endpoints declare what only the writer does (`Effect` in
//! the crate `http`). On a replica, the pipeline answers such requests with 421 and the writer's address, regardless of
//! the key, unless they exceed a rate.

use std::sync::Arc;

use arc_swap::ArcSwap;
use warp::http::header::{HeaderName, HeaderValue};

/// Header with the time and number of the snapshot that a replica answers from, on each of its responses.
pub const AS_OF_HEADER: HeaderName = HeaderName::from_static("x-toise-as-of");

/// The published snapshot that a replica serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsOf {
    /// Number of the snapshot.
    pub number: u64,
    /// When it was captured, ISO 8601.
    pub created_at: String,
    /// Address at which its writer takes requests, if the writer published one.
    pub writer: Option<String>,
}

impl AsOf {
    /// Returns the value of the header: the time, then the number.
    pub fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("{}; snapshot={}", self.created_at, self.number)).ok()
    }
}

/// The snapshot that a replica serves now; it changes while the replica runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReplicaStatus {
    shown: Arc<ArcSwap<AsOf>>,
}

impl ReplicaStatus {
    /// Returns the status of a replica that serves this snapshot.
    pub fn new(as_of: AsOf) -> Self {
        Self {
            shown: Arc::new(ArcSwap::from_pointee(as_of)),
        }
    }

    /// Returns the snapshot that is served now.
    pub fn as_of(&self) -> Arc<AsOf> {
        self.shown.load_full()
    }

    /// Sets the snapshot that is served now.
    pub fn set(&self, as_of: AsOf) {
        self.shown.store(Arc::new(as_of));
    }
}

/// Returns the value of the header for a response, if this is a replica.
pub fn as_of_header(replica: Option<&ReplicaStatus>) -> Option<HeaderValue> {
    replica.and_then(|replica| replica.as_of().header())
}
