//! Open connections of each client address, so that one client cannot take all of them, and those of it that are new.
//!
//! A client that opens hundreds of connections and sends all it can on each has work done for it before anybody can tell
//! whether its turn has come. So only a few connections of an address are read that were not answered yet; the others wait
//! until one was. A client that is answered at once does not notice.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client_address::counted_as;

/// Connections of an address that are read at once and were not answered yet.
const NEW_MAX: usize = 16;
/// Maximum wait of a connection for others of its address to be answered.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Open connections by address. Cheap to clone. Its size is bounded by their number.
#[derive(Clone, Debug, Default)]
pub struct ConnectionsByAddress(Arc<Mutex<HashMap<IpAddr, OfAddress>>>);

#[derive(Debug)]
struct OfAddress {
    open: usize,
    /// Places of those that were not answered yet.
    new: Arc<Semaphore>,
}

impl Default for OfAddress {
    fn default() -> Self {
        Self {
            open: 0,
            new: Arc::new(Semaphore::new(NEW_MAX)),
        }
    }
}

/// An open connection of an address.
#[derive(Debug)]
pub struct AddressConnection {
    all: ConnectionsByAddress,
    address: IpAddr,
    new: Arc<Semaphore>,
}

/// The place of a connection that was not answered yet.
#[derive(Debug)]
pub struct NewPlace(OwnedSemaphorePermit);

impl ConnectionsByAddress {
    /// Counts a connection of an address for as long as the value lives; `None` if it has `most` already.
    pub fn open(&self, address: IpAddr, most: usize) -> Option<AddressConnection> {
        let address = counted_as(address);
        let mut all = self.0.lock();
        let of_address = all.entry(address).or_default();
        if of_address.open >= most {
            return None;
        }
        of_address.open += 1;
        Some(AddressConnection {
            all: self.clone(),
            address,
            new: Arc::clone(&of_address.new),
        })
    }
}

impl AddressConnection {
    /// Waits for a place among the new connections of the address; `None` if there is none in time.
    pub async fn place(&self) -> Option<NewPlace> {
        if let Ok(place) = Arc::clone(&self.new).try_acquire_owned() {
            return Some(NewPlace(place));
        }
        let place = tokio::time::timeout(WAIT_MAX, Arc::clone(&self.new).acquire_owned()).await;
        place.ok()?.ok().map(NewPlace)
    }
}

impl Drop for AddressConnection {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        if let Some(of_address) = all.get_mut(&self.address) {
            of_address.open -= 1;
            if of_address.open == 0 {
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

    #[tokio::test]
    async fn a_new_connection_waits_while_many_others_were_not_answered() {
        let connections = ConnectionsByAddress::default();
        let open = |text: &str| connections.open(text.parse().unwrap(), 100).unwrap();
        let opened: Vec<_> = (0..=NEW_MAX).map(|_| open("192.0.2.1")).collect();
        let mut places = Vec::new();
        for connection in &opened[1..] {
            places.push(connection.place().await.unwrap());
        }
        assert!(open("192.0.2.2").place().await.is_some());
        let answered = async {
            tokio::task::yield_now().await;
            drop(places.pop());
        };
        let (place, ()) = tokio::join!(opened[0].place(), answered);
        assert!(place.is_some());
        assert!(open("192.0.2.1").place().await.is_none(), "in time");
    }
}
