//! Decides which addresses are public, that is, where requests to customers' receivers may go.
//!
//! IPv4 is public except for the listed ranges. In IPv6, only global unicast is public, except for the ranges that
//! embed IPv4 or are for documentation. The ranges follow the IANA registries of special-purpose addresses, plus the
//! metadata addresses of clouds. An IPv6 address that embeds an IPv4 one is always refused, since no public host needs
//! one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range: first address, prefix length, description.
type V4Range = (Ipv4Addr, u32, &'static str);
type V6Range = (Ipv6Addr, u32, &'static str);

const PRIVATE: &str = "a private address";
const LOOPBACK: &str = "an address of the machine itself";
const LINK_LOCAL: &str = "a link-local address";
const RESERVED: &str = "a reserved address";
const DOCUMENTATION: &str = "an address for documentation";
const METADATA: &str = "a cloud's metadata address";
const EMBEDDED: &str = "an IPv6 form of an IPv4 address";
const MULTICAST: &str = "a multicast address";

const V4_RANGES: [V4Range; 18] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, LOOPBACK),
    (Ipv4Addr::new(10, 0, 0, 0), 8, PRIVATE),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "a carrier's shared address",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, LOOPBACK),
    // Azure serves its virtual machines at this address, although it looks public.
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA),
    (Ipv4Addr::new(169, 254, 0, 0), 16, LINK_LOCAL),
    (Ipv4Addr::new(172, 16, 0, 0), 12, PRIVATE),
    (Ipv4Addr::new(192, 0, 0, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 0, 2, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(192, 31, 196, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 52, 193, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 88, 99, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 168, 0, 0), 16, PRIVATE),
    (Ipv4Addr::new(192, 175, 48, 0), 24, RESERVED),
    (
        Ipv4Addr::new(198, 18, 0, 0),
        15,
        "an address for benchmarks",
    ),
    (Ipv4Addr::new(198, 51, 100, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(203, 0, 113, 0), 24, DOCUMENTATION),
    // Multicast, and everything reserved above it, broadcast included.
    (Ipv4Addr::new(224, 0, 0, 0), 3, MULTICAST),
];

/// Ranges with their own description.
const V6_RANGES: [V6Range; 14] = [
    (Ipv6Addr::UNSPECIFIED, 128, LOOPBACK),
    (Ipv6Addr::LOCALHOST, 128, LOOPBACK),
    (Ipv6Addr::UNSPECIFIED, 96, EMBEDDED),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, EMBEDDED),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, EMBEDDED),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, EMBEDDED),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, PRIVATE),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, LINK_LOCAL),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, PRIVATE),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, MULTICAST),
    // Within global unicast: protocol assignments (including Teredo, benchmarks, ORCHID), 6to4, documentation.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, RESERVED),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        DOCUMENTATION,
    ),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, EMBEDDED),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        DOCUMENTATION,
    ),
];
/// Global unicast: first address and prefix length.
const V6_GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns why an address is not public; `None` if it is public.
pub fn non_public_reason(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => V4_RANGES
            .iter()
            .find(|(first, prefix, _)| v4_range_contains(*first, *prefix, address))
            .map(|(_, _, what)| *what),
        IpAddr::V6(address) => {
            let named = V6_RANGES
                .iter()
                .find(|(first, prefix, _)| v6_range_contains(*first, *prefix, address))
                .map(|(_, _, what)| *what);
            let (first, prefix) = V6_GLOBAL;
            named.or_else(|| (!v6_range_contains(first, prefix, address)).then_some(RESERVED))
        }
    }
}

fn v4_range_contains(first: Ipv4Addr, prefix: u32, address: Ipv4Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
}

fn v6_range_contains(first: Ipv6Addr, prefix: u32, address: Ipv6Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= prefix
}
