//! How fast an address is served what costs its client nothing: answers without a valid key or past a limit of a key, and
//! bodies that are refused and only read to be discarded. A client could have any number of those and take the
//! processors from everybody else.
//!
//! What is beyond the pace waits for its turn. A request that shows no key waits before anything is done for it. A client
//! that goes on sending nevertheless, so that its turn would be seconds away, is not answered any more: its connection
//! ends. What a valid key is answered within its limits never waits.
//!
//! A wait occupies a connection. Those of a trusted proxy belong to everybody, so a client behind one waits a moment at
//! most, and is then refused.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::address_buckets::{AddressBuckets, BucketSize};
use toise_base::clock::Clock;
use toise_telemetry::{Metrics, Refusal};

/// Maximum wait of an answer.
pub const WAIT_MAX: Duration = Duration::from_secs(2);
/// Maximum wait of an answer that a proxy passes on.
pub const PROXIED_WAIT_MAX: Duration = Duration::from_millis(100);
/// Maximum answers of an address at once, however many it may have a second: what comes at once delays everybody.
const AT_ONCE_MAX: u32 = 100;
/// Maximum answers that wait at once, of all addresses.
const WAITING_MAX: usize = 8_192;
/// Health checks and metrics of an address that do not wait, however much else it asks for.
const PROBES: BucketSize = BucketSize {
    holds: 50,
    every: Duration::from_millis(20),
};
/// For how long an address that was cut off opens connections at a pace.
const CUT_OFF: BucketSize = BucketSize {
    holds: 1,
    every: Duration::from_secs(30),
};
/// Connections of such an address that are served at once, and how often another one is.
const REOPENED: BucketSize = BucketSize {
    holds: 10,
    every: Duration::from_millis(50),
};
/// For how long its other connections are held unread: those whose turn comes until then are served, the others closed. A
/// client that is held has no reason to connect again, which one that is closed at once does as fast as it can.
const HELD_FOR: Duration = Duration::from_secs(5);
/// Maximum wait of a piece of a body that is discarded, which is longer than any discard lasts.
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
    probes: AddressBuckets,
    discarded: AddressBuckets,
    cut_off: AddressBuckets,
    reopened: AddressBuckets,
    waiting: Arc<Semaphore>,
    per_s: u32,
    clock: Clock,
    metrics: Metrics,
}

/// What an address may ask without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnkeyedRate {
    /// Answers a second.
    pub per_s: u32,
    /// Answers that it can have at once.
    pub remaining: u32,
    /// Time until it can have as many as ever at once.
    pub reset: Duration,
}

/// Who is answered at a pace.
#[derive(Clone, Copy, Debug)]
pub struct PacedClient {
    /// Its address; `None` for one that does not wait: this process itself, or one whose turn it is.
    pub address: Option<IpAddr>,
    /// Whether a trusted proxy passes its requests on.
    pub is_proxied: bool,
    /// Whether it asks how the service is.
    pub is_probe: bool,
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
    /// A pace of `per_s` answers a second, and as many at once up to a hundred.
    pub fn new(per_s: u32, clock: Clock, metrics: Metrics) -> Self {
        let per_s = per_s.max(1);
        let answers = BucketSize {
            holds: per_s.min(AT_ONCE_MAX),
            every: Duration::from_secs(1) / per_s,
        };
        Self {
            answers: AddressBuckets::new(answers),
            probes: AddressBuckets::new(PROBES),
            discarded: AddressBuckets::new(DISCARDED),
            cut_off: AddressBuckets::new(CUT_OFF),
            reopened: AddressBuckets::new(REOPENED),
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
            per_s,
            clock,
            metrics,
        }
    }

    /// What an address may ask now.
    pub fn rate(&self, address: IpAddr) -> UnkeyedRate {
        let (remaining, reset) = self.answers.room(address, self.clock.monotonic());
        UnkeyedRate {
            per_s: self.per_s,
            remaining,
            reset,
        }
    }

