//! IP networks, such as the networks of trusted proxies, or the networks from which a key may be used.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

/// A list of IP networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Parses addresses and networks (`10.0.0.0/8`) separated by commas.
    ///
    /// # Errors
    /// The first text that is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|one| !one.is_empty());
        let networks = parts.map(|one| {
            let network = one.parse::<IpNet>();
            let network = network.or_else(|_| one.parse::<IpAddr>().map(IpNet::from));
            network.map_err(|_| one.to_owned())
        });
        networks.collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether an address is in one of the networks.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns whether each network is inside one of `others`.
    pub fn is_subset_of(&self, others: &Self) -> bool {
        let is_inside = |one: &IpNet| others.0.iter().any(|other| other.contains(one));
        self.0.iter().all(is_inside)
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the networks as text; a single address is a network with the full prefix length.
    pub fn iter(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(ToString::to_string)
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.iter().collect();
        formatter.write_str(&texts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_parsed_printed_and_matched() {
        let networks = Networks::parse("10.0.0.0/8, 2001:db8::/32,192.0.2.7").unwrap();
        assert_eq!(
            networks.to_string(),
            "10.0.0.0/8,2001:db8::/32,192.0.2.7/32"
        );
        assert_eq!(Networks::parse(&networks.to_string()).unwrap(), networks);
        let contain = |text: &str| networks.contain(text.parse().unwrap());
        assert!(contain("10.9.9.9") && contain("::ffff:10.9.9.9") && contain("2001:db8::1"));
        assert!(!contain("192.0.2.8"));
        assert_eq!(Networks::parse("10.0.0.1, nowhere"), Err("nowhere".into()));
        assert!(Networks::parse(" ").unwrap().is_empty());
        let is_subset_of = |text: &str| Networks::parse(text).unwrap().is_subset_of(&networks);
        assert!(is_subset_of("10.0.0.0/8, 192.0.2.7") && is_subset_of("10.7.0.0/16"));
        assert!(
            !is_subset_of("10.0.0.0/7")
                && !is_subset_of("10.0.0.1, 192.0.2.8")
                && !is_subset_of("::/0")
        );
    }
}
