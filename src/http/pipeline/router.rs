//! Finds the endpoint and the parameters of a request by its method and path.
//!
//! A literal segment takes precedence over a parameter, regardless of the method; a path that exists with other methods
//! is answered with 405 and their list. Parameters are percent-decoded, and broken encoding is rejected.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use warp::http::Method;

use crate::endpoint::call::Params;
use crate::endpoint::{Endpoint, GEOCODING_PREFIX};
use crate::resources;
use toise_contract::Fault;
use toise_contract::query::pairs;
use toise_service::error::ApiError;

/// The routes of every endpoint.
pub(crate) static ROUTER: LazyLock<Router> = LazyLock::new(|| Router::new(resources::endpoints()));

/// Methods and paths of the endpoints that read no query parameters and refuse them. Geocoding ignores unknown
/// parameters, as the public service does, and so do pages that are not in the OpenAPI document.
static WITHOUT_QUERY: LazyLock<HashSet<(&'static Method, &'static str)>> = LazyLock::new(|| {
    resources::endpoints()
        .filter(|endpoint| !endpoint.path.starts_with(GEOCODING_PREFIX))
        .filter(|endpoint| {
            let operation = endpoint.operation.map(|operation| operation());
            operation.is_some_and(|operation| operation.query.is_empty())
        })
        .map(|endpoint| (&endpoint.method, endpoint.path))
        .collect()
});

/// Refuses query parameters where an endpoint reads none.
///
/// # Errors
/// The query string is malformed, or names a parameter.
pub(crate) fn check_query(endpoint: &'static Endpoint, query: &str) -> Result<(), ApiError> {
    if query.is_empty() || !WITHOUT_QUERY.contains(&(&endpoint.method, endpoint.path)) {
        return Ok(());
    }
    match pairs(query)?.first() {
        Some((name, _)) => {
            let message = "unknown parameter; this endpoint has none";
            Err(Fault::new(name.as_str(), message).into())
        }
        None => Ok(()),
    }
}

type Found = (&'static Endpoint, Params);

/// Endpoints by path, and by method and path.
pub(crate) struct Router {
    paths: matchit::Router<Vec<&'static Endpoint>>,
    methods: HashMap<&'static Method, matchit::Router<&'static Endpoint>>,
}

impl Router {
    /// Creates the router of some endpoints; it is empty if two of them have conflicting paths.
    pub(crate) fn new(endpoints: impl Iterator<Item = &'static Endpoint>) -> Self {
        Self::try_new(endpoints).unwrap_or_else(|error| {
            // Unit tests build the router, so a build with this error fails them.
            tracing::error!(%error, "two endpoints have conflicting paths");
            Self::empty()
        })
    }

    fn empty() -> Self {
        Self {
            paths: matchit::Router::new(),
            methods: HashMap::new(),
        }
    }

    fn try_new(
        endpoints: impl Iterator<Item = &'static Endpoint>,
    ) -> Result<Self, matchit::InsertError> {
        let mut router = Self::empty();
        let mut by_path: Vec<(&'static str, Vec<&'static Endpoint>)> = Vec::new();
        for endpoint in endpoints {
            let of_method = router.methods.entry(&endpoint.method).or_default();
            of_method.insert(endpoint.path, endpoint)?;
            match by_path.iter_mut().find(|(path, _)| *path == endpoint.path) {
                Some((_, found)) => found.push(endpoint),
                None => by_path.push((endpoint.path, vec![endpoint])),
            }
        }
        for (path, found) in by_path {
            router.paths.insert(path, found)?;
        }
        Ok(router)
    }

    /// Returns the endpoint of a request; 404 if the path has none, 405 if it has none with this method.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Result<Found, ApiError> {
        if decode(path).is_none() {
            return Err(ApiError::BrokenEncoding);
        }
        let is_head = *method == Method::HEAD;
        let wanted = if is_head { &Method::GET } else { method };
        let serves = |endpoint: &Endpoint| !is_head || endpoint.serves_head();
        let Ok(found) = self.paths.at(path) else {
            return Err(ApiError::NoRoute);
        };
        if let Some(endpoint) = found.value.iter().find(|one| one.method == wanted) {
            return if serves(endpoint) {
                Ok((endpoint, decode_params(&found.params)?))
            } else {
                Err(not_allowed(found.value))
            };
        }
        // A path may match two patterns, such as `alerts/history/{alertId}` and `alerts/{alertId}/replay`.
        let is_literal = found.params.is_empty();
        let of_method = self.methods.get(wanted).filter(|_| !is_literal);
        match of_method.and_then(|router| router.at(path).ok()) {
            Some(other) if serves(other.value) => Ok((other.value, decode_params(&other.params)?)),
            _ => Err(not_allowed(found.value)),
        }
    }
}

