//! The error for a call that a limit rejects.

use std::time::Duration;

/// A rejected call, with the time to wait before retrying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Seconds to wait, at least 1.
    pub retry_after_s: u64,
}

impl From<Duration> for LimitExceeded {
    /// Converts the time to wait to whole seconds, rounded up.
    fn from(wait: Duration) -> Self {
        Self {
            retry_after_s: wait.as_secs_f64().ceil().max(1.0) as u64,
        }
    }
}
