//! The clock by which stored responses expire: the system time minus its recent jumps forward.
//!
//! A clock that is set forward by mistake must not expire everything at once. A jump forward therefore only counts
//! after a whole lifetime. By then, everything stored before the jump has truly expired, and everything stored later
//! was dated by the new time. A clock that is set back only makes stored responses live longer.

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use std::time::Duration;

use toise_base::clock::{Clock, ClockJumps};

/// A clock that ignores recent jumps forward.
#[derive(Debug)]
pub struct ExpiryClock {
    clock: Clock,
    /// Lifetime of a stored response.
    lifetime: TimeDelta,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    jumps: ClockJumps,
    /// Sum of the jumps forward that do not count yet, milliseconds.
    ahead_ms: i64,
    /// Monotonic time of the last jump.
    since: Duration,
}

impl ExpiryClock {
    /// Starts to watch a clock.
    pub fn new(clock: Clock, lifetime: TimeDelta) -> Self {
        let state = State {
            jumps: ClockJumps::watch(clock.clone()),
            ahead_ms: 0,
            since: clock.monotonic(),
        };
        Self {
            clock,
            lifetime,
            state: Mutex::new(state),
        }
    }

    /// Returns the time for expiry; never later than the system time.
    pub fn now(&self) -> DateTime<Utc> {
        let mut state = self.state.lock();
        let passed = self.clock.monotonic();
        if let Some(jump_ms) = state.jumps.since_last() {
            state.ahead_ms = state.ahead_ms.saturating_add(jump_ms).max(0);
            state.since = passed;
        }
        let lasts = TimeDelta::from_std(passed.saturating_sub(state.since)).unwrap_or_default();
        if lasts >= self.lifetime {
            state.ahead_ms = 0;
        }
        self.clock.now() - TimeDelta::milliseconds(state.ahead_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    #[test]
    fn a_jump_forward_counts_once_everything_stored_before_it_has_expired() {
        let start = Utc::now();
        let clock = Clock::steered(start);
        let expiry = ExpiryClock::new(clock.clone(), TimeDelta::hours(24));
        let hours = || (expiry.now() - clock.now()).num_hours();
        clock.advance_ms(HOUR_MS);
        assert_eq!(hours(), 0);
        clock.jump_ms(24 * HOUR_MS);
        assert_eq!(hours(), -24);
        clock.advance_ms(23 * HOUR_MS);
        assert_eq!(hours(), -24);
        clock.advance_ms(HOUR_MS);
        assert_eq!(hours(), 0);
    }

    #[test]
    fn a_glitch_that_is_corrected_leaves_nothing_behind_and_a_jump_back_is_taken_as_it_is() {
        let clock = Clock::steered(Utc::now());
        let expiry = ExpiryClock::new(clock.clone(), TimeDelta::hours(24));
        let hours = || (expiry.now() - clock.now()).num_hours();
        clock.jump_ms(30 * HOUR_MS);
        assert_eq!(hours(), -30);
        clock.jump_ms(-30 * HOUR_MS);
        assert_eq!(hours(), 0);
        clock.jump_ms(-5 * HOUR_MS);
        assert_eq!(hours(), 0);
        clock.jump_ms(5 * HOUR_MS);
        assert_eq!(hours(), -5);
    }
}
