//! The audience of a listener: everyone, customers, or operators.
//!
//! Without `admin.listen` one listener serves everyone, and metrics only to clients on the same machine. With it, only
//! the listener of operators serves metrics and administration, so that no key reaches them from outside, and it serves
//! nothing that customers pay for.

use std::net::IpAddr;

use warp::http::HeaderMap;
use warp::http::header::FORWARDED;

use crate::endpoint::{Access, Endpoint};
use toise_accounts::scopes::Scope;

/// Path of the metrics.
pub(super) const METRICS: &str = "/metrics";
/// Paths of probes, which every listener serves.
pub(super) const PROBES: [&str; 3] = ["/healthz", "/livez", "/version"];
/// Header that a proxy adds to the requests that it forwards.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The audience of a listener. An extension of requests, which no client can set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// The only listener.
    #[default]
    Everyone,
    /// The listener of customers, if operators have a separate one.
    Customers,
    /// The listener of operators.
    Operators,
}

impl Audience {
    /// Returns whether the listener serves an endpoint to a request; `peer` is `None` for a request of this process.
    pub fn reaches(self, endpoint: &Endpoint, peer: Option<IpAddr>, headers: &HeaderMap) -> bool {
        let is_for_operators =
            endpoint.path == METRICS || matches!(endpoint.access, Access::Scoped(Scope::Admin, _));
        match self {
            Audience::Operators => is_for_operators || PROBES.contains(&endpoint.path),
            Audience::Customers => !is_for_operators,
            Audience::Everyone => endpoint.path != METRICS || is_local(peer, headers),
        }
    }
}

/// Returns whether a request was made on this machine. A request that a proxy forwarded was not, even if the proxy runs
/// on this machine.
fn is_local(peer: Option<IpAddr>, headers: &HeaderMap) -> bool {
    let is_passed_on = headers.contains_key(FORWARDED_FOR) || headers.contains_key(FORWARDED);
    peer.is_none_or(|peer| peer.to_canonical().is_loopback() && !is_passed_on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources;

    fn reached(audience: Audience, peer: &str, headers: &HeaderMap) -> Vec<&'static str> {
        let peer = peer.parse().ok();
        let reached = resources::endpoints().filter(|one| audience.reaches(one, peer, headers));
        let mut paths: Vec<_> = reached.map(|endpoint| endpoint.path).collect();
        paths.dedup();
        paths
    }

    #[test]
    fn metrics_and_administration_are_on_the_listener_of_operators_alone() {
        let none = HeaderMap::new();
        let operators = reached(Audience::Operators, "192.0.2.1", &none);
        let customers = reached(Audience::Customers, "127.0.0.1", &none);
        for path in ["/metrics", "/v2/protected/admin/keys"] {
            assert!(operators.contains(&path) && !customers.contains(&path));
        }
        let properties = "/v2/protected/properties/search";
        assert!(customers.contains(&properties) && !operators.contains(&properties));
        // The consumption of an account is for the customer.
        assert!(customers.contains(&"/v2/protected/admin/consumption"));
        for probe in PROBES {
            assert!(operators.contains(&probe) && customers.contains(&probe));
        }
    }

    #[test]
    fn without_it_metrics_are_for_this_machine() {
        let none = HeaderMap::new();
        let sees = |peer, headers| reached(Audience::Everyone, peer, headers).contains(&METRICS);
        assert!(sees("127.0.0.1", &none) && sees("::1", &none));
        assert!(!sees("192.0.2.1", &none));
        let mut passed_on = HeaderMap::new();
        passed_on.insert(FORWARDED_FOR, "192.0.2.1".parse().unwrap());
        assert!(!sees("127.0.0.1", &passed_on));
    }
}
