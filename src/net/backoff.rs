//! The retry policy: the client's limits, and the wait before the next attempt. The wait is the one that the server
//! demands, or otherwise an exponential backoff with jitter.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Limits and waits of the client.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Maximum consecutive attempts without a byte of progress.
    pub attempts_max: u32,
    /// First wait after a failure; it doubles each time, with jitter.
    pub backoff_first: Duration,
    /// Maximum wait after a failure.
    pub backoff_max: Duration,
    /// Maximum `Retry-After` honoured.
    pub retry_after_max: Duration,
    /// Maximum time to connect.
    pub connect_timeout: Duration,
    /// Maximum pause between two reads of a response.
    pub read_timeout: Duration,
    /// Maximum bytes received per second, on average over a response; `None` for as fast as possible.
    pub bytes_per_s_max: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 6,
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(60),
            bytes_per_s_max: None,
        }
    }
}

/// Slows the reading of one response down to the maximum rate of a policy.
#[derive(Debug)]
pub(super) struct ReadThrottle {
    started: Instant,
    bytes_per_s_max: Option<u64>,
    received: u64,
}

impl ReadThrottle {
    pub(super) fn new(policy: &RetryPolicy) -> Self {
        Self {
            started: Instant::now(),
            bytes_per_s_max: policy.bytes_per_s_max,
            received: 0,
        }
    }

    /// Counts received bytes, and waits until that many may have been received at the maximum rate.
    pub(super) async fn wait_for(&mut self, bytes: usize) {
        self.received += bytes as u64;
        let Some(rate) = self.bytes_per_s_max.filter(|rate| *rate > 0) else {
            return;
        };
        let due = Duration::from_secs_f64(self.received as f64 / rate as f64);
        tokio::time::sleep(due.saturating_sub(self.started.elapsed())).await;
    }
}

/// Returns the wait after a number of failed attempts: it doubles with each attempt up to the maximum of the policy,
/// times a random factor from 0.5 to 1.
pub(super) fn backoff(policy: &RetryPolicy, attempts: u32) -> Duration {
    let doubled = policy
        .backoff_first
        .saturating_mul(2u32.saturating_pow(attempts.saturating_sub(1)));
    doubled
        .min(policy.backoff_max)
        .mul_f64(rand::random_range(0.5..=1.0))
}

/// Returns the wait that `Retry-After` demands from `now` on, given in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTime::<Utc>::from(httpdate::parse_http_date(value).ok()?);
    Some((date - now).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_stay_bounded() {
        let policy = RetryPolicy::default();
        assert!(backoff(&policy, 1) <= policy.backoff_first);
        assert!(backoff(&policy, 3) >= policy.backoff_first * 2);
        assert!(backoff(&policy, 60) <= policy.backoff_max);
    }

    #[test]
    fn retry_after_is_read_in_seconds_or_as_a_date() {
        let asked = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            retry_after(&headers, "2015-10-21T07:27:30Z".parse().unwrap())
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        let date = asked("Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(date, Some(Duration::from_secs(30)));
        assert_eq!(asked("Wed, 21 Oct 2015 07:27:00 GMT"), Some(Duration::ZERO));
        // The two obsolete forms that recipients must accept (RFC 9110, section 5.6.7).
        assert_eq!(asked("Wednesday, 21-Oct-15 07:28:00 GMT"), date);
        assert_eq!(asked("Wed Oct 21 07:28:00 2015"), date);
        assert_eq!(asked("soon"), None);
    }
}
