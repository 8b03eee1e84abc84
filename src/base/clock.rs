//! The only source of time. Production code takes a [`Clock`]; tests pass a fixed or steerable one.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat, Utc};

static PROCESS_START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A clock: the system's, or one that a test controls.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// `None` reads the system clock.
    steered: Option<Arc<SteeredTime>>,
}

/// The time of a steered clock.
#[derive(Debug)]
struct SteeredTime {
    /// Milliseconds since the Unix epoch.
    now_ms: AtomicI64,
    /// Milliseconds that have passed; unlike `now_ms`, not changed by jumps.
    passed_ms: AtomicI64,
}

/// Returns a time as the contract writes it: ISO 8601, UTC, milliseconds.
pub fn iso(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Reads a time in ISO 8601.
pub fn parse_iso(text: &str) -> Option<DateTime<Utc>> {
    Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc())
}

impl Clock {
    /// Returns the system clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a clock that stays at `start` until [`Clock::advance_ms`] moves it.
    pub fn steered(start: DateTime<Utc>) -> Self {
        Self {
            steered: Some(Arc::new(SteeredTime {
                now_ms: AtomicI64::new(start.timestamp_millis()),
                passed_ms: AtomicI64::new(start.timestamp_millis()),
            })),
        }
    }

    /// Moves a steered clock forward; has no effect on a system clock.
    pub fn advance_ms(&self, milliseconds: i64) {
        if let Some(time) = &self.steered {
            time.now_ms.fetch_add(milliseconds, Ordering::SeqCst);
            time.passed_ms.fetch_add(milliseconds, Ordering::SeqCst);
        }
    }

    /// Sets a steered clock forward or back without any time passing, like a correction of the system time. Has no
    /// effect on a system clock.
    pub fn jump_ms(&self, milliseconds: i64) {
        if let Some(time) = &self.steered {
            time.now_ms.fetch_add(milliseconds, Ordering::SeqCst);
        }
    }

    /// Returns the current time, UTC.
    pub fn now(&self) -> DateTime<Utc> {
        match &self.steered {
            Some(time) => {
                let now_ms = time.now_ms.load(Ordering::SeqCst);
                DateTime::from_timestamp_millis(now_ms).unwrap_or_default()
            }
            None => Utc::now(),
        }
    }

    /// Returns the time since a fixed moment, for measuring durations. It never decreases, even if the system time is
    /// changed. [`Clock::advance_ms`] moves it on a steered clock; [`Clock::jump_ms`] does not.
    pub fn monotonic(&self) -> Duration {
        match &self.steered {
            Some(time) => {
                let passed_ms = time.passed_ms.load(Ordering::SeqCst);
                Duration::from_millis(passed_ms.try_into().unwrap_or_default())
            }
            None => PROCESS_START.elapsed(),
        }
    }
}

/// Maximum time by which a [`HybridClock`] is ahead of its clock. Longer steps back than the usual corrections of a
/// clock mean that it was wrong before.
pub const AHEAD_MAX: Duration = Duration::from_secs(60);

/// A hybrid logical clock: times that never decrease, although the clock of the machine may be set back a little.
///
/// It returns the time of its clock, or the latest moment it has returned or was given if that is later by at most
/// [`AHEAD_MAX`]. A moment later than that is ignored: it came from a clock that was wrong. Cheap to clone; clones
/// share their state.
#[derive(Clone, Debug)]
pub struct HybridClock {
    clock: Clock,
    /// The latest moment, Unix milliseconds.
    latest_ms: Arc<AtomicI64>,
}

impl HybridClock {
    /// Creates a hybrid clock that has not returned a moment yet.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            latest_ms: Arc::new(AtomicI64::new(i64::MIN)),
        }
    }

    /// Returns a moment that is never before an earlier result or before `seen_ms` (Unix milliseconds), which may come
    /// from another process. Both are true only for moments at most [`AHEAD_MAX`] ahead of the clock.
    pub fn now_after(&self, seen_ms: i64) -> DateTime<Utc> {
        let now_ms = self.clock.now().timestamp_millis();
        let bound_ms = now_ms.saturating_add(AHEAD_MAX.as_millis() as i64);
        let next_ms = |latest_ms: i64| {
            let known = [latest_ms, seen_ms].into_iter();
            known
                .filter(|known_ms| *known_ms <= bound_ms)
                .fold(now_ms, i64::max)
        };
        let former = self
            .latest_ms
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |latest_ms| {
                Some(next_ms(latest_ms))
            });
        let (Ok(former) | Err(former)) = former;
        DateTime::from_timestamp_millis(next_ms(former)).unwrap_or_default()
    }
}

/// Smallest change of the offset between time of day and monotonic time that counts as a jump. Smaller changes are the
/// usual corrections of a clock.
const JUMP_MS_MIN: i64 = 10_000;

/// Detects that the system time was set forward or back. Code that stores deadlines shifts them by the jump, so that
/// each wait keeps its length.
#[derive(Debug)]
pub struct ClockJumps {
    clock: Clock,
    /// Time of day minus monotonic time at the last check, in milliseconds.
    offset_ms: i64,
}

impl ClockJumps {
    /// Starts to watch a clock.
    pub fn watch(clock: Clock) -> Self {
        let offset_ms = offset_ms(&clock);
        Self { clock, offset_ms }
    }

    /// Returns by how many milliseconds the time of day was set forward since the last call, negative if it was set
    /// back; `None` if it did not jump.
    pub fn since_last(&mut self) -> Option<i64> {
        let offset_ms = offset_ms(&self.clock);
        let jump_ms = offset_ms - self.offset_ms;
        if jump_ms.abs() < JUMP_MS_MIN {
            return None;
        }
        self.offset_ms = offset_ms;
        Some(jump_ms)
    }
}

fn offset_ms(clock: &Clock) -> i64 {
    let passed_ms = i64::try_from(clock.monotonic().as_millis()).unwrap_or(i64::MAX);
    clock.now().timestamp_millis() - passed_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_hybrid_clock_do_not_decrease_and_stay_near_the_time() {
        let clock = Clock::steered(Utc::now());
        let (here, there) = (
            HybridClock::new(clock.clone()),
            HybridClock::new(clock.clone()),
        );
        let mut latest_ms = i64::MIN;
        for step_ms in [0, 10, -5_000, 3, -50_000, 1, 70_000, -30_000, 0] {
            clock.jump_ms(step_ms);
            for hybrid in [&here, &there] {
                let next_ms = hybrid.now_after(latest_ms).timestamp_millis();
                assert!(next_ms >= latest_ms, "after a step of {step_ms} ms");
                latest_ms = next_ms;
            }
        }
        clock.jump_ms(-86_400_000);
        assert_eq!(here.now_after(latest_ms), clock.now());
        clock.jump_ms(2 * 86_400_000);
        assert_eq!(here.now_after(latest_ms), clock.now());
    }

    #[test]
    fn a_jump_is_noticed_once_and_passing_time_is_none() {
        let clock = Clock::steered(Utc::now());
        let mut jumps = ClockJumps::watch(clock.clone());
        clock.advance_ms(86_400_000);
        assert_eq!(jumps.since_last(), None);
        clock.jump_ms(-86_400_000);
        assert_eq!(jumps.since_last(), Some(-86_400_000));
        assert_eq!(jumps.since_last(), None);
        clock.jump_ms(500);
        assert_eq!(jumps.since_last(), None);
        assert_eq!(clock.monotonic(), {
            clock.jump_ms(3_600_000);
            clock.monotonic()
        });
    }
}
