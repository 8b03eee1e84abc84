//! Limits the open connections and the running requests of each client address, so that one client cannot take all of
//! them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::client_address::rate_key;

/// Maximum requests of an address that run at the same time; further ones wait. So a client that fills hundreds of
/// HTTP/2 connections delays others by the time of this many requests at most.
const REQUESTS_MAX: usize = 256;

/// Open connections by address. Cheap to clone. It has at most one entry per open connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionsByAddress(Arc<Mutex<HashMap<IpAddr, AddressState>>>);

#[derive(Debug)]
struct AddressState {
    connections: usize,
    requests: Arc<Semaphore>,
}

/// An open connection of an address; it is counted until it is dropped.
#[derive(Debug)]
pub struct AddressConnection {
    all: ConnectionsByAddress,
    address: IpAddr,
    /// A permit for each request that the address may still begin; never closed.
    pub requests: Arc<Semaphore>,
}

impl ConnectionsByAddress {
    /// Counts a connection of an address for as long as the value lives; `None` if the address already has
    /// `connections_max`.
    pub fn open(&self, address: IpAddr, connections_max: usize) -> Option<AddressConnection> {
        let address = rate_key(address);
        let mut all = self.0.lock();
        let state = all.entry(address).or_insert_with(|| AddressState {
            connections: 0,
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
        });
        if state.connections >= connections_max {
            return None;
        }
        state.connections += 1;
        Some(AddressConnection {
            all: self.clone(),
            address,
            requests: Arc::clone(&state.requests),
        })
    }
}

impl Drop for AddressConnection {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        if let Some(state) = all.get_mut(&self.address) {
            state.connections -= 1;
            if state.connections == 0 {
                all.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_connections_of_an_address_share_its_requests() {
        let counts = ConnectionsByAddress::default();
        let open = |text: &str| counts.open(text.parse().unwrap(), 2).unwrap();
        let (first, second, other) = (open("192.0.2.1"), open("192.0.2.1"), open("192.0.2.2"));
        let mut running = Vec::new();
        for _ in 0..REQUESTS_MAX {
            running.push(first.requests.acquire().await.unwrap());
        }
        let waiting = tokio::spawn({
            let requests = Arc::clone(&second.requests);
            async move { requests.acquire().await.is_ok() }
        });
        assert!(other.requests.acquire().await.is_ok());
        assert!(!waiting.is_finished());
        running.pop();
        assert!(waiting.await.unwrap());
    }

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
