//! Distributes slots for deliveries in flight fairly, so that no account takes all of them.
//!
//! There is one pool of slots for all deliveries, one for deliveries to unhealthy endpoints (those whose last attempt
//! failed, and unknown ones), and one for retries. A delivery takes a slot in each pool that applies. An account may
//! hold at most as many slots as its pool has free, or twice as many in the pool for all deliveries. A single account
//! therefore gets half or two thirds of a pool, and several accounts get less each. A pool is used up only once
//! six accounts hold all that they can. So neither hanging receivers nor slow ones that respond with 200 can take all
//! slots, and retries leave slots for new deliveries.

use std::collections::HashMap;

use uuid::Uuid;

/// Maximum deliveries in flight.
const IN_FLIGHT_MAX: usize = 384;
/// Maximum deliveries in flight to unhealthy endpoints.
pub(super) const UNHEALTHY_MAX: usize = 192;
/// Maximum retries in flight.
const RETRIES_MAX: usize = 96;

/// Which slots a delivery takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotClaim {
    pub account: Uuid,
    /// Whether its endpoint is unhealthy.
    pub is_unhealthy: bool,
    /// Whether it is a retry.
    pub is_retry: bool,
}

/// The slots of all deliveries.
#[derive(Debug)]
pub(super) struct DeliverySlots {
    all: SlotPool,
    unhealthy: SlotPool,
    retries: SlotPool,
}

impl Default for DeliverySlots {
    fn default() -> Self {
        Self {
            all: SlotPool::new(IN_FLIGHT_MAX, 2),
            unhealthy: SlotPool::new(UNHEALTHY_MAX, 1),
            retries: SlotPool::new(RETRIES_MAX, 1),
        }
    }
}

impl DeliverySlots {
    /// Returns whether there is a slot for a delivery.
    pub fn has_room(&self, claim: SlotClaim) -> bool {
        self.all.has_room(claim.account)
            && (!claim.is_unhealthy || self.unhealthy.has_room(claim.account))
            && (!claim.is_retry || self.retries.has_room(claim.account))
    }

    /// Takes the slots of a delivery that starts.
    pub fn acquire(&mut self, claim: SlotClaim) {
        self.pools_for(claim)
            .for_each(|pool| pool.acquire(claim.account));
    }

    /// Releases the slots of a delivery that ended.
    pub fn release(&mut self, claim: SlotClaim) {
        self.pools_for(claim)
            .for_each(|pool| pool.release(claim.account));
    }

    fn pools_for(&mut self, claim: SlotClaim) -> impl Iterator<Item = &mut SlotPool> {
        [
            (true, &mut self.all),
            (claim.is_unhealthy, &mut self.unhealthy),
            (claim.is_retry, &mut self.retries),
        ]
        .into_iter()
        .filter_map(|(concerns, pool)| concerns.then_some(pool))
    }
}

/// A pool of slots, with the number that each account holds.
#[derive(Debug)]
struct SlotPool {
    max: usize,
    /// Multiple of the free slots that an account may hold.
    free_multiple: usize,
    taken: usize,
    held: HashMap<Uuid, usize>,
}

impl SlotPool {
    fn new(max: usize, free_multiple: usize) -> Self {
        Self {
            max,
            free_multiple,
            taken: 0,
            held: HashMap::new(),
        }
    }

    fn has_room(&self, account: Uuid) -> bool {
        let own = self.held.get(&account).copied().unwrap_or_default();
        own < self.free_multiple * self.max.saturating_sub(self.taken)
    }

    fn acquire(&mut self, account: Uuid) {
        self.taken += 1;
        *self.held.entry(account).or_default() += 1;
    }

    fn release(&mut self, account: Uuid) {
        self.taken = self.taken.saturating_sub(1);
        if let Some(own) = self.held.get_mut(&account) {
            *own -= 1;
            if *own == 0 {
                self.held.remove(&account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(account: u128, is_unhealthy: bool, is_retry: bool) -> SlotClaim {
        SlotClaim {
            account: Uuid::from_u128(account),
            is_unhealthy,
            is_retry,
        }
    }

    /// Takes all slots that an account can get.
    fn take_all(slots: &mut DeliverySlots, claim: SlotClaim) -> usize {
        let mut taken = 0;
        while slots.has_room(claim) {
            slots.acquire(claim);
            taken += 1;
        }
        taken
    }

    #[test]
    fn six_greedy_accounts_each_get_a_slot() {
        for (is_unhealthy, is_retry, alone) in [
            (false, false, 256),
            (true, false, 96),
            (false, true, 48),
            (true, true, 48),
        ] {
            let mut slots = DeliverySlots::default();
            let first = take_all(&mut slots, claim(0, is_unhealthy, is_retry));
            assert_eq!(first, alone);
            for account in 1..6 {
                assert!(take_all(&mut slots, claim(account, is_unhealthy, is_retry)) > 0);
            }
            for _ in 0..alone {
                slots.release(claim(0, is_unhealthy, is_retry));
            }
            assert!(slots.has_room(claim(0, is_unhealthy, is_retry)));
        }
    }

    #[test]
    fn retries_leave_slots_for_new_deliveries_and_unhealthy_endpoints_for_healthy_ones() {
        let mut slots = DeliverySlots::default();
        for account in 0..8 {
            take_all(&mut slots, claim(account, true, true));
        }
        assert!(slots.has_room(claim(0, true, false)));
        for account in 0..8 {
            take_all(&mut slots, claim(account, true, false));
        }
        assert!(slots.has_room(claim(0, false, false)));
    }
}
