//! What an endpoint is: one value that states everything about it.
//!
//! The router, the pipeline, the OpenAPI document and the policy tests read these values and nothing else. A value is a
//! struct literal, so none of its fields can be forgotten; [`crate::resources`] lists them all.

use std::time::Duration;

use futures::future::BoxFuture;
use warp::http::Method;

use super::App;
use super::call::Call;
use super::error::ApiError;
use super::openapi::Operation;
use super::response::ApiResponse;
use toise_accounts::grants::is_endpoint_name;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;

/// Bytes the body of an ordinary request may have.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes the body of a `_many` request may have.
pub const MANY_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// JSON of the ordinary size.
pub const JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: BODY_BYTES_MAX,
};
/// JSON of many bodies.
pub const MANY_JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: MANY_BODY_BYTES_MAX,
};

/// Who may call an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without a key.
    Public,
    /// Any key that works.
    Keyed,
    /// A key granted the scope, or this endpoint by its name. Made by [`Access::scoped`].
    Scoped(Scope, &'static str),
}

impl Access {
    /// A key granted the scope, or the endpoint by its name.
    ///
    /// In a constant, a name that no grant may hold ([`toise_accounts::grants::ENDPOINTS`]) does not compile.
    pub const fn scoped(scope: Scope, grant: &'static str) -> Self {
        assert!(
            is_endpoint_name(grant),
            "the grant is not in accounts::grants::ENDPOINTS"
        );
        Access::Scoped(scope, grant)
    }
}

/// What an answered call counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Nothing: it is neither priced nor counted, and no quota bounds it.
    Free,
    /// A call of this type, priced by the list.
    As(Consumption),
}

/// What body an endpoint takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// None; one that comes is ignored.
    None,
    /// JSON of at most this many bytes.
    Json {
        /// Greatest length.
        bytes_max: usize,
    },
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// As long as any request.
    Request,
    /// As long as any request, and twice the wait for a page: the call may collect one, and may have waited for
    /// another of its idempotency key before.
    Collection,
}

impl Time {
    /// Longest time a call may take, its body included.
    pub fn limit(self, app: &App) -> Duration {
        match self {
            Time::Request => app.request_timeout,
            Time::Collection => app.request_timeout + 2 * app.collector.wait(),
        }
    }
}

/// Answers a call.
pub type Handler = for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, Result<ApiResponse, ApiError>>;

/// An endpoint: a method on a path, and all that is to say of it.
#[derive(Debug)]
pub struct Endpoint {
    /// Method; GET answers HEAD too.
    pub method: Method,
    /// Path; a segment `{name}` takes any one segment.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// What an answered call counts as.
    pub counting: Counting,
    /// What body it takes.
    pub body: BodyRule,
    /// How long a call may take.
    pub time: Time,
    /// Answers a call.
    pub handler: Handler,
    /// What the OpenAPI document says of it; `None`: it is left out.
    pub operation: Option<fn() -> Operation>,
}

impl Endpoint {
    /// Whether it needs a key.
    pub fn is_protected(&self) -> bool {
        self.access != Access::Public
    }

    /// Whether a client may send an `Idempotency-Key`: where asking twice could cost twice.
    pub fn takes_idempotency_key(&self) -> bool {
        let asks_again = self.method == Method::POST || self.time == Time::Collection;
        asks_again && matches!(self.counting, Counting::As(_))
    }
}
