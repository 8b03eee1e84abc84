//! The error for a call that a limit rejects.

/// A rejected call, with the time to wait before retrying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Seconds to wait, at least 1.
    pub retry_after_s: u64,
}
