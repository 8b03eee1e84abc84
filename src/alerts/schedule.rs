//! The backoff schedule of failed deliveries.

use std::time::Duration;

/// Wait before each further attempt, in seconds; after the last attempt a delivery is dead.
const WAITS_S: [u64; 8] = [5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000];
/// Jitter as a share of the wait, so that deliveries that failed together are not retried together.
pub const JITTER: f64 = 0.2;
/// Maximum wait that a receiver can ask for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// Returns the maximum wait before an attempt, jitter included, in milliseconds.
pub fn wait_max_ms() -> i64 {
    let longest_s = WAITS_S.iter().max().copied().unwrap_or_default();
    (longest_s as f64 * 1_000.0 * (1.0 + JITTER)) as i64
}

/// Returns the wait after a number of failed attempts, from 1; `None` after the last one.
///
/// `asked` is the wait that the receiver asks for; at most [`RETRY_AFTER_MAX`] counts. The result is never shorter than
/// that, regardless of jitter. `draw` is a random number between 0 and 1.
pub fn wait(failed_attempts: u32, asked: Option<Duration>, draw: f64) -> Option<Duration> {
    let index = usize::try_from(failed_attempts).ok()?.checked_sub(1)?;
    let scheduled = Duration::from_secs(*WAITS_S.get(index)?);
    let jittered = scheduled.mul_f64(1.0 - JITTER + 2.0 * JITTER * draw);
    let asked = asked.unwrap_or_default().min(RETRY_AFTER_MAX);
    Some(jittered.max(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTEMPTS_MAX: u32 = WAITS_S.len() as u32 + 1;

    fn seconds(failed: u32, asked_s: Option<u64>, draw: f64) -> Option<f64> {
        wait(failed, asked_s.map(Duration::from_secs), draw).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn eight_waits_follow_the_contract_within_the_jitter_and_then_end() {
        let waits: Vec<f64> = (1..ATTEMPTS_MAX)
            .map(|failed| seconds(failed, None, 0.5).unwrap())
            .collect();
        assert_eq!(
            waits,
            [
                5.0, 30.0, 120.0, 600.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0
            ]
        );
        assert_eq!(
            (seconds(1, None, 0.0), seconds(1, None, 1.0)),
            (Some(4.0), Some(6.0))
        );
        assert_eq!(seconds(ATTEMPTS_MAX, None, 0.5), None);
        assert_eq!(seconds(0, None, 0.5), None);
    }

    #[test]
    fn a_receiver_can_ask_for_a_wait_of_up_to_an_hour() {
        assert_eq!(seconds(1, Some(77), 0.0), Some(77.0));
        assert_eq!(seconds(1, Some(1), 0.5), Some(5.0));
        assert_eq!(seconds(1, Some(u64::MAX), 0.0), Some(3_600.0));
        assert_eq!(seconds(8, Some(60), 0.5), Some(36_000.0));
        assert_eq!(seconds(ATTEMPTS_MAX, Some(60), 0.5), None);
    }
}
