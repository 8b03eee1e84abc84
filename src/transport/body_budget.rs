//! The memory budget of request and response bodies. A key and a client address may each hold a share of it.
//!
//! A request body is charged to the budget as it arrives, before its memory is allocated. So the half-sent bodies of
//! many clients hold a bounded amount of memory, regardless of the length they declare. The lease of a request body
//! ends with the call. The lease of a long response ends with its last byte, so unread responses also hold a bounded
//! amount.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use uuid::Uuid;
use warp::http::Response;

use super::client_address::rate_key;
use super::coding;

/// Responses of at least this many bytes are counted.
const LONG_RESPONSE_BYTES: usize = 32 << 10;
/// The budget divided by this is the maximum that a key or a client address may hold.
const SHARE: usize = 4;

/// The reason why the budget has no memory for a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// The key or the address already holds its share.
    #[error("too many bytes of requests and responses in progress for this client")]
    ShareUsed,
    /// All bodies together already hold the whole budget.
    #[error("the memory of request and response bodies is used up")]
    Full,
}

/// The budget of a service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BodyBudget {
    bytes_max: usize,
    state: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    total: usize,
    by_holder: HashMap<Holder, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Key(Uuid),
    Address(IpAddr),
}

/// The memory that one body holds; returned to the budget on drop.
#[derive(Debug)]
pub struct BodyLease {
    budget: BodyBudget,
    holders: [Option<Holder>; 2],
    bytes: usize,
}

impl BodyBudget {
    /// Creates a budget of this many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            state: Arc::default(),
        }
    }

    /// Returns an empty lease for a body that a key sends from an address.
    pub fn lease(&self, key: Option<Uuid>, address: Option<IpAddr>) -> BodyLease {
        let address = address.map(|address| Holder::Address(rate_key(address)));
        BodyLease {
            budget: self.clone(),
            holders: [key.map(Holder::Key), address],
            bytes: 0,
        }
    }

    /// Returns the number of bytes held now.
    pub fn held(&self) -> usize {
        self.state.lock().total
    }
}

impl BodyLease {
    /// Takes more bytes.
    ///
    /// # Errors
    /// All bodies together would hold more than the budget, or the key or the address more than its share.
    pub fn grow(&mut self, bytes: usize) -> Result<(), BudgetError> {
        let mut state = self.budget.state.lock();
        // If its holder has no other body, a single body may be as long as its endpoint allows.
        let share = self.budget.bytes_max / SHARE;
        for holder in self.holders.iter().flatten() {
            let held = state.by_holder.get(holder).copied().unwrap_or(0);
            if held > self.bytes && held + bytes > share {
                return Err(BudgetError::ShareUsed);
            }
        }
        if state.total > self.bytes && state.total + bytes > self.budget.bytes_max {
            return Err(BudgetError::Full);
        }
        state.total += bytes;
        for holder in self.holders.iter().flatten() {
            *state.by_holder.entry(*holder).or_default() += bytes;
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl BodyLease {
    /// Extends the lease to hold a response until it is sent; `None` if the response is short or permanently in memory.
    ///
    /// # Errors
    /// As for [`Self::grow`]: a client that does not read its responses does not get more of them.
    pub fn for_response(mut self, response: &Response<Bytes>) -> Result<Option<Self>, BudgetError> {
        let bytes = response.body().len();
        if bytes < LONG_RESPONSE_BYTES || coding::is_unchanging(response) {
            return Ok(None);
        }
        self.grow(bytes)?;
        Ok(Some(self))
    }

    /// Wraps a body so that it keeps the lease for as long as it exists.
    pub fn holding(self, body: Bytes) -> Bytes {
        Bytes::from_owner(LeasedBody { body, _lease: self })
    }
}

/// A body with the lease of its memory.
struct LeasedBody {
    body: Bytes,
    _lease: BodyLease,
}

impl AsRef<[u8]> for LeasedBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for BodyLease {
    fn drop(&mut self) {
        let mut state = self.budget.state.lock();
        state.total -= self.bytes;
        for holder in self.holders.iter().flatten() {
            if let Some(held) = state.by_holder.get_mut(holder) {
                *held -= self.bytes;
                if *held == 0 {
                    state.by_holder.remove(holder);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_an_address_have_a_share_and_all_together_the_budget() {
        let budget = BodyBudget::new(400);
        let key = Some(Uuid::now_v7());
        let mut first = budget.lease(key, None);
        let mut second = budget.lease(key, None);
        first.grow(60).unwrap();
        assert_eq!(second.grow(41), Err(BudgetError::ShareUsed));
        second.grow(40).unwrap();
        let address = "2001:db8::1".parse().ok();
        let neighbour = "2001:db8::2".parse().ok();
        let mut third = budget.lease(None, address);
        third.grow(100).unwrap();
        assert_eq!(
            budget.lease(None, neighbour).grow(1),
            Err(BudgetError::ShareUsed)
        );
        let mut leases = vec![first, second, third];
        for _ in 0..2 {
            let mut lease = budget.lease(Some(Uuid::now_v7()), None);
            lease.grow(100).unwrap();
            leases.push(lease);
        }
        let mut late = budget.lease(Some(Uuid::now_v7()), None);
        assert_eq!(late.grow(1), Err(BudgetError::Full));
        leases.clear();
        late.grow(1).unwrap();
        drop(late);
        assert_eq!(budget.held(), 0);
        assert!(budget.state.lock().by_holder.is_empty());
    }

    #[test]
    fn an_answer_holds_its_memory_until_its_last_byte_is_gone() {
        let budget = BodyBudget::new(400);
        let key = Some(Uuid::now_v7());
        let mut lease = budget.lease(key, None);
        lease.grow(100).unwrap();
        let mut body = lease.holding(Bytes::from(vec![1; 100]));
        let rest = body.split_off(60);
        drop(body);
        assert_eq!(budget.held(), 100);
        assert_eq!(budget.lease(key, None).grow(1), Err(BudgetError::ShareUsed));
        drop(rest);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn files_and_short_answers_take_no_memory_of_a_client_that_has_its_share() {
        let budget = BodyBudget::new(SHARE * LONG_RESPONSE_BYTES);
        let key = Some(Uuid::now_v7());
        let response = |bytes| Response::new(Bytes::from(vec![0; bytes]));
        let lease_for = |response: &Response<Bytes>| budget.lease(key, None).for_response(response);
        let held = lease_for(&response(LONG_RESPONSE_BYTES)).unwrap();
        assert_eq!(budget.held(), LONG_RESPONSE_BYTES);
        assert!(lease_for(&response(LONG_RESPONSE_BYTES)).is_err());
        assert!(
            lease_for(&response(LONG_RESPONSE_BYTES - 1))
                .unwrap()
                .is_none()
        );
        let mut file = response(LONG_RESPONSE_BYTES);
        file.extensions_mut().insert(coding::ConstantBody);
        assert!(lease_for(&file).unwrap().is_none());
        drop(held);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn a_single_body_may_be_longer_than_a_share() {
        let budget = BodyBudget::new(400);
        let mut lease = budget.lease(Some(Uuid::now_v7()), None);
        lease.grow(90).unwrap();
        lease.grow(200).unwrap();
    }
}