    /// Waits until it is a client's turn to be answered.
    ///
    /// # Errors
    /// Its turn would come after [`WAIT_MAX`], in the time that is given, or too many answers wait already. This is counted
    /// among the refusals.
    pub async fn keep(&self, client: PacedClient) -> Result<(), Duration> {
        let refused = |wait: Duration| {
            match client.address {
                Some(address) if !client.is_proxied => self.cut_off(address),
                _ => self.metrics.record_refusal(Refusal::Unkeyed),
            }
            wait
        };
        let wait = self.wait(client).map_err(refused)?;
        if wait.is_zero() {
            return Ok(());
        }
        let Ok(_place) = self.waiting.try_acquire() else {
            return Err(refused(wait));
        };
        self.metrics.record_unkeyed_wait();
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Notes that a connection of an address ends because its turn is too far away, or because it made others work for
    /// nothing.
    pub fn cut_off(&self, address: IpAddr) {
        self.metrics.record_refusal(Refusal::Unkeyed);
        self.cut_off.fill(address, self.clock.monotonic());
    }

    /// Holds a new connection until it may be read, and tells whether it may. It may at once, unless one of its address was
    /// cut off a moment ago: then only a few a second may, as long as the address goes on trying.
    pub async fn let_in(&self, address: IpAddr) -> bool {
        let turn = self.connection_turn(address);
        let held = turn.unwrap_or(HELD_FOR);
        if !held.is_zero() {
            tokio::time::sleep(held).await;
        }
        turn.is_ok()
    }

    /// The time until a new connection may be read; as an error if that is too long.
    fn connection_turn(&self, address: IpAddr) -> Result<Duration, Duration> {
        let now = self.clock.monotonic();
        if self.cut_off.overflow(address, now).is_zero() {
            return Ok(Duration::ZERO);
        }
        let turn = self.reopened.add(address, 1, now, HELD_FOR);
        if turn.is_err() {
            self.cut_off.fill(address, now);
        }
        turn
    }

    /// The time until a client's turn; as an error if that is too long.
    fn wait(&self, client: PacedClient) -> Result<Duration, Duration> {
        let Some(address) = client.address else {
            return Ok(Duration::ZERO);
        };
        let now = self.clock.monotonic();
        if client.is_probe && self.probes.add(address, 1, now, Duration::ZERO).is_ok() {
            return Ok(Duration::ZERO);
        }
        let wait_max = match client.is_proxied {
            true => PROXIED_WAIT_MAX,
            false => WAIT_MAX,
        };
        self.answers.add(address, 1, now, wait_max)
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

    #[tokio::test]
    async fn few_connections_of_an_address_that_is_cut_off_are_served_for_a_while() {
        let (pace, clock) = pace(10);
        // Those that are served at once, those that are held first, and those that are closed.
        let connected = |address| {
            let turns: Vec<_> = (0..200).map(|_| pace.connection_turn(address)).collect();
            let served = turns.iter().flatten().count();
            let at_once = turns.iter().flatten().filter(|held| held.is_zero());
            [at_once.count(), served, turns.len() - served]
        };
        // Ten at once and those of two seconds.
        waits(&pace, client(ONE), 30);
        assert_eq!(connected(ONE), [200, 200, 0], "nothing was cut off");
        assert!(pace.keep(client(ONE)).await.is_err());
        assert_eq!(connected(ONE), [10, 110, 90]);
        assert!(pace.keep(client(TWO)).await.is_ok());
        assert_eq!(connected(TWO), [200, 200, 0]);
        clock.advance_ms(5_000);
        assert_eq!(connected(ONE), [0, 100, 100]);
        clock.advance_ms(30_001);
        assert_eq!(connected(ONE), [200, 200, 0]);
    }

    #[test]
    fn no_address_is_answered_more_than_a_hundred_times_at_once() {
        let (pace, _) = pace(1_000);
        let waits = waits(&pace, client(ONE), 200);
        assert_eq!(waits.iter().filter(|wait| **wait == Some(0)).count(), 100);
        assert_eq!(waits.last(), Some(&Some(100)));
    }

    fn pace(per_s: u32) -> (Pace, Clock) {
        let clock = Clock::steered(chrono::DateTime::UNIX_EPOCH);
        let pace = Pace::new(per_s, clock.clone(), Metrics::new().unwrap());
        (pace, clock)
    }

    fn client(address: IpAddr) -> PacedClient {
        PacedClient {
            address: Some(address),
            is_proxied: false,
            is_probe: false,
        }
    }

    /// The waits of some answers in milliseconds; `None` for those whose turn is too far away.
    fn waits(pace: &Pace, client: PacedClient, count: usize) -> Vec<Option<u64>> {
        let wait = |_| pace.wait(client).ok().map(|wait| wait.as_millis() as u64);
        (0..count).map(wait).collect()
    }

    #[test]
    fn an_address_waits_for_its_turn_beyond_its_pace_and_no_other_does() {
        let (pace, clock) = pace(10);
        assert_eq!(waits(&pace, client(ONE), 10), [Some(0); 10]);
        assert_eq!(waits(&pace, client(ONE), 2), [Some(100), Some(200)]);
        assert_eq!(waits(&pace, client(TWO), 1), [Some(0)]);
        // It has two seconds of answers to wait for; what is refused is not counted.
        assert_eq!(
            waits(&pace, client(ONE), 20)[17..],
            [Some(2_000), None, None]
        );
        clock.advance_ms(2_100);
        assert_eq!(waits(&pace, client(ONE), 2), [Some(0), Some(100)]);
    }

    #[test]
    fn a_client_behind_a_proxy_is_refused_rather_than_kept_waiting() {
        let (pace, _) = pace(20);
        let proxied = PacedClient {
            is_proxied: true,
            ..client(ONE)
        };
        assert_eq!(
            waits(&pace, proxied, 23)[19..],
            [Some(0), Some(50), Some(100), None]
        );
    }

    #[test]
    fn some_health_checks_never_wait_and_this_process_never_does() {
        let (pace, _) = pace(1);
        let probe = PacedClient {
            is_probe: true,
            ..client(ONE)
        };
        waits(&pace, client(ONE), 5);
        assert_eq!(waits(&pace, client(ONE), 1), [None]);
        let of_probes = waits(&pace, probe, PROBES.holds as usize + 1);
        assert_eq!(
            of_probes[..PROBES.holds as usize],
            [Some(0); PROBES.holds as usize]
        );
        assert_eq!(of_probes.last(), Some(&None));
        let itself = PacedClient {
            address: None,
            ..client(ONE)
        };
        assert_eq!(waits(&pace, itself, 100), [Some(0); 100]);
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
