//! The circuit breaker of the upstream service, so that callers do not wait for a dead service.
//!
//! After [`FAILURES_TO_OPEN`] consecutive failures it opens: no request is sent for a pause. Then one request probes
//! the service (half-open); its success closes the breaker, its failure doubles the pause. A `Retry-After` from the
//! service opens it immediately for the time demanded. It does no I/O and reads no clock: callers pass the time.

use std::time::Duration;

/// Consecutive failures that open the breaker.
pub const FAILURES_TO_OPEN: u32 = 5;
/// First pause of an open breaker; it doubles with each failed probe.
pub const PAUSE_FIRST: Duration = Duration::from_secs(5);
/// Maximum pause of an open breaker.
pub const PAUSE_MAX: Duration = Duration::from_secs(300);
/// Maximum `Retry-After` honoured.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

toise_base::named! {
    /// State of a breaker.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BreakerState {
        /// Admits all requests.
        Closed = "closed",
        /// Admits no request until its pause is over.
        Open = "open",
        /// Its pause is over: admits one request, as a probe.
        HalfOpen = "half_open",
    }
}

/// The kind of admission of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A request while the breaker is closed.
    Usual,
    /// The request that tests whether the service is back.
    Probe,
}

/// The breaker. Times are from a monotonic clock.
#[derive(Debug)]
pub struct Breaker {
    failures_in_a_row: u32,
    /// End of the pause; `None` while closed.
    open_until: Option<Duration>,
    pause: Duration,
    is_probing: bool,
    /// How often it opened, including after failed probes.
    opened: u64,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            failures_in_a_row: 0,
            open_until: None,
            pause: PAUSE_FIRST,
            is_probing: false,
            opened: 0,
        }
    }
}

impl Breaker {
    /// Returns its state.
    pub fn state(&self, now: Duration) -> BreakerState {
        match self.open_until {
            None => BreakerState::Closed,
            Some(until) if now < until => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// Returns how often it opened.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Checks whether a request may be sent now. Changes nothing.
    ///
    /// # Errors
    /// The time after which one may be sent.
    pub fn check(&self, now: Duration) -> Result<(), Duration> {
        match self.open_until {
            Some(until) if now < until => Err(until - now),
            Some(_) if self.is_probing => Err(PAUSE_FIRST),
            _ => Ok(()),
        }
    }

    /// Admits a request; each must end in [`Self::succeeded`], [`Self::failed`] or [`Self::abandoned`].
    ///
    /// # Errors
    /// Same as [`Self::check`].
    pub fn admit(&mut self, now: Duration) -> Result<Admission, Duration> {
        self.check(now)?;
        self.is_probing = self.open_until.is_some();
        Ok(if self.is_probing {
            Admission::Probe
        } else {
            Admission::Usual
        })
    }

    /// Records that a request was answered. The answer to a request that was in flight when the breaker opened does not
    /// end the pause.
    pub fn succeeded(&mut self, now: Duration) {
        if self.state(now) != BreakerState::Open {
            *self = Self {
                opened: self.opened,
                ..Self::default()
            };
        }
    }

    /// Records that a request failed; `retry_after` is the wait that the service demands.
    pub fn failed(&mut self, now: Duration, admission: Admission, retry_after: Option<Duration>) {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let was_probe = admission == Admission::Probe;
        self.abandoned(admission);
        let demanded = retry_after.map(|wait| wait.min(RETRY_AFTER_MAX));
        if was_probe {
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        // Requests that were in flight when it opened fail later; they do not make the pause longer.
        let is_due =
            was_probe || (self.open_until.is_none() && self.failures_in_a_row >= FAILURES_TO_OPEN);
        let pause = match (is_due, demanded) {
            (true, Some(demanded)) => demanded.max(self.pause),
            (true, None) => self.pause,
            (false, Some(demanded)) => demanded,
            (false, None) => return,
        };
        let until = now.saturating_add(pause);
        if self.state(now) != BreakerState::Open {
            self.opened += 1;
        }
        self.open_until = Some(self.open_until.map_or(until, |before| before.max(until)));
    }

    /// Records that a request was given up before its outcome was known; another may probe.
    pub fn abandoned(&mut self, admission: Admission) {
        if admission == Admission::Probe {
            self.is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_TO_OPEN {
            let admission = breaker.admit(NOW).unwrap();
            breaker.failed(NOW, admission, None);
        }
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_a_success_among_them_does_not() {
        let mut breaker = Breaker::default();
        for _ in 1..FAILURES_TO_OPEN {
            breaker.failed(NOW, Admission::Usual, None);
        }
        breaker.succeeded(NOW);
        breaker.failed(NOW, Admission::Usual, None);
        assert_eq!(breaker.state(NOW), BreakerState::Closed);
        let breaker = opened();
        assert_eq!(breaker.state(NOW), BreakerState::Open);
        assert_eq!(breaker.check(NOW), Err(PAUSE_FIRST));
        assert_eq!(breaker.opened(), 1);
    }

    #[test]
    fn after_the_pause_one_probe_decides() {
        let mut breaker = opened();
        let later = NOW + PAUSE_FIRST;
        assert_eq!(breaker.state(later), BreakerState::HalfOpen);
        let probe = breaker.admit(later).unwrap();
        assert!(breaker.admit(later).is_err(), "one probe at a time");
        breaker.failed(later, probe, None);
        assert_eq!(breaker.check(later), Err(PAUSE_FIRST * 2));
        let later = later + PAUSE_FIRST * 2;
        breaker.admit(later).unwrap();
        breaker.succeeded(later);
        assert_eq!(breaker.state(later), BreakerState::Closed);
        assert_eq!(breaker.opened(), 2);
    }

    #[test]
    fn a_probe_that_is_given_up_lets_another_go() {
        let mut breaker = opened();
        let later = NOW + PAUSE_FIRST;
        let probe = breaker.admit(later).unwrap();
        breaker.abandoned(Admission::Usual);
        assert!(breaker.admit(later).is_err());
        breaker.abandoned(probe);
        assert_eq!(breaker.admit(later), Ok(Admission::Probe));
    }

    #[test]
    fn the_service_says_how_long_it_wants_to_be_left_alone() {
        let mut breaker = Breaker::default();
        let wait = Duration::from_secs(40);
        breaker.failed(NOW, Admission::Usual, Some(wait));
        assert_eq!(breaker.check(NOW), Err(wait));
        // A request that was in flight does not shorten the wait, whether it succeeds or demands a shorter one.
        breaker.succeeded(NOW);
        breaker.failed(NOW, Admission::Usual, Some(Duration::from_secs(1)));
        assert_eq!(breaker.check(NOW), Err(wait));
        let mut breaker = Breaker::default();
        breaker.failed(NOW, Admission::Usual, Some(Duration::MAX));
        assert_eq!(breaker.check(NOW), Err(RETRY_AFTER_MAX));
    }
}