fn decode_params(params: &matchit::Params<'_, '_>) -> Result<Params, ApiError> {
    params
        .iter()
        .map(|(_, segment)| decode(segment).ok_or(ApiError::BrokenEncoding))
        .collect()
}

/// Decodes `%xx`; `None` unless every `%` is followed by two digits and the bytes are UTF-8.
fn decode(text: &str) -> Option<String> {
    // The decoder leaves a `%` without digits unchanged.
    let is_whole = text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    is_whole.then(|| decoded.into_owned())
}

fn not_allowed(endpoints: &[&'static Endpoint]) -> ApiError {
    let mut allowed = Vec::new();
    for endpoint in endpoints {
        allowed.push(endpoint.method.as_str());
        if endpoint.serves_head() {
            allowed.push("HEAD");
        }
    }
    ApiError::MethodNotAllowed(allowed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns path and parameters of the endpoint found, or the error message.
    fn found(method: Method, path: &str) -> Result<(&'static str, Params), String> {
        let found = ROUTER
            .find(&method, path)
            .map_err(|error| error.to_string());
        found.map(|(endpoint, params)| (endpoint.path, params))
    }

    #[test]
    fn every_endpoint_is_found_by_its_own_path() {
        assert!(Router::try_new(resources::endpoints()).is_ok());
        for endpoint in resources::endpoints() {
            let (found, _) = found(endpoint.method.clone(), endpoint.path).unwrap();
            assert_eq!(found, endpoint.path);
        }
    }

    #[test]
    fn a_literal_takes_precedence_over_a_parameter() {
        let property = |rest: &str| format!("/v2/protected/properties/{rest}");
        let path = |rest| found(Method::GET, &property(rest)).unwrap().0;
        assert_eq!(path("a"), "/v2/protected/properties/{flxId}");
        assert_eq!(path("url"), "/v2/protected/properties/url");
        let refused = found(Method::GET, &property("search")).unwrap_err();
        assert_eq!(refused, "method not allowed; must be one of: POST");
    }

    #[test]
    fn the_method_decides_between_two_patterns_that_match() {
        let path = "/v2/protected/properties/search/alerts/history/replay";
        let pattern = |method| {
            found(method, path)
                .unwrap()
                .0
                .rsplit_once("alerts")
                .unwrap()
                .1
        };
        assert_eq!(pattern(Method::GET), "/history/{alertId}");
        assert_eq!(pattern(Method::POST), "/{alertId}/replay");
    }

    #[test]
    fn a_405_lists_the_methods_of_the_path_and_head_is_routed_as_get() {
        let path = "/v2/protected/adverts/search/alerts/x";
        let refused = found(Method::POST, path).unwrap_err();
        let all = "method not allowed; must be one of: GET, HEAD, PATCH, DELETE";
        assert_eq!(refused, all);
        assert!(found(Method::HEAD, path).is_ok());
    }

    #[test]
    fn head_is_refused_where_get_costs_or_changes_something() {
        for path in [
            "/v2/protected/properties/x",
            "/v2/protected/adverts/url",
            "/v2/protected/adverts/search/alerts/x/activate",
            "/v2/protected/adverts/search/alerts/history/x",
            "/geocoding/search",
        ] {
            let refused = found(Method::HEAD, path).unwrap_err();
            assert_eq!(refused, "method not allowed; must be one of: GET", "{path}");
        }
    }

    #[test]
    fn an_empty_segment_is_not_a_parameter() {
        for path in [
            "/v2/protected/properties/",
            "/v2/protected/properties//check",
            "/v2/protected/properties/a/",
            "/docs//",
            "",
            "//healthz",
        ] {
            for method in [Method::GET, Method::POST] {
                assert_eq!(found(method, path).unwrap_err(), "no such route", "{path}");
            }
        }
    }

    #[test]
    fn segments_are_decoded_or_rejected() {
        assert_eq!(decode("a%20b%C3%A9+").as_deref(), Some("a bé+"));
        for broken in ["%", "%2", "%zz", "%FF", "%+1", "%é"] {
            assert_eq!(decode(broken), None, "{broken}");
            let error = found(Method::GET, &format!("/docs/{broken}")).unwrap_err();
            assert_eq!(error, "path: percent-encoding is broken");
        }
        let (_, params) = found(Method::GET, "/v2/protected/adverts/a%2Fb").unwrap();
        assert_eq!(params, ["a/b"]);
    }
}
