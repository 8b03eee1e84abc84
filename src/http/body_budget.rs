//! The memory that request bodies may take while they are received and answered: one budget, of which a key and a client
//! address each have a share. Long answers have another one, until they are sent.
//!
//! A body takes its memory from the budget as it arrives, before the memory itself, so that half-sent bodies of many
//! clients hold a bounded amount whatever they announce. The lease ends with the call. That of an answer ends with its
//! last byte, so that answers which nobody reads hold a bounded amount too.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use uuid::Uuid;
use warp::http::Response;

use super::client_address::counted_as;
use super::coding;
use super::error::ApiError;

/// Answers from this length on are counted, bytes.
const LONG_ANSWER_BYTES: usize = 32 << 10;
/// A key and a client address may each hold this part of the budget.
const SHARE: usize = 4;

/// The budget of a service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BodyBudget {
    bytes_max: usize,
    /// What a client is told that has its share.
    share_exceeded: &'static str,
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

/// Memory of one body; given back when this is dropped.
#[derive(Debug)]
pub struct BodyLease {
    budget: BodyBudget,
    holders: [Option<Holder>; 2],
    bytes: usize,
}

impl BodyBudget {
    /// A budget of some bytes for request bodies.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            share_exceeded: "too many bytes of request bodies at once for this client",
            state: Arc::default(),
        }
    }

    /// A budget of some bytes for answers.
    pub fn of_answers(bytes_max: usize) -> Self {
        Self {
            share_exceeded: "too many bytes of answers at once that this client has not read",
            ..Self::new(bytes_max)
        }
    }

    /// A lease of nothing yet, for a body that a key sends from an address.
    pub fn lease(&self, key: Option<Uuid>, address: Option<IpAddr>) -> BodyLease {
        let address = address.map(|address| Holder::Address(counted_as(address)));
        BodyLease {
            budget: self.clone(),
            holders: [key.map(Holder::Key), address],
            bytes: 0,
        }
    }

    /// Bytes held now.
    pub fn held(&self) -> usize {
        self.state.lock().total
    }
}

impl BodyLease {
    /// Takes more bytes.
    ///
    /// # Errors
    /// 503 if all bodies together would hold more than the budget, 429 if the key or the address would hold more than
    /// its share.
    pub fn grow(&mut self, bytes: usize) -> Result<(), ApiError> {
        let mut state = self.budget.state.lock();
        // One body may always be as long as its endpoint allows, while its holder has no other.
        let share = self.budget.bytes_max / SHARE;
        for holder in self.holders.iter().flatten() {
            let held = state.by_holder.get(holder).copied().unwrap_or(0);
            if held > self.bytes && held + bytes > share {
                return Err(ApiError::StillWaiting(
                    self.budget.share_exceeded.to_owned(),
                ));
            }
        }
        if state.total > self.bytes && state.total + bytes > self.budget.bytes_max {
            return Err(ApiError::Overloaded);
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
    /// The lease of an answer until it is sent; `None` if it is short, or in memory for good.
    ///
    /// # Errors
    /// As [`Self::grow`]: a client that does not read what it asked for gets no more.
    pub(super) fn for_answer(
        mut self,
        response: &Response<Bytes>,
    ) -> Result<Option<Self>, ApiError> {
        let bytes = response.body().len();
        if bytes < LONG_ANSWER_BYTES || coding::is_unchanging(response) {
            return Ok(None);
        }
        self.grow(bytes)?;
        Ok(Some(self))
    }

    /// A body that keeps the lease for as long as it exists.
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

    fn status(outcome: Result<(), ApiError>) -> u16 {
        outcome.map_or_else(|error| error.status_and_code().0.as_u16(), |()| 200)
    }

    #[test]
    fn a_key_and_an_address_have_a_share_and_all_together_the_budget() {
        let budget = BodyBudget::new(400);
        let key = Some(Uuid::now_v7());
        let mut first = budget.lease(key, None);
        let mut second = budget.lease(key, None);
        assert_eq!(status(first.grow(60)), 200);
        assert_eq!(status(second.grow(41)), 429);
        assert_eq!(status(second.grow(40)), 200);
        let address = "2001:db8::1".parse().ok();
        let neighbour = "2001:db8::2".parse().ok();
        let mut third = budget.lease(None, address);
        assert_eq!(status(third.grow(100)), 200);
        assert_eq!(status(budget.lease(None, neighbour).grow(1)), 429);
        let mut leases = vec![first, second, third];
        for _ in 0..2 {
            let mut lease = budget.lease(Some(Uuid::now_v7()), None);
            assert_eq!(status(lease.grow(100)), 200);
            leases.push(lease);
        }
        let mut late = budget.lease(Some(Uuid::now_v7()), None);
        assert_eq!(status(late.grow(1)), 503);
        leases.clear();
        assert_eq!(status(late.grow(1)), 200);
        drop(late);
        assert_eq!(budget.held(), 0);
        assert!(budget.state.lock().by_holder.is_empty());
    }

    #[test]
    fn an_answer_holds_its_memory_until_its_last_byte_is_gone() {
        let budget = BodyBudget::of_answers(400);
        let key = Some(Uuid::now_v7());
        let mut lease = budget.lease(key, None);
        lease.grow(100).unwrap();
        let mut body = lease.holding(Bytes::from(vec![1; 100]));
        let rest = body.split_off(60);
        drop(body);
        assert_eq!(budget.held(), 100);
        assert_eq!(status(budget.lease(key, None).grow(1)), 429);
        drop(rest);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn files_and_short_answers_take_no_memory_of_a_client_that_has_its_share() {
        let budget = BodyBudget::of_answers(SHARE * LONG_ANSWER_BYTES);
        let key = Some(Uuid::now_v7());
        let answer = |bytes| Response::new(Bytes::from(vec![0; bytes]));
        let lease_for = |response: &Response<Bytes>| budget.lease(key, None).for_answer(response);
        let held = lease_for(&answer(LONG_ANSWER_BYTES)).unwrap();
        assert_eq!(budget.held(), LONG_ANSWER_BYTES);
        assert!(lease_for(&answer(LONG_ANSWER_BYTES)).is_err());
        assert!(lease_for(&answer(LONG_ANSWER_BYTES - 1)).unwrap().is_none());
        let mut file = answer(LONG_ANSWER_BYTES);
        file.extensions_mut().insert(coding::Unchanging);
        assert!(lease_for(&file).unwrap().is_none());
        drop(held);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn a_single_body_may_be_longer_than_a_share() {
        let budget = BodyBudget::new(400);
        let mut lease = budget.lease(Some(Uuid::now_v7()), None);
        assert_eq!(status(lease.grow(90)), 200);
        assert_eq!(status(lease.grow(200)), 200);
    }
}
