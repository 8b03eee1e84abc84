//! Counts the open connections of each client address, so that one client cannot take all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::client_address::rate_key;

/// Open connections by address. Cheap to clone. It has at most one entry per open connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionsByAddress(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// An open connection of an address; it is counted until it is dropped.
#[derive(Debug)]
pub struct AddressConnection {
    all: ConnectionsByAddress,
    address: IpAddr,
}

impl ConnectionsByAddress {
    /// Counts a connection of an address for as long as the value lives; `None` if the address already has
    /// `connections_max`.
    pub fn open(&self, address: IpAddr, connections_max: usize) -> Option<AddressConnection> {
        let address = rate_key(address);
        let mut all = self.0.lock();
        let open = all.get(&address).copied().unwrap_or(0);
        if open >= connections_max {
            return None;
        }
        all.insert(address, open + 1);
        Some(AddressConnection {
            all: self.clone(),
            address,
        })
    }
}

impl Drop for AddressConnection {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        if let Some(open) = all.get_mut(&self.address) {
            *open -= 1;
            if *open == 0 {
                all.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_gets_it_back() {
        let counts = ConnectionsByAddress::default();
        let open = |text: &str| counts.open(text.parse().unwrap(), 2);
        let first = open("192.0.2.1").unwrap();
        let second = open("192.0.2.1").unwrap();
        assert!(open("192.0.2.1").is_none());
        let other = open("192.0.2.2").unwrap();
        drop(first);
        let third = open("192.0.2.1").unwrap();
        drop((second, third, other));
        assert!(counts.0.lock().is_empty());
    }
}
