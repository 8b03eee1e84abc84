//! Open connections of each client address, so that one client cannot take all of them, and those that showed no key yet.
//!
//! A client that opens hundreds of connections and sends all it can on each has work done for it before anybody can tell
//! whether its turn has come. So only a few connections of an address are read at once that showed no key; each further one
//! waits until one did, or has ended, or a moment longer than the one before it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client_address::counted_as;

/// Connections of an address that are read at once and showed no key.
const UNKEYED_MAX: usize = 16;
/// How much longer each further one waits at most than the one before it.
const UNKEYED_EVERY: Duration = Duration::from_millis(10);

/// Open connections by address. Cheap to clone. Its size is bounded by their number.
#[derive(Clone, Debug, Default)]
pub struct ConnectionsByAddress(Arc<Mutex<HashMap<IpAddr, OfAddress>>>);

#[derive(Debug, Default)]
struct OfAddress {
    open: usize,
    unkeyed: Arc<Unkeyed>,
}

/// The connections of an address that showed no key.
#[derive(Debug)]
struct Unkeyed {
    places: Arc<Semaphore>,
    waiting: AtomicU32,
}

impl Default for Unkeyed {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(UNKEYED_MAX)),
            waiting: AtomicU32::new(0),
        }
    }
}

/// A connection that waits for a place.
struct Waiting<'u> {
    unkeyed: &'u Unkeyed,
    /// How many wait, itself included.
    number: u32,
}

impl<'u> Waiting<'u> {
    fn begin(unkeyed: &'u Unkeyed) -> Self {
        let number = unkeyed.waiting.fetch_add(1, Ordering::AcqRel) + 1;
        Self { unkeyed, number }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.unkeyed.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An open connection of an address.
#[derive(Debug)]
pub struct AddressConnection {
    all: ConnectionsByAddress,
    address: IpAddr,
    unkeyed: Arc<Unkeyed>,
}

/// The place of a connection among those that showed no key.
#[derive(Debug)]
pub struct UnkeyedPlace {
    _permit: OwnedSemaphorePermit,
}

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
            unkeyed: Arc::clone(&of_address.unkeyed),
        })
    }
}

impl AddressConnection {
    /// Waits for a place among the connections of the address that showed no key; `None` if there was none in time, and it is
    /// its turn without one.
    pub async fn place(&self) -> Option<UnkeyedPlace> {
        let places = || Arc::clone(&self.unkeyed.places);
        if let Ok(place) = places().try_acquire_owned() {
            return Some(UnkeyedPlace { _permit: place });
        }
        let waiting = Waiting::begin(&self.unkeyed);
        let turn = UNKEYED_EVERY * waiting.number;
        let place = tokio::time::timeout(turn, places().acquire_owned()).await;
        let place = place.ok()?.ok()?;
        Some(UnkeyedPlace { _permit: place })
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
    async fn a_connection_waits_while_many_others_showed_no_key() {
        let connections = ConnectionsByAddress::default();
        let open = |text: &str| connections.open(text.parse().unwrap(), 100).unwrap();
        let opened: Vec<_> = (0..=UNKEYED_MAX).map(|_| open("192.0.2.1")).collect();
        let mut places = Vec::new();
        for connection in &opened[1..] {
            places.push(connection.place().await.unwrap());
        }
        assert!(open("192.0.2.2").place().await.is_some());
        let shows_key = async {
            tokio::task::yield_now().await;
            drop(places.pop());
        };
        let (place, ()) = tokio::join!(opened[0].place(), shows_key);
        assert!(place.is_some());
        // Its turn comes without a place.
        assert!(open("192.0.2.1").place().await.is_none());
        assert_eq!(opened[0].unkeyed.waiting.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn those_that_wait_come_one_after_the_other() {
        let connections = ConnectionsByAddress::default();
        let open = || connections.open("192.0.2.1".parse().unwrap(), 100).unwrap();
        let opened: Vec<_> = (0..UNKEYED_MAX + 3).map(|_| open()).collect();
        let begun = tokio::time::Instant::now();
        let waits = opened.iter().map(async |connection| {
            let place = connection.place().await;
            (place, begun.elapsed())
        });
        let waits = futures::future::join_all(waits).await;
        let (at_once, later) = waits.split_at(UNKEYED_MAX);
        assert!(at_once.iter().all(|(place, _)| place.is_some()));
        for (number, (place, wait)) in later.iter().enumerate() {
            assert!(place.is_none() && *wait >= UNKEYED_EVERY * (number as u32 + 1));
        }
    }
}
