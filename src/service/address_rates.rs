//! The rate of calls without a valid key, by client address: `server.unkeyed_rate_per_s`.
//!
//! Each address has a leaky bucket (GCRA) that holds the calls of one second. An IPv6 client counts as its /64 network.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use toise_accounts::meter::{LimitExceeded, RateClock, RateState};
use toise_base::clock::Clock;
use toise_transport::client_address::rate_key;

/// Number of checks after which addresses with their full rate left are removed, so that the table holds the addresses
/// of about this many calls.
const CHECKS_PER_CLEANUP: u32 = 65_536;

type Limiter =
    RateLimiter<IpAddr, DashMapStateStore<IpAddr>, RateClock, StateInformationMiddleware>;

/// The rates of all addresses. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AddressRates {
    per_s: u32,
    limiter: Arc<Limiter>,
    checks: Arc<AtomicU32>,
}

impl AddressRates {
    /// Allows each address this many calls a second.
    pub fn new(per_s: u32, clock: Clock) -> Self {
        let per_s = NonZeroU32::new(per_s).unwrap_or(NonZeroU32::MIN);
        let limiter =
            RateLimiter::dashmap_with_clock(Quota::per_second(per_s), RateClock::new(clock))
                .with_middleware::<StateInformationMiddleware>();
        Self {
            per_s: per_s.get(),
            limiter: Arc::new(limiter),
            checks: Arc::default(),
        }
    }

    /// Counts a call of an address.
    ///
    /// # Errors
    /// The rate is exceeded. This call is not counted.
    pub fn count(&self, address: IpAddr) -> Result<RateState, (RateState, LimitExceeded)> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_PER_CLEANUP
            == CHECKS_PER_CLEANUP - 1
        {
            self.limiter.retain_recent();
        }
        match self.limiter.check_key(&rate_key(address)) {
            Ok(snapshot) => Ok(RateState::allowed(
                self.per_s,
                snapshot.remaining_burst_capacity(),
            )),
            Err(refusal) => {
                let exceeded = self.limiter.clock().time_until(&refusal);
                Err((RateState::exceeded(self.per_s, exceeded), exceeded))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }

    #[test]
    fn an_address_has_its_calls_of_a_second_and_others_have_theirs() {
        let clock = Clock::steered(chrono::DateTime::UNIX_EPOCH);
        let rates = AddressRates::new(10, clock.clone());
        for remaining in (0..10).rev() {
            assert_eq!(rates.count(address(1)).unwrap().remaining, remaining);
        }
        let (rate, exceeded) = rates.count(address(1)).unwrap_err();
        assert_eq!((rate.limit, rate.remaining), (10, 0));
        assert_eq!(exceeded.retry_after_s, 1);
        assert!(rates.count(address(2)).is_ok());
        clock.advance_ms(100);
        assert!(rates.count(address(1)).is_ok());
        assert!(rates.count(address(1)).is_err());
    }

    #[test]
    fn addresses_that_stopped_calling_are_forgotten() {
        let clock = Clock::steered(chrono::DateTime::UNIX_EPOCH);
        let rates = AddressRates::new(10, clock.clone());
        for number in 0..2 * CHECKS_PER_CLEANUP {
            clock.advance_ms(1);
            rates.count(address(number)).unwrap();
        }
        let known = rates.limiter.len();
        assert!(known <= 1_000, "{known}");
    }
}
