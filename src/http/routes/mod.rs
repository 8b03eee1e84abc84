//! The table of routes: method, path, who may ask, what it counts as, what body it takes, which endpoint answers.
//!
//! Adding a route is adding a row: a row cannot leave out its access or what it counts as, and the pipeline, the
//! OpenAPI document and the policy tests read both from here.

mod rows;
mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use warp::http::Method;

use super::error::ApiError;
use super::samples::Sample;
use toise_accounts::prices::Consumption;
use toise_accounts::scopes::Scope;
use toise_contract::listings::filters::{Listing, Part};
use toise_opendata::Dataset;

pub use rows::{ADVERTS_BODY_BYTES_MAX, BODY_BYTES_MAX, MANY_BODY_BYTES_MAX};
pub use table::ROUTES;

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without a key.
    Public,
    /// Any key that works.
    Keyed,
    /// A key granted the scope, or this endpoint by its name.
    Scoped(Scope, &'static str),
}

/// What an answered call counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Nothing: it is neither priced nor counted, and no quota bounds it.
    Free,
    /// A call of this type, priced by the list.
    As(Consumption),
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
    /// Whether the process serves at all.
    Livez,
    /// Numbers for Prometheus.
    Metrics,
    /// Version of the program.
    Version,
    /// The OpenAPI document.
    OpenApi,
    /// The reference page and its files.
    Docs,
    /// A sample answer.
    Sample(Sample),
    /// What the account consumed.
    Consumption,
    /// An operator's action.
    Admin(AdminAction),
    /// A filtered, sorted page.
    Search(Dataset),
    /// Ranked candidates.
    Match(Dataset),
    /// Ranked candidates of many bodies.
    MatchMany(Dataset),
    /// A page of properties, whole or in short.
    PropertiesSearch(Part),
    /// How many properties a search finds.
    PropertiesCount,
    /// Properties similar to one.
    PropertiesSimilars,
    /// Figures over what a search finds.
    Analytics,
    /// A property by its identifier.
    Property,
    /// The property that holds an advert.
    PropertyOfAdvert,
    /// Properties by their identifiers.
    PropertiesMany,
    /// An advert by its identifier.
    Advert,
    /// The portals covered.
    Portals,
    /// A listing by the address of its page.
    ByUrl(Listing),
    /// Has a listing looked at again.
    Check(Listing),
    /// Takes what is wrong with a listing.
    Report(Listing),
    /// The value of a home.
    EstimateLite,
    /// The values of homes.
    EstimateLiteMany,
    /// What an account does with its alerts on such listings.
    Alerts(Listing, AlertAction),
}

/// What an account does with its alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertAction {
    /// Makes one.
    Create,
    /// Makes several.
    CreateMany,
    /// Every one.
    List,
    /// Reads one.
    Get,
    /// Changes one in place.
    Update,
    /// Ends one.
    Delete,
    /// Takes one up again.
    Activate,
    /// What one matched.
    History,
    /// What became of what its receiver was to be told.
    Deliveries,
    /// Has a window of the past sent again.
    Replay,
    /// What one would have matched lately.
    Preview,
}

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAction {
    /// Takes adverts.
    TakeAdverts,
    /// Every account.
    ListAccounts,
    /// Makes an account.
    CreateAccount,
    /// One account.
    GetAccount,
    /// Replaces an account's signing secret.
    RotateSecret,
    /// Every key.
    ListKeys,
    /// Makes a key.
    CreateKey,
    /// Changes what a key may do.
    UpdateKey,
    /// Revokes a key.
    RevokeKey,
    /// Consumption of every account.
    Usage,
    /// Alerts of every account.
    ListAlerts,
    /// One alert, and how it goes with it.
    GetAlert,
    /// Deliveries that were given up.
    ListDeadLetters,
    /// Has a delivery that was given up sent again.
    RetryDeadLetter,
}

/// One row of the table.
#[derive(Debug)]
pub struct Route {
    /// Method; GET answers HEAD too.
    pub method: Method,
    /// Path; a segment `{name}` takes any one segment.
    pub path: &'static str,
    /// Who may ask.
    pub access: Access,
    /// What an answered call counts as.
    pub counting: Counting,
    /// What body it takes.
    pub body: BodyRule,
    /// What answers.
    pub endpoint: Endpoint,
}

