//! How much each client address did lately: a bucket for each that fills with what it does and empties over time.
//!
//! The table is bounded: once it is full, addresses that are not in it share a bucket.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::client_address::counted_as;

/// Maximum addresses with a bucket of their own.
const ADDRESSES_MAX: usize = 10_000;
/// How often a full table is cleared of empty buckets, which takes a fraction of a millisecond.
const CLEARED_EVERY: Duration = Duration::from_millis(100);

/// The size of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketSize {
    /// What it holds.
    pub holds: u32,
    /// Time in which it empties by one.
    pub every: Duration,
}

/// Buckets of addresses. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct AddressBuckets {
    size: BucketSize,
    buckets: Arc<Mutex<Buckets>>,
}

#[derive(Debug, Default)]
struct Buckets {
    /// When each bucket will be empty, as monotonic time.
    empty_at: HashMap<IpAddr, Duration>,
    /// That of all other addresses.
    others_empty_at: Duration,
    /// When the table was last cleared of empty buckets.
    cleared_at: Duration,
}

impl Buckets {
    /// When the bucket of an address will be empty.
    fn of(&mut self, client: IpAddr, now: Duration) -> &mut Duration {
        let client = counted_as(client);
        if self.empty_at.len() >= ADDRESSES_MAX && now >= self.cleared_at + CLEARED_EVERY {
            self.empty_at.retain(|_, empty_at| *empty_at > now);
            self.cleared_at = now;
        }
        let has_room = self.empty_at.len() < ADDRESSES_MAX;
        match self.empty_at.entry(client) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if has_room => new.insert(Duration::ZERO),
            Entry::Vacant(_) => &mut self.others_empty_at,
        }
    }
}

impl AddressBuckets {
    pub(super) fn new(size: BucketSize) -> Self {
        Self {
            size,
            buckets: Arc::default(),
        }
    }

    /// Adds to the bucket of an address at `now`, a monotonic time. Returns the time until the bucket holds no more than it
    /// should, zero if it does not overflow.
    ///
    /// # Errors
    /// That time would be longer than `overflow_max`; nothing is added.
    pub(super) fn add(
        &self,
        client: IpAddr,
        count: u32,
        now: Duration,
        overflow_max: Duration,
    ) -> Result<Duration, Duration> {
        let BucketSize { holds, every } = self.size;
        let mut buckets = self.buckets.lock();
        let empty_at = buckets.of(client, now);
        let filled = (*empty_at).max(now) + every * count;
        let overflow = filled.saturating_sub(now + every * holds);
        if overflow > overflow_max {
            return Err(overflow);
        }
        *empty_at = filled;
        Ok(overflow)
    }

    /// Fills the bucket of an address, whatever it holds.
    pub(super) fn fill(&self, client: IpAddr, now: Duration) {
        let BucketSize { holds, every } = self.size;
        *self.buckets.lock().of(client, now) = now + every * holds;
    }

    /// What [`AddressBuckets::add`] would return for one more, without adding it.
    pub(super) fn overflow(&self, client: IpAddr, now: Duration) -> Duration {
        let BucketSize { holds, every } = self.size;
        (self.time_to_empty(client, now) + every).saturating_sub(every * holds)
    }

    /// How many more the bucket of an address holds, and the time until it is empty.
    pub(super) fn room(&self, client: IpAddr, now: Duration) -> (u32, Duration) {
        let BucketSize { holds, every } = self.size;
        let time = self.time_to_empty(client, now);
        let held = time.as_nanos().div_ceil(every.as_nanos().max(1));
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        (holds.saturating_sub(held), time)
    }

    fn time_to_empty(&self, client: IpAddr, now: Duration) -> Duration {
        let buckets = self.buckets.lock();
        let empty_at = match buckets.empty_at.get(&counted_as(client)) {
            Some(empty_at) => *empty_at,
            None if buckets.empty_at.len() < ADDRESSES_MAX => Duration::ZERO,
            None => buckets.others_empty_at,
        };
        empty_at.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: BucketSize = BucketSize {
        holds: 100,
        every: Duration::from_millis(500),
    };
    const NOW: Duration = Duration::from_secs(1_000);

    fn address(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }

    #[test]
    fn a_bucket_overflows_up_to_a_bound() {
        let buckets = AddressBuckets::new(SIZE);
        let add = |client, now| buckets.add(client, 1, now, SIZE.every * 2);
        for _ in 0..SIZE.holds {
            assert_eq!(add(address(1), NOW), Ok(Duration::ZERO));
        }
        assert_eq!(add(address(1), NOW), Ok(SIZE.every));
        assert_eq!(add(address(1), NOW), Ok(SIZE.every * 2));
        assert_eq!(add(address(1), NOW), Err(SIZE.every * 3));
        assert_eq!(add(address(2), NOW), Ok(Duration::ZERO));
        assert_eq!(buckets.room(address(1), NOW).0, 0);
        assert_eq!(buckets.room(address(2), NOW), (99, SIZE.every));
        assert_eq!(buckets.room(address(3), NOW), (100, Duration::ZERO));
        assert_eq!(
            add(address(1), NOW + SIZE.every * 3),
            Ok(Duration::ZERO),
            "what was refused is not counted"
        );
    }

    #[test]
    fn the_table_is_bounded_and_makes_room() {
        let buckets = AddressBuckets::new(SIZE);
        let add = |client, now| buckets.add(client, 1, now, Duration::ZERO);
        for number in 0..ADDRESSES_MAX as u32 + SIZE.holds {
            add(address(number), NOW).unwrap();
        }
        assert_eq!(buckets.buckets.lock().empty_at.len(), ADDRESSES_MAX);
        // The other addresses share a bucket, and known ones have theirs.
        let other = address(1 << 20);
        add(other, NOW).unwrap_err();
        add(address(1), NOW).unwrap();
        let later = NOW + SIZE.every * 3;
        add(other, later).unwrap();
        assert_eq!(buckets.buckets.lock().empty_at.len(), 1);
    }
}
