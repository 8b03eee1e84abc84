//! The resources of the service: one file each, with its endpoints, their handlers and what they share.
//!
//! To add an endpoint, add a value to its resource's `ENDPOINTS`; to add a resource, add a file and its two lines
//! here. The OpenAPI document lists the endpoints in the order of [`RESOURCES`].

pub mod admin;
pub mod alerts;
mod analytics;
mod areas;
mod console;
mod consumption;
pub mod estimates;
pub mod geocoding;
pub mod geocoding_files;
mod geocoding_projects;
mod guide;
mod home_reports;
mod layers;
pub mod opendata;
pub mod pages;
mod parcels;
mod portals;
mod portfolios;
pub mod probes;
mod properties;
pub mod records;
pub mod reference;
mod rents;
pub mod samples;
mod sql;
mod tiles;

use super::endpoint::Endpoint;

/// The endpoints of every resource.
pub static RESOURCES: &[&[Endpoint]] = &[
    probes::ENDPOINTS,
    portals::ENDPOINTS,
    reference::ENDPOINTS,
    guide::ENDPOINTS,
    samples::ENDPOINTS,
    console::ENDPOINTS,
    consumption::ENDPOINTS,
    admin::adverts::ENDPOINTS,
    admin::accounts::ENDPOINTS,
    admin::keys::ENDPOINTS,
    admin::usage::ENDPOINTS,
    admin::audit::ENDPOINTS,
    admin::alerts::ENDPOINTS,
    admin::properties::ENDPOINTS,
    admin::erasures::ENDPOINTS,
    admin::operations::ENDPOINTS,
    properties::ENDPOINTS,
    analytics::ENDPOINTS,
    sql::ENDPOINTS,
    tiles::ENDPOINTS,
    records::ENDPOINTS,
    pages::ENDPOINTS,
    areas::ENDPOINTS,
    layers::ENDPOINTS,
    opendata::OF_DIAGNOSTICS,
    opendata::OF_SALES,
    parcels::ENDPOINTS,
    estimates::ENDPOINTS,
    rents::ENDPOINTS,
    home_reports::ENDPOINTS,
    portfolios::ENDPOINTS,
    geocoding::ENDPOINTS,
    geocoding_files::ENDPOINTS,
    geocoding_projects::ENDPOINTS,
    alerts::saved::OF_PROPERTIES,
    alerts::matches::OF_PROPERTIES,
    alerts::saved::OF_ADVERTS,
    alerts::matches::OF_ADVERTS,
    alerts::saved::OF_SALES,
    alerts::matches::OF_SALES,
    alerts::saved::OF_DIAGNOSTICS,
    alerts::matches::OF_DIAGNOSTICS,
];

/// Returns every endpoint.
pub fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    RESOURCES.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Access, Counting, Effect, GEOCODING_PREFIX, PROTECTED_PREFIX};
    use std::collections::{BTreeMap, BTreeSet};
    use toise_accounts::grants::ENDPOINTS;
    use warp::http::Method;

    #[test]
    fn all_protected_paths_and_no_others_require_a_key() {
        for endpoint in endpoints() {
            let protected = [PROTECTED_PREFIX, GEOCODING_PREFIX]
                .iter()
                .any(|prefix| endpoint.path.starts_with(prefix));
            assert_eq!(protected, endpoint.is_protected(), "{}", endpoint.path);
        }
    }

    #[test]
    fn no_two_endpoints_handle_the_same_request() {
        let mut seen = BTreeSet::new();
        for endpoint in endpoints() {
            let is_new = seen.insert((endpoint.path, endpoint.method.as_str()));
            assert!(is_new, "{} {}", endpoint.method, endpoint.path);
        }
    }

    #[test]
    fn calls_that_count_and_change_something_keep_their_response() {
        let remembered = endpoints().filter(|endpoint| {
            let counts = endpoint.counting != Counting::Free;
            counts && endpoint.takes_idempotency_key() && !endpoint.only_reads()
        });
        let paths: BTreeSet<&str> = remembered.map(|endpoint| endpoint.path).collect();
        let expected = [
            "/geocoding/async/projects/{id}/start",
            "/v2/protected/adverts/url",
            "/v2/protected/adverts/{flxId}/check",
            "/v2/protected/properties/url",
            "/v2/protected/properties/{flxId}/check",
        ];
        assert_eq!(paths, BTreeSet::from(expected));
    }

    #[test]
    fn effects_agree_with_methods_and_access() {
        // The contract activates an alert and collects a page with GET.
        let writing_gets = ["/activate", "/url"];
        for endpoint in endpoints().filter(|endpoint| endpoint.is_protected()) {
            let path = endpoint.path;
            let is_operators_change = endpoint.is_operators() && endpoint.method != Method::GET;
            assert_eq!(
                endpoint.effect == Effect::Administers,
                is_operators_change && path != "/v2/protected/admin/adverts",
                "{path}"
            );
            let is_changing_method =
                [Method::PUT, Method::PATCH, Method::DELETE].contains(&endpoint.method);
            // A test of a receiver changes nothing that is stored.
            let is_free_post = endpoint.method == Method::POST
                && endpoint.counting == Counting::Free
                && !path.ends_with("/test");
            let is_writing_get = writing_gets.iter().any(|end| path.ends_with(end));
            if is_changing_method || is_free_post || is_writing_get {
                assert!(!endpoint.only_reads(), "{} {path}", endpoint.method);
            } else if endpoint.method == Method::GET {
                assert!(endpoint.only_reads(), "GET {path}");
            }
        }
    }

    #[test]
    fn replicas_answer_searches_matches_estimates_and_records() {
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
            let endpoint = endpoints().find(|endpoint| endpoint.path == path).unwrap();
            assert!(!endpoint.is_for_writer(), "{path}");
        }
    }

    #[test]
    fn every_grant_allows_exactly_one_operation() {
        let mut seen = BTreeMap::new();
        for endpoint in endpoints() {
            if let Access::Scoped(scope, grant) = endpoint.access {
                // Alerts on all kinds of records share their grants.
                let mut path = endpoint.path.replace("/properties/", "/adverts/");
                if path.contains("/search/alerts") {
                    path = path.replace("/opendata/dvf/", "/adverts/");
                    path = path.replace("/opendata/dpe/", "/adverts/");
                }
                let what = (scope, endpoint.method.clone(), path);
                let of_alerts = endpoint.path.contains("/search/alerts");
                let other = seen.insert(grant, what.clone());
                assert!(
                    other.is_none_or(|other| of_alerts && other == what),
                    "{grant}"
                );
            }
        }
        for grant in ENDPOINTS {
            assert!(seen.contains_key(grant), "{grant}");
        }
    }
}
