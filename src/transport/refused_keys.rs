//! How many texts that are no keys a client address may send: past it, 429 in place of 401.
//!
//! Each address has a bucket that holds [`BURST`] refusals and empties at one every [`EVERY`]. A valid key is never counted
//! nor held back, so whoever shares an address with a guesser goes on working.

use std::net::IpAddr;
use std::time::Duration;

use super::address_buckets::{AddressBuckets, BucketSize};

/// Refusals of an address at once.
pub const BURST: u32 = 100;
/// Time after which an address may have one more.
pub const EVERY: Duration = Duration::from_millis(500);

/// Refused keys by address. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RefusedKeys(AddressBuckets);

impl Default for RefusedKeys {
    fn default() -> Self {
        Self(AddressBuckets::new(BucketSize {
            holds: BURST,
            every: EVERY,
        }))
    }
}

impl RefusedKeys {
    /// Counts a refusal at `now`, a monotonic time.
    ///
    /// # Errors
    /// The address had too many; it may have one more after the time that is given. This one is not counted.
    pub fn count(&self, client: IpAddr, now: Duration) -> Result<(), Duration> {
        self.0.add(client, 1, now, Duration::ZERO).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_wrong_often_and_then_seldom() {
        let address = |text: &str| text.parse().unwrap();
        let (one, two) = (address("192.0.2.1"), address("192.0.2.2"));
        let refused = RefusedKeys::default();
        let now = Duration::from_secs(1_000);
        for _ in 0..BURST {
            refused.count(one, now).unwrap();
        }
        assert_eq!(refused.count(one, now), Err(EVERY));
        refused.count(two, now).unwrap();
        let later = now + EVERY;
        refused.count(one, later).unwrap();
        refused.count(one, later).unwrap_err();
    }
}