impl Route {
    /// Whether the route needs a key.
    pub fn is_protected(&self) -> bool {
        self.access != Access::Public
    }

    /// Whether a client may send an `Idempotency-Key`: where asking twice could cost twice.
    pub fn takes_idempotency_key(&self) -> bool {
        let asks_again = self.method == Method::POST || self.path.ends_with("/url");
        asks_again && matches!(self.counting, Counting::As(_))
    }
}

/// Values of the `{name}` segments of a path, in order, percent-decoded.
pub type Params = Vec<String>;

/// Routes by path, those without parameters, and the others segment by segment.
struct Index {
    literal: HashMap<&'static str, Vec<&'static Route>>,
    patterns: Vec<(Vec<&'static str>, &'static Route)>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        literal: HashMap::new(),
        patterns: Vec::new(),
    };
    for route in &ROUTES {
        if route.path.contains('{') {
            index
                .patterns
                .push((route.path.split('/').collect(), route));
        } else {
            index.literal.entry(route.path).or_default().push(route);
        }
    }
    index
});

/// The route of a request: 404 when the path has none, 405 when it has but not with this method.
///
/// A literal path wins over one with parameters, whatever the method.
pub fn find(method: &Method, path: &str) -> Result<(&'static Route, Params), ApiError> {
    let asked = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    if let Some(routes) = INDEX.literal.get(path) {
        return match routes.iter().find(|route| route.method == asked) {
            Some(route) => Ok((route, Params::new())),
            None => Err(not_allowed(routes)),
        };
    }
    let segments: Vec<&str> = path.split('/').collect();
    let candidates: Vec<&'static Route> = INDEX
        .patterns
        .iter()
        .filter(|(pattern, _)| fits(pattern, &segments))
        .map(|(_, route)| *route)
        .collect();
    match candidates.iter().find(|route| route.method == asked) {
        Some(route) => Ok((route, params(route, &segments)?)),
        None if candidates.is_empty() => Err(ApiError::NoRoute),
        None => Err(not_allowed(&candidates)),
    }
}

fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{')
}

fn fits(pattern: &[&str], segments: &[&str]) -> bool {
    pattern.len() == segments.len()
        && pattern.iter().zip(segments).all(|(pattern, segment)| {
            pattern == segment || is_parameter(pattern) && !segment.is_empty()
        })
}

fn params(route: &Route, segments: &[&str]) -> Result<Params, ApiError> {
    let pattern = route.path.split('/').zip(segments);
    pattern
        .filter(|(pattern, _)| is_parameter(pattern))
        .map(|(_, segment)| decode(segment).ok_or(ApiError::BrokenEncoding))
        .collect()
}

/// Decodes `%xx`; `None` unless every `%` has its two digits and the bytes are UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |at: usize| char::from(*rest.get(at)?).to_digit(16);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

fn not_allowed(routes: &[&'static Route]) -> ApiError {
    let mut allowed = Vec::new();
    for route in routes {
        allowed.push(route.method.as_str());
        if route.method == Method::GET {
            allowed.push("HEAD");
        }
    }
    ApiError::MethodNotAllowed(allowed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_accounts::grants::is_endpoint_name;

    #[test]
    fn everything_under_protected_asks_for_a_key_and_nothing_else_does() {
        for route in &ROUTES {
            let protected = route.path.starts_with("/v2/protected/");
            assert_eq!(protected, route.is_protected(), "{}", route.path);
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

    #[test]
    fn every_scoped_endpoint_can_be_granted_and_no_grant_opens_two_things() {
        let mut seen = std::collections::BTreeMap::new();
        for route in &ROUTES {
            if let Access::Scoped(_, grant) = route.access {
                assert!(is_endpoint_name(grant), "{grant}");
                // Alerts on properties and on adverts are one thing.
                let of_alerts = match route.endpoint {
                    Endpoint::Alerts(_, action) => Some(action),
                    _ => None,
                };
                let other = seen.insert(grant, of_alerts);
                assert!(
                    other.is_none() || other == Some(of_alerts) && of_alerts.is_some(),
                    "{grant}"
                );
            }
        }
    }

    #[test]
    fn segments_are_decoded_or_refused() {
        assert_eq!(decode("a%20b%C3%A9").as_deref(), Some("a bé"));
        for broken in ["%", "%2", "%zz", "%FF", "%+1"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }
}
