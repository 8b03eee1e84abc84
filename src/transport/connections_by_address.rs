//! Open connections of each client address, so that one client cannot take all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::client_address::counted_as;

/// Counts of open connections. Cheap to clone. Its size is bounded by the number of open connections.
#[derive(Clone, Debug, Default)]
pub struct ConnectionsByAddress(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// An open connection of an address.
#[derive(Debug)]
pub struct AddressConnection {
    counts: ConnectionsByAddress,
    address: IpAddr,
}

impl ConnectionsByAddress {
    /// Counts a connection of an address for as long as the value lives; `None` if it has `most` already.
    pub fn open(&self, address: IpAddr, most: usize) -> Option<AddressConnection> {
        let address = counted_as(address);
        let mut counts = self.0.lock();
        let count = counts.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        let counts = self.clone();
        Some(AddressConnection { counts, address })
    }
}

impl Drop for AddressConnection {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
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
