//! Usage of each key while the process runs: rate, calls this month, concurrent estimates.
//!
//! Rates use a leaky bucket (GCRA) that holds the calls of one second. Quotas count the same calls as the ledger. The
//! sum of the month is read from the store once a second, because other processes may count calls of the same key, and
//! is maintained in memory between reads. Each call in flight holds a reservation, so concurrent calls of one process
//! cannot exceed a quota together. Calls of several processes can exceed it by as much as they count within that
//! second.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Utc};
use governor::clock::Reference;
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{NotUntil, Quota, RateLimiter};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::key::Allowance;
use super::ledger;
pub use super::limit_exceeded::LimitExceeded;
use toise_base::clock::Clock;
use toise_store::{self as store, Store};

/// Maximum estimates of one key that wait for a slot.
const ESTIMATES_WAITING_MAX: usize = 8;
/// Maximum wait of an estimate for a slot.
const ESTIMATE_WAIT_MAX: Duration = Duration::from_secs(5);
/// Maximum age of the month's calls before they are read again.
const MONTH_READ_EVERY: Duration = Duration::from_secs(1);
/// Percentages of a quota at which responses carry a warning.
const WARNING_PERCENTS: [u64; 2] = [90, 75];

/// The clock, adapted for rate limiters.
#[derive(Clone, Debug)]
pub struct RateClock(Clock);

impl RateClock {
    /// Adapts a clock.
    pub fn new(clock: Clock) -> Self {
        Self(clock)
    }

    /// Returns the time to wait until a refused call can be made.
    pub fn time_until(&self, refusal: &NotUntil<Duration>) -> LimitExceeded {
        let nanos = refusal
            .earliest_possible()
            .duration_since(self.0.monotonic())
            .as_u64();
        LimitExceeded {
            retry_after_s: nanos.div_ceil(1_000_000_000).max(1),
        }
    }
}

impl governor::clock::Clock for RateClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.monotonic()
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, RateClock, StateInformationMiddleware>;

/// State of a key's rate limit, for the response headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    /// Calls per second.
    pub limit: u32,
    /// Calls that can be made at once.
    pub remaining: u32,
    /// Seconds until the full burst is available again, rounded up.
    pub reset_s: u64,
}

impl RateState {
    /// The state after a call that is within the limit of `limit` calls a second.
    pub fn allowed(limit: u32, remaining: u32) -> Self {
        Self {
            limit,
            remaining,
            // The full burst is available again in less than a second.
            reset_s: u64::from(remaining < limit),
        }
    }

    /// The state after a call that exceeded the limit.
    pub fn exceeded(limit: u32, exceeded: LimitExceeded) -> Self {
        Self {
            limit,
            remaining: 0,
            reset_s: exceeded.retry_after_s,
        }
    }
}

/// Calls of a key in a month.
#[derive(Debug, Default)]
struct MonthlyUsage {
    /// First day of the month; `None` if not yet read from the store.
    first: Option<NaiveDate>,
    /// Calls counted by all processes, as far as this process knows.
    counted: u64,
    /// Calls in flight in this process.
    reserved: u64,
    /// Calls that this process has counted since its start.
    committed: u64,
    /// Start of the last read of the calls, or of the last request for one, as monotonic time.
    read_at: Duration,
    /// Whether the next [`KeyMeter::reserve`] must read them.
    is_due: bool,
}

/// Usage of one key.
#[derive(Debug)]
pub struct KeyMeter {
    key_id: Uuid,
    allowance: Allowance,
    limiter: Limiter,
    rate: Mutex<RateState>,
    /// When the last call was made, as monotonic time in milliseconds.
    last_call_ms: AtomicU64,
    month: Arc<Mutex<MonthlyUsage>>,
    estimates: Arc<Semaphore>,
    estimates_admitted: Arc<Semaphore>,
}

/// A reservation in the month's quota; released when dropped, unless the call is counted.
#[derive(Debug)]
#[must_use = "the reservation is released when this is dropped"]
pub struct Reservation {
    month: Option<Arc<Mutex<MonthlyUsage>>>,
    first: NaiveDate,
    /// Percentage of the quota used, if a warning is due.
    pub warning_percent: Option<u64>,
}

