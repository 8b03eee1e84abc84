//! The address of a client: the peer of its connection, or the address that a trusted proxy reports.
//!
//! The server adds [`PeerAddress`] to every request. Behind a proxy all connections come from one address, so
//! `X-Forwarded-For` names the client. It is trusted only if the peer is a proxy that the operator names
//! (`server.trusted_proxies`). The client is the last address of the header that is not a trusted proxy itself.

use std::net::{IpAddr, Ipv6Addr};

use warp::http::HeaderMap;

pub use toise_base::networks::Networks;

/// Header to which each proxy appends the address of its own client.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// Maximum addresses of the header that are read, counted from its end.
const FORWARDED_MAX: usize = 16;
/// Bits of an IPv6 address that a client does not choose itself.
const V6_PREFIX_BITS: u32 = 64;

/// The address of the peer of a connection. An extension of requests, which no client can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// Returns the address of the client of a request that came over a connection from `peer`.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, proxies: &Networks) -> IpAddr {
    let peer = peer.to_canonical();
    if !proxies.contain(peer) {
        return peer;
    }
    let lists = headers.get_all(FORWARDED_FOR).iter().rev();
    let named = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.rsplit(','))
        .take(FORWARDED_MAX);
    let mut nearest = peer;
    for one in named {
        // An address cannot be trusted if an unreadable entry follows it.
        let Ok(address) = one.trim().parse::<IpAddr>() else {
            break;
        };
        nearest = address.to_canonical();
        if !proxies.contain(nearest) {
            break;
        }
    }
    nearest
}

/// Returns the address under which a client is counted: its IPv4 address, or the network of its IPv6 address, because a
/// client may use any address of its network.
pub fn rate_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let network = address.to_bits() >> (128 - V6_PREFIX_BITS) << (128 - V6_PREFIX_BITS);
            Ipv6Addr::from_bits(network).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str], proxies: &str) -> String {
        let mut headers = HeaderMap::new();
        for list in forwarded {
            headers.append(FORWARDED_FOR, list.parse().unwrap());
        }
        let proxies = Networks::parse(proxies).unwrap();
        client_address(peer.parse().unwrap(), &headers, &proxies).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_about_its_client() {
        let given = ["203.0.113.9, 198.51.100.7"];
        assert_eq!(client("10.0.0.1", &given, ""), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &given, "10.0.0.0/8"), "198.51.100.7");
        // The entries that the client wrote itself come before those that the proxies add.
        let chain = ["203.0.113.9", "198.51.100.7, 10.0.0.2"];
        assert_eq!(client("10.0.0.1", &chain, "10.0.0.0/8"), "198.51.100.7");
        assert_eq!(
            client("10.0.0.1", &["198.51.100.7, x"], "10.0.0.1"),
            "10.0.0.1"
        );
        assert_eq!(client("::ffff:10.0.0.1", &[], "10.0.0.1"), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["10.0.0.3"], "10.0.0.0/8"), "10.0.0.3");
    }

    #[test]
    fn an_ipv6_client_counts_as_its_network() {
        let counted = |text: &str| rate_key(text.parse().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3::4"), "2001:db8:1:2::");
        assert_eq!(counted("192.0.2.7"), "192.0.2.7");
        assert_eq!(counted("::ffff:192.0.2.7"), "192.0.2.7");
    }
}
