//! Endpoints. One value declares everything about an endpoint.
//!
//! The router, the pipeline, the OpenAPI document and the policy tests read these values and nothing else. Each value
//! states who may call it and the effect of a call; [`crate::resources`] lists them all.

pub mod audience;
pub mod call;
pub(crate) mod limits;
pub mod operation;
pub mod response;

use std::time::Duration;

use futures::future::BoxFuture;
use warp::http::Method;

use crate::endpoint::call::Call;
use crate::endpoint::operation::Operation;
use crate::endpoint::response::ApiResponse;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_service::App;
pub use toise_service::admission::{Access, Counting};
use toise_service::error::ApiError;
pub use toise_transport::body::BodyRule;

/// Maximum body length of an ordinary request, in bytes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Maximum body length of a `_many` request, in bytes.
pub const MANY_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Prefix of the paths that work on records; all need a key.
pub const PROTECTED_PREFIX: &str = "/v2/protected/";
/// Prefix of the geocoding paths; all need a key.
pub const GEOCODING_PREFIX: &str = "/geocoding/";

/// A JSON body of ordinary length.
pub const JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: BODY_BYTES_MAX,
};
/// A JSON body of a `_many` request.
pub const MANY_JSON_BODY: BodyRule = BodyRule::Json {
    bytes_max: MANY_BODY_BYTES_MAX,
};

/// The effect of a call on stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads data that replicas also have.
    Reads,
    /// Reads data that only the writer has: accounts, alerts, consumption, jobs.
    ReadsOnWriter,
    /// Changes something. Ingestion also counts as this, because operators' keys do it all day.
    Writes,
    /// Changes keys, accounts, deliveries or merges as an operator; it is audited.
    Administers,
}

/// Time limit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The limit of every request.
    Request,
    /// The limit of every request, plus twice the wait for a page: the call may collect one, after it has waited
    /// for another call with the same idempotency key.
    Collection,
    /// The limit of every request, plus the time to receive a file.
    Upload,
    /// The limit of every request, plus the maximum time of a SQL query with its waiting. The response continues after
    /// the call.
    Query,
}

/// Maximum time to receive a file.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);

impl Time {
    /// Returns the maximum duration of a call, including its body.
    pub fn limit(self, app: &App) -> Duration {
        match self {
            Time::Request => app.capacity.request_timeout,
            Time::Collection => app.capacity.request_timeout + 2 * app.data.collector.wait(),
            Time::Query => app.capacity.request_timeout + app.data.sql.time_max(),
            Time::Upload => app.capacity.request_timeout + UPLOAD_TIMEOUT,
        }
    }
}

/// A function that handles a call.
pub type Handler = for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, Result<ApiResponse, ApiError>>;

/// An endpoint: a method on a path, with its rules and documentation.
#[derive(Debug)]
pub struct Endpoint {
    /// Method; GET also serves HEAD, if the call is free and changes nothing.
    pub method: Method,
    /// Path; a segment `{name}` matches any one segment.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// The consumption type of an answered call.
    pub counting: Counting,
    /// The effect of a call on stored data. It determines idempotency, audit and what replicas refuse.
    pub effect: Effect,
    /// The body it accepts.
    pub body: BodyRule,
    /// Its time limit.
    pub time: Time,
    /// The function that handles a call.
    pub handler: Handler,
    /// Its documentation in the OpenAPI document; `None` leaves it out.
    pub operation: Option<fn() -> Operation>,
}

/// Declares endpoints, one a row: method, path, access, effect and handler, then what else is stated with the methods of
/// [`Endpoint`].
macro_rules! endpoints {
    ($(
        $method:ident $path:expr, $access:expr, $effect:ident, $handler:ident($call:ident $(, $more:expr)*)
        $(.$with:ident($($argument:tt)*))*;
    )+) => {
        &[$(
            $crate::endpoint::Endpoint::new(
                warp::http::Method::$method,
                $path,
                $access,
                $crate::endpoint::Effect::$effect,
                |$call| futures::FutureExt::boxed($handler($call $(, $more)*)),
            )
            $(.$with($($argument)*))*
        ),+]
    };
}

pub(crate) use endpoints;

impl Endpoint {
    /// Returns an endpoint that is free, takes no body, has the time limit of every request and is not in the OpenAPI
    /// document.
    pub const fn new(
        method: Method,
        path: &'static str,
        access: Access,
        effect: Effect,
        handler: Handler,
    ) -> Self {
        Self {
            method,
            path,
            access,
            counting: Counting::Free,
            effect,
            body: BodyRule::None,
            time: Time::Request,
            handler,
            operation: None,
        }
    }

    /// Sets the consumption type of an answered call.
    pub const fn counted_as(mut self, consumption: Consumption) -> Self {
        self.counting = Counting::As(consumption);
        self
    }

    /// Sets the body it accepts.
    pub const fn with_body(mut self, body: BodyRule) -> Self {
        self.body = body;
        self
    }

    /// Sets its time limit.
    pub const fn with_time(mut self, time: Time) -> Self {
        self.time = time;
        self
    }

    /// Sets its documentation in the OpenAPI document.
    pub const fn with_operation(mut self, operation: fn() -> Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Returns whether it needs a key.
    pub fn is_protected(&self) -> bool {
        self.access != Access::Public
    }

    /// Returns whether it reports the health of the service. Such calls are exempt from the rate of addresses.
    pub fn is_probe(&self) -> bool {
        self.path == audience::METRICS || audience::PROBES.contains(&self.path)
    }

    /// Returns whether only operators may call it.
    pub fn is_operators(&self) -> bool {
        matches!(self.access, Access::Scoped(Scope::Admin, _))
    }

    /// Returns whether a call changes nothing that is stored.
    pub fn only_reads(&self) -> bool {
        matches!(self.effect, Effect::Reads | Effect::ReadsOnWriter)
    }

    /// Returns whether only the writer answers it, not its replicas.
    pub fn is_for_writer(&self) -> bool {
        self.effect != Effect::Reads
    }

    /// Returns whether the path answers HEAD. A HEAD request must not change or cost anything.
    pub fn serves_head(&self) -> bool {
        self.method == Method::GET && self.only_reads() && self.counting == Counting::Free
    }

    /// Returns whether a client may send an `Idempotency-Key`: if the call changes something or may cost something.
    /// Calls with a file do not take one, because the file is read as it arrives.
    pub fn takes_idempotency_key(&self) -> bool {
        let is_file = matches!(self.body, BodyRule::Upload { .. } | BodyRule::Form { .. });
        let counts = self.counting != Counting::Free;
        self.is_protected() && !is_file && (counts || !self.only_reads())
    }

    /// Returns whether the response under an `Idempotency-Key` is kept, if it is not too long. The rows of a query are
    /// not kept: the call is only remembered, and a repeated call runs again.
    pub fn keeps_responses(&self) -> bool {
        self.time != Time::Query
    }
}
