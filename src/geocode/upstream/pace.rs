//! Limits the rate of requests to the upstream service: evenly spaced, up to a maximum per second.
//!
//! Each request takes the next free time slot. A request that would wait longer than its caller accepts takes no slot,
//! so the queue in front of the service stays short. This reads no clock: callers pass the time.

use std::time::Duration;

/// The time slots that requests take.
#[derive(Debug)]
pub struct RequestSlots {
    interval: Duration,
    next: Duration,
}

impl RequestSlots {
    /// Creates a limit of `rate_per_s` requests per second, at least 1.
    pub fn new(rate_per_s: u64) -> Self {
        Self {
            interval: Duration::from_secs(1).div_f64(rate_per_s.max(1) as f64),
            next: Duration::ZERO,
        }
    }

    /// Takes the next slot and returns the wait for it.
    ///
    /// # Errors
    /// The wait, if it is longer than `wait_max`; no slot is taken.
    pub fn reserve(&mut self, now: Duration, wait_max: Duration) -> Result<Duration, Duration> {
        let place = self.next.max(now);
        let wait = place - now;
        if wait > wait_max {
            return Err(wait);
        }
        self.next = place + self.interval;
        Ok(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spaced_and_a_long_line_is_refused() {
        let mut pace = RequestSlots::new(10);
        let now = Duration::from_secs(5);
        let ms = Duration::from_millis;
        let mut ask = |now| pace.reserve(now, ms(250));
        assert_eq!(ask(now), Ok(ms(0)));
        assert_eq!(ask(now), Ok(ms(100)));
        assert_eq!(ask(now), Ok(ms(200)));
        assert_eq!(ask(now), Err(ms(300)));
        assert_eq!(ask(now + ms(250)), Ok(ms(50)));
        // Unused slots are not saved up.
        let later = Duration::from_secs(60);
        assert_eq!((ask(later), ask(later)), (Ok(ms(0)), Ok(ms(100))));
    }
}
