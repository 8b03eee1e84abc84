//! The table of routes: method, path, who may ask, what body it takes, which endpoint answers.
//!
//! Adding a route is adding a row: a row cannot leave out its access, and the pipeline and the policy tests read it
//! from here.

use warp::http::Method;

use super::error::ApiError;
use crate::accounts::scopes::Scope;
use crate::opendata::Dataset;

/// Bytes the body of an ordinary request may have.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes the body of a `_many` request may have.
pub const MANY_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without a key.
    Public,
    /// A key with this scope.
    Scoped(Scope),
}

/// What body a route takes.
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

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Readiness.
    Healthz,
    /// Version of the program.
    Version,
    /// The OpenAPI document.
    OpenApi,
    /// A filtered, sorted page.
    Search(Dataset),
    /// Ranked candidates.
    Match(Dataset),
    /// Ranked candidates of many bodies.
    MatchMany(Dataset),
}

/// One row of the table.
#[derive(Debug)]
pub struct Route {
    /// Method; GET answers HEAD too.
    pub method: Method,
    /// Path.
    pub path: &'static str,
    /// Who may ask.
    pub access: Access,
    /// What body it takes.
    pub body: BodyRule,
    /// What answers.
    pub endpoint: Endpoint,
}

const fn get(path: &'static str, endpoint: Endpoint) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Public,
        body: BodyRule::None,
        endpoint,
    }
}

const fn post(path: &'static str, scope: Scope, bytes_max: usize, endpoint: Endpoint) -> Route {
    Route {
        method: Method::POST,
        path,
        access: Access::Scoped(scope),
        body: BodyRule::Json { bytes_max },
        endpoint,
    }
}

const DPE_SEARCH: &str = "/v2/protected/opendata/dpe/search";
const DPE_MATCH: &str = "/v2/protected/opendata/dpe/match";
const DPE_MATCH_MANY: &str = "/v2/protected/opendata/dpe/match/_many";
const DVF_SEARCH: &str = "/v2/protected/opendata/dvf/search";
const DVF_MATCH: &str = "/v2/protected/opendata/dvf/match";
const DVF_MATCH_MANY: &str = "/v2/protected/opendata/dvf/match/_many";

/// Every route.
pub static ROUTES: [Route; 9] = [
    get("/healthz", Endpoint::Healthz),
    get("/version", Endpoint::Version),
    get("/openapi.json", Endpoint::OpenApi),
    post(
        DPE_SEARCH,
        Scope::Search,
        BODY_BYTES_MAX,
        Endpoint::Search(Dataset::Dpe),
    ),
    post(
        DPE_MATCH,
        Scope::Search,
        BODY_BYTES_MAX,
        Endpoint::Match(Dataset::Dpe),
    ),
    post(
        DPE_MATCH_MANY,
        Scope::Search,
        MANY_BODY_BYTES_MAX,
        Endpoint::MatchMany(Dataset::Dpe),
    ),
    post(
        DVF_SEARCH,
        Scope::Search,
        BODY_BYTES_MAX,
        Endpoint::Search(Dataset::Dvf),
    ),
    post(
        DVF_MATCH,
        Scope::Search,
        BODY_BYTES_MAX,
        Endpoint::Match(Dataset::Dvf),
    ),
    post(
        DVF_MATCH_MANY,
        Scope::Search,
        MANY_BODY_BYTES_MAX,
        Endpoint::MatchMany(Dataset::Dvf),
    ),
];

/// The route of a request: 404 when the path has none, 405 when it has but not with this method.
pub fn find(method: &Method, path: &str) -> Result<&'static Route, ApiError> {
    let asked = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let mut allowed = Vec::new();
    for route in ROUTES.iter().filter(|route| route.path == path) {
        if route.method == asked {
            return Ok(route);
        }
        allowed.push(route.method.as_str());
        if route.method == Method::GET {
            allowed.push("HEAD");
        }
    }
    if allowed.is_empty() {
        Err(ApiError::NoRoute)
    } else {
        Err(ApiError::MethodNotAllowed(allowed.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_under_protected_asks_for_a_key_and_nothing_else_does() {
        for route in &ROUTES {
            let protected = route.path.starts_with("/v2/protected/");
            assert_eq!(protected, route.access != Access::Public, "{}", route.path);
        }
    }

    #[test]
    fn no_two_rows_answer_the_same_request() {
        for (index, route) in ROUTES.iter().enumerate() {
            let twin = ROUTES[..index]
                .iter()
                .any(|other| other.path == route.path && other.method == route.method);
            assert!(!twin, "{}", route.path);
        }
    }
}
