//! The state that a replica shows.
//!
//! Every response of a replica carries it in `x-toise-as-of`. Endpoints state what only the writer does
//! (`Effect` in the crate `http`); the pipeline answers those with 421 and the writer's address, before it looks at the key.

use std::sync::Arc;

use arc_swap::ArcSwap;
use warp::http::header::{HeaderName, HeaderValue};

/// Header with the moment that an answer is as of and the number of the snapshot, on every response of a replica.
pub const AS_OF_HEADER: HeaderName = HeaderName::from_static("x-toise-as-of");

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
pub fn as_of_header(replica: Option<&ReplicaStatus>) -> Option<HeaderValue> {
    replica.and_then(|replica| replica.as_of().header())
}