impl Reservation {
    /// Keeps the reservation, because the call counts.
    pub fn commit(mut self) {
        if let Some(month) = self.month.take() {
            let mut month = month.lock();
            month.committed += 1;
            if month.first == Some(self.first) {
                month.reserved = month.reserved.saturating_sub(1);
                month.counted += 1;
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(month) = &self.month {
            let mut month = month.lock();
            if month.first == Some(self.first) {
                month.reserved = month.reserved.saturating_sub(1);
            }
        }
    }
}

/// A permit to run an estimate; released when dropped.
#[derive(Debug)]
pub struct EstimatePermit {
    _running: OwnedSemaphorePermit,
    _admitted: OwnedSemaphorePermit,
}

impl KeyMeter {
    fn new(
        key_id: Uuid,
        allowance: Allowance,
        clock: &Clock,
        month: Arc<Mutex<MonthlyUsage>>,
    ) -> Self {
        let rate = NonZeroU32::new(allowance.rate_per_s).unwrap_or(NonZeroU32::MIN);
        let limiter =
            RateLimiter::direct_with_clock(Quota::per_second(rate), RateClock(clock.clone()))
                .with_middleware::<StateInformationMiddleware>();
        let running = allowance.estimates_max.max(1) as usize;
        Self {
            key_id,
            allowance,
            limiter,
            rate: Mutex::new(RateState {
                limit: rate.get(),
                remaining: rate.get(),
                reset_s: 0,
            }),
            last_call_ms: AtomicU64::new(clock.monotonic().as_millis() as u64),
            month,
            estimates: Arc::new(Semaphore::new(running)),
            estimates_admitted: Arc::new(Semaphore::new(running + ESTIMATES_WAITING_MAX)),
        }
    }

    /// Returns the identifier of the key.
    pub fn key_id(&self) -> Uuid {
        self.key_id
    }

    /// Returns whether nobody uses the meter, and its last call was long ago.
    fn is_idle(self: &Arc<Self>, now: Duration) -> bool {
        let last_call = Duration::from_millis(self.last_call_ms.load(Ordering::Relaxed));
        Arc::strong_count(self) == 1
            && Arc::strong_count(&self.month) == 1
            && now.saturating_sub(last_call) > METER_IDLE
    }

    /// Returns the state of the rate limit after the last call.
    pub fn rate(&self) -> RateState {
        *self.rate.lock()
    }

    /// Counts a call against the rate limit.
    ///
    /// # Errors
    ///
    /// The rate is exceeded.
    pub fn admit(&self) -> Result<RateState, LimitExceeded> {
        let now = self.limiter.clock().0.monotonic();
        self.last_call_ms
            .store(now.as_millis() as u64, Ordering::Relaxed);
        let limit = self.allowance.rate_per_s.max(1);
        match self.limiter.check() {
            Ok(snapshot) => {
                let state = RateState::allowed(limit, snapshot.remaining_burst_capacity());
                *self.rate.lock() = state;
                Ok(state)
            }
            Err(refusal) => {
                let exceeded = self.limiter.clock().time_until(&refusal);
                *self.rate.lock() = RateState::exceeded(limit, exceeded);
                Err(exceeded)
            }
        }
    }

    /// Reserves a call in the month's quota; `None` if the month's calls have to be read (use [`KeyMeter::reserve`]).
    /// Does not block.
    pub fn reserve_known(&self, now: DateTime<Utc>) -> Option<Result<Reservation, LimitExceeded>> {
        let first = first_of_month(now);
        let Some(quota) = self.allowance.monthly_quota else {
            return Some(Ok(Reservation {
                month: None,
                first,
                warning_percent: None,
            }));
        };
        let mut month = self.month.lock();
        let clock_now = self.limiter.clock().0.monotonic();
        if month.first != Some(first) {
            return None;
        }
        if clock_now >= month.read_at + MONTH_READ_EVERY {
            // This call has to read the month's calls; others continue with the known number.
            month.read_at = clock_now;
            month.is_due = true;
            return None;
        }
        let calls = month.counted + month.reserved;
        if calls >= quota {
            let wait = (first_of_next_month(first) - now).num_seconds();
            return Some(Err(LimitExceeded {
                retry_after_s: u64::try_from(wait).unwrap_or(0) + 1,
            }));
        }
        month.reserved += 1;
        let percent = (calls + 1).saturating_mul(100) / quota;
        let warned = WARNING_PERCENTS.iter().any(|bound| percent >= *bound);
        Some(Ok(Reservation {
            month: Some(Arc::clone(&self.month)),
            first,
            warning_percent: warned.then_some(percent),
        }))
    }

    /// Reserves a call in the month's quota and reads the month's calls if needed. `waiting` is the number of calls
    /// that count but are not in the store yet ([`crate::waiting`]), read before this call. Blocks on two indexed
    /// reads, at most once a second.
    pub fn reserve(
        &self,
        store: &Store,
        waiting: u64,
        now: DateTime<Utc>,
    ) -> store::Result<Result<Reservation, LimitExceeded>> {
        let first = first_of_month(now);
        loop {
            let is_due = std::mem::take(&mut self.month.lock().is_due);
            if !is_due && let Some(reserved) = self.reserve_known(now) {
                return Ok(reserved);
            }
            // Read without the lock, because callers that must not block also take it.
            let committed = self.month.lock().committed;
            let calls = waiting + ledger::calls_of_month(store, self.key_id, now)?;
            let mut month = self.month.lock();
            if month.first != Some(first) {
                // Reservations of another month are not released into this one.
                month.first = Some(first);
                month.reserved = 0;
            }
            // Calls committed during the read may be included in it or not; some may be counted twice until the next
            // read.
            month.counted = calls + (month.committed - committed);
            month.read_at = self.limiter.clock().0.monotonic();
            month.is_due = false;
        }
    }

    /// Waits for a slot to estimate; the number of waiting calls and the waiting time are limited.
    pub async fn acquire_estimate(&self) -> Result<EstimatePermit, LimitExceeded> {
        let refused = |_| LimitExceeded { retry_after_s: 1 };
        let admitted = Arc::clone(&self.estimates_admitted)
            .try_acquire_owned()
            .map_err(refused)?;
        let turn = Arc::clone(&self.estimates).acquire_owned();
        match tokio::time::timeout(ESTIMATE_WAIT_MAX, turn).await {
            Ok(Ok(running)) => Ok(EstimatePermit {
                _running: running,
                _admitted: admitted,
            }),
            _ => Err(LimitExceeded { retry_after_s: 1 }),
        }
    }
}

/// The meters of all keys. Cheap to clone. A meter is forgotten some time after its last call.
#[derive(Clone, Debug)]
pub struct KeyMeters {
    clock: Clock,
    meters: Arc<RwLock<HashMap<Uuid, Arc<KeyMeter>>>>,
}

/// Number of meters above which idle ones are removed when one is added.
const METERS_BEFORE_CLEANUP: usize = 1_024;
/// Time without a call after which a meter is idle: its rate limit is full again, and its month is read from the store.
const METER_IDLE: Duration = Duration::from_secs(60);

impl KeyMeters {
    /// Creates meters without any usage.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            meters: Arc::default(),
        }
    }

