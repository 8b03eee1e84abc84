//! How many texts that are no keys a client address may send: past it, 429 in place of 401.
//!
//! Each address has a bucket that holds [`BURST`] refusals and empties at one every [`EVERY`]. A valid key is never counted
//! nor held back, so whoever shares an address with a guesser goes on working. The table is bounded: once it is full,
//! addresses that are not in it share a bucket.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::client_address::counted_as;
use toise_accounts::meter::LimitExceeded;

/// Refusals of an address at once.
pub const BURST: u32 = 100;
/// Time after which an address may have one more.
pub const EVERY: Duration = Duration::from_millis(500);
/// Maximum addresses with a bucket of their own.
const ADDRESSES_MAX: usize = 10_000;

/// Refused keys by address. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RefusedKeys(Arc<Mutex<Buckets>>);

#[derive(Debug, Default)]
struct Buckets {
    /// When each bucket will be empty, as monotonic time.
    empty_at: HashMap<IpAddr, Duration>,
    /// That of all other addresses.
    others_empty_at: Duration,
    /// When the table was last cleared of empty buckets.
    cleared_at: Duration,
}

impl RefusedKeys {
    /// Counts a refusal at `now`, a monotonic time.
    ///
    /// # Errors
    /// The address had too many; this one is not counted.
    pub fn count(&self, client: IpAddr, now: Duration) -> Result<(), LimitExceeded> {
        let client = counted_as(client);
        let mut buckets = self.0.lock();
        if buckets.empty_at.len() >= ADDRESSES_MAX && now >= buckets.cleared_at + EVERY {
            buckets.empty_at.retain(|_, empty_at| *empty_at > now);
            buckets.cleared_at = now;
        }
        let has_room = buckets.empty_at.len() < ADDRESSES_MAX;
        match buckets.empty_at.get_mut(&client) {
            Some(empty_at) => fill(empty_at, now),
            None if has_room => fill(buckets.empty_at.entry(client).or_default(), now),
            None => fill(&mut buckets.others_empty_at, now),
        }
    }
}

/// Adds one refusal to a bucket.
fn fill(empty_at: &mut Duration, now: Duration) -> Result<(), LimitExceeded> {
    let filled = (*empty_at).max(now) + EVERY;
    let full = now + EVERY * BURST;
    if filled > full {
        let wait = filled - full;
        return Err(LimitExceeded {
            retry_after_s: wait.as_secs_f64().ceil().max(1.0) as u64,
        });
    }
    *empty_at = filled;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }

    #[test]
    fn an_address_may_be_wrong_often_and_then_seldom() {
        let refused = RefusedKeys::default();
        let now = Duration::from_secs(1_000);
        for _ in 0..BURST {
            refused.count(address(1), now).unwrap();
        }
        assert_eq!(refused.count(address(1), now).unwrap_err().retry_after_s, 1);
        refused.count(address(2), now).unwrap();
        let later = now + EVERY;
        refused.count(address(1), later).unwrap();
        refused.count(address(1), later).unwrap_err();
    }

    #[test]
    fn the_table_is_bounded_and_makes_room() {
        let refused = RefusedKeys::default();
        let now = Duration::from_secs(1_000);
        for number in 0..ADDRESSES_MAX as u32 + BURST {
            refused.count(address(number), now).unwrap();
        }
        assert_eq!(refused.0.lock().empty_at.len(), ADDRESSES_MAX);
        // The other addresses share a bucket, and known ones have theirs.
        let other = address(1 << 20);
        refused.count(other, now).unwrap_err();
        refused.count(address(1), now).unwrap();
        let later = now + EVERY * 3;
        refused.count(other, later).unwrap();
        assert_eq!(refused.0.lock().empty_at.len(), 1);
    }
}
