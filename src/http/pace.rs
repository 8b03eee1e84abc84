//! How fast an address is served what costs it nothing: answers without a valid key or past the rate of a key, and bodies
//! that are refused and only read to be discarded. A client could have any number of those and take the processors from
//! everybody else.
//!
//! What is beyond the pace waits. The connection is not read meanwhile, so that its client becomes as slow as what it is
//! given. What a valid key is answered within its rate never waits.

use std::net::IpAddr;
use std::time::Duration;

use super::address_buckets::{AddressBuckets, BucketSize};
use toise_base::clock::Clock;
use toise_telemetry::Metrics;

/// Maximum wait of an answer.
pub const WAIT_MAX: Duration = Duration::from_secs(2);
/// Maximum wait of a piece of a body that is discarded, which is longer than anybody discards.
const DISCARD_WAIT_MAX: Duration = Duration::from_secs(60);
/// Bytes that are counted as one when they are discarded.
const DISCARD_UNIT: usize = 16 << 10;
/// Bytes of refused bodies that an address may send a second, and a quarter of it at once.
const DISCARDED_PER_S: usize = 32 << 20;
const DISCARDED: BucketSize = BucketSize {
    holds: (DISCARDED_PER_S / DISCARD_UNIT / 4) as u32,
    every: Duration::from_nanos(1_000_000_000 / (DISCARDED_PER_S / DISCARD_UNIT) as u64),
};

/// The pace of every address. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pace {
    answers: AddressBuckets,
    discarded: AddressBuckets,
    clock: Clock,
    metrics: Metrics,
}

/// The pace at which the body of one request is discarded.
#[derive(Debug)]
pub struct DiscardPace<'p> {
    pace: &'p Pace,
    client: Option<IpAddr>,
    /// Bytes that are not counted yet, less than a unit.
    uncounted: usize,
}

impl Pace {
    /// A pace of `per_s` answers a second, and as many at once.
    pub fn new(per_s: u32, clock: Clock, metrics: Metrics) -> Self {
        let per_s = per_s.max(1);
        let answers = BucketSize {
            holds: per_s,
            every: Duration::from_secs(1) / per_s,
        };
        Self {
            answers: AddressBuckets::new(answers),
            discarded: AddressBuckets::new(DISCARDED),
            clock,
            metrics,
        }
    }

    /// Waits until an address may have an answer, at most [`WAIT_MAX`]. Without an address, which is this process itself,
    /// there is no wait.
    pub async fn keep(&self, client: Option<IpAddr>) {
        let Some(client) = client else {
            return;
        };
        let wait = self.answer_wait(client);
        if !wait.is_zero() {
            self.metrics.record_unkeyed_wait();
            tokio::time::sleep(wait).await;
        }
    }

    fn answer_wait(&self, client: IpAddr) -> Duration {
        let now = self.clock.monotonic();
        self.answers
            .add(client, 1, now, WAIT_MAX)
            .unwrap_or(WAIT_MAX)
    }

    /// The pace at which the body of a client's request is discarded.
    pub fn discarding(&self, client: Option<IpAddr>) -> DiscardPace<'_> {
        DiscardPace {
            pace: self,
            client,
            uncounted: 0,
        }
    }
}

impl DiscardPace<'_> {
    /// Waits after some bytes were discarded until there may be more.
    pub async fn keep(&mut self, bytes: usize) {
        let wait = self.wait(bytes);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    fn wait(&mut self, bytes: usize) -> Duration {
        let Some(client) = self.client else {
            return Duration::ZERO;
        };
        let bytes = self.uncounted + bytes;
        self.uncounted = bytes % DISCARD_UNIT;
        let units = u32::try_from(bytes / DISCARD_UNIT).unwrap_or(u32::MAX);
        let now = self.pace.clock.monotonic();
        let added = self
            .pace
            .discarded
            .add(client, units, now, DISCARD_WAIT_MAX);
        added.unwrap_or(DISCARD_WAIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const TWO: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn pace(per_s: u32) -> (Pace, Clock) {
        let clock = Clock::steered(chrono::DateTime::UNIX_EPOCH);
        let pace = Pace::new(per_s, clock.clone(), Metrics::new().unwrap());
        (pace, clock)
    }

    #[test]
    fn an_address_waits_for_answers_beyond_its_pace_and_no_other_does() {
        let (pace, clock) = pace(10);
        let waits = |count: usize| -> Vec<u64> {
            let wait = |_| pace.answer_wait(ONE).as_millis() as u64;
            (0..count).map(wait).collect()
        };
        assert_eq!(waits(12), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 200]);
        assert_eq!(pace.answer_wait(TWO), Duration::ZERO);
        assert_eq!(waits(20)[17..], [2_000; 3]);
        clock.advance_ms(2_100);
        assert_eq!(waits(2), [0, 100]);
    }

    #[test]
    fn bodies_of_an_address_are_discarded_at_one_pace() {
        let (pace, clock) = pace(10);
        let (mut first, mut second) = (pace.discarding(Some(ONE)), pace.discarding(Some(ONE)));
        let quarter = DISCARDED_PER_S / 4;
        for _ in 0..quarter / 1_000 {
            assert_eq!(first.wait(1_000), Duration::ZERO);
        }
        assert!(second.wait(quarter).as_millis().abs_diff(250) <= 1);
        assert_eq!(pace.discarding(Some(TWO)).wait(quarter), Duration::ZERO);
        assert_eq!(pace.discarding(None).wait(1 << 30), Duration::ZERO);
        clock.advance_ms(500);
        assert_eq!(second.wait(quarter - DISCARD_UNIT), Duration::ZERO);
    }
}