    /// Returns the meter of a key. If the limits of the key have changed, creates a new one that keeps only the month's
    /// calls.
    pub fn of(&self, key_id: Uuid, allowance: Allowance) -> Arc<KeyMeter> {
        let known = self.meters.read().get(&key_id).cloned();
        if let Some(meter) = &known
            && meter.allowance == allowance
        {
            return Arc::clone(meter);
        }
        let mut meters = self.meters.write();
        if let Some(meter) = meters.get(&key_id)
            && meter.allowance == allowance
        {
            return Arc::clone(meter);
        }
        let month = meters
            .get(&key_id)
            .map(|meter| Arc::clone(&meter.month))
            .unwrap_or_default();
        let meter = Arc::new(KeyMeter::new(key_id, allowance, &self.clock, month));
        if meters.len() >= METERS_BEFORE_CLEANUP {
            let now = self.clock.monotonic();
            meters.retain(|_, meter| !meter.is_idle(now));
        }
        meters.insert(key_id, Arc::clone(&meter));
        meter
    }
}

fn first_of_month(moment: DateTime<Utc>) -> NaiveDate {
    let day = moment.date_naive();
    day.with_day(1).unwrap_or(day)
}

fn first_of_next_month(first: NaiveDate) -> DateTime<Utc> {
    let next = first + chrono::Months::new(1);
    Utc.from_utc_datetime(&next.and_time(chrono::NaiveTime::MIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{CallRecord, Ledger, LedgerEntry};
    use crate::prices::Consumption;
    use crate::sql_limits::SqlLimits;

    fn allowance(rate_per_s: u32, monthly_quota: Option<u64>) -> Allowance {
        Allowance {
            rate_per_s,
            monthly_quota,
            estimates_max: 2,
            sql: SqlLimits::default(),
        }
    }

    /// Records a free call of a key in the ledger.
    async fn record_call(store: &Store, clock: &Clock, account_id: Uuid, key_id: Uuid) {
        let at = clock.now();
        let entry = LedgerEntry {
            request_id: Uuid::now_v7(),
            account_id,
            key_id,
            consumption: Consumption::OpendataDvfSearch,
            credits: 0,
            at,
        };
        let record = CallRecord {
            account_id,
            at,
            entry: Some(entry),
            answer: None,
        };
        Ledger::new(store, clock).record(record).await.unwrap();
    }

    #[test]
    fn five_calls_per_second_pass_and_the_sixth_has_to_wait() {
        let clock = Clock::steered(Utc::now());
        let meter = KeyMeters::new(clock.clone()).of(Uuid::now_v7(), allowance(5, None));
        let remaining: Vec<u32> = (0..5).map(|_| meter.admit().unwrap().remaining).collect();
        assert_eq!(remaining, [4, 3, 2, 1, 0]);
        assert_eq!(meter.admit(), Err(LimitExceeded { retry_after_s: 1 }));
        assert_eq!(meter.rate().remaining, 0);
        clock.advance_ms(200);
        assert!(meter.admit().is_ok());
        assert!(meter.admit().is_err());
        clock.advance_ms(10_000);
        assert_eq!(meter.admit().unwrap().remaining, 4);
    }

    #[test]
    fn meters_without_calls_are_forgotten() {
        let clock = Clock::steered(Utc::now());
        let meters = KeyMeters::new(clock.clone());
        let used = Uuid::now_v7();
        let held = meters.of(Uuid::now_v7(), allowance(5, None));
        meters.of(used, allowance(5, None)).admit().unwrap();
        for _ in 0..METERS_BEFORE_CLEANUP {
            meters.of(Uuid::now_v7(), allowance(5, None));
        }
        clock.advance_ms(50_000);
        meters.of(used, allowance(5, None)).admit().unwrap();
        clock.advance_ms(20_000);
        meters.of(Uuid::now_v7(), allowance(5, None));
        let left = meters.meters.read();
        assert_eq!(left.len(), 3);
        assert!(left.contains_key(&used) && left.contains_key(&held.key_id));
    }

    #[tokio::test]
    async fn a_quota_counts_what_the_ledger_counts_and_ends_with_the_month() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let start = Utc.with_ymd_and_hms(2026, 11, 30, 23, 59, 0).unwrap();
        let clock = Clock::steered(start);
        let (account_id, key_id) = (Uuid::now_v7(), Uuid::now_v7());
        record_call(&store, &clock, account_id, key_id).await;
        let meter = KeyMeters::new(clock.clone()).of(key_id, allowance(5, Some(4)));
        let reserve = || meter.reserve(&store, 0, clock.now()).unwrap();
        let second = reserve().unwrap();
        assert_eq!(second.warning_percent, None);
        let third = reserve().unwrap();
        assert_eq!(third.warning_percent, Some(75));
        let fourth = reserve().unwrap();
        assert_eq!(fourth.warning_percent, Some(100));
        assert_eq!(reserve().err(), Some(LimitExceeded { retry_after_s: 61 }));
        drop(third);
        second.commit();
        reserve().unwrap().commit();
        assert!(reserve().is_err());
        clock.advance_ms(60_000);
        drop(fourth);
        assert_eq!(reserve().unwrap().warning_percent, None);
    }

    #[tokio::test]
    async fn two_processes_on_a_store_share_a_quota() {
        let folder = tempfile::tempdir().unwrap();
        let stores = [(); 2].map(|()| Store::open(folder.path()).unwrap());
        let clock = Clock::steered(Utc.with_ymd_and_hms(2026, 11, 23, 12, 0, 0).unwrap());
        let (account_id, key_id) = (Uuid::now_v7(), Uuid::now_v7());
        let meters =
            [(); 2].map(|()| KeyMeters::new(clock.clone()).of(key_id, allowance(5, Some(10))));
        let call = async |process: usize| {
            let meter = &meters[process];
            let reserved = match meter.reserve_known(clock.now()) {
                Some(known) => known,
                None => meter.reserve(&stores[process], 0, clock.now()).unwrap(),
            };
            let Ok(reservation) = reserved else {
                return false;
            };
            record_call(&stores[process], &clock, account_id, key_id).await;
            reservation.commit();
            true
        };
        let mut taken = 0;
        for turn in 0..20 {
            if call(turn % 2).await {
                taken += 1;
            }
            clock.advance_ms(1_000);
        }
        assert_eq!(taken, 10);
    }

    #[tokio::test]
    async fn estimates_wait_for_a_slot_and_are_rejected_if_the_queue_is_full() {
        let meter = KeyMeters::new(Clock::system()).of(Uuid::now_v7(), allowance(5, None));
        let first = meter.acquire_estimate().await.unwrap();
        let _second = meter.acquire_estimate().await.unwrap();
        let mut waiting: Vec<_> = (0..ESTIMATES_WAITING_MAX)
            .map(|_| Box::pin(meter.acquire_estimate()))
            .collect();
        for turn in &mut waiting {
            assert!(futures::poll!(turn).is_pending());
        }
        assert!(meter.acquire_estimate().await.is_err());
        drop(first);
        assert!(futures::poll!(&mut waiting[0]).is_ready());
    }

    #[test]
    fn changed_limits_keep_the_calls_of_the_month() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::steered(Utc::now());
        let (meters, key_id) = (KeyMeters::new(clock.clone()), Uuid::now_v7());
        let before = meters.of(key_id, allowance(5, Some(1)));
        before
            .reserve(&store, 0, clock.now())
            .unwrap()
            .unwrap()
            .commit();
        let after = meters.of(key_id, allowance(9, Some(1)));
        assert_eq!(after.admit().unwrap().limit, 9);
        assert!(after.reserve(&store, 0, clock.now()).unwrap().is_err());
    }
}
