//! Repeats failed requests that may succeed later, with growing waits and jitter.
//!
//! The object stores' own clients do not retry here, so that one place decides how often, and tests can set the waits.

use std::future::Future;
use std::time::Duration;

use object_store::Error as RemoteError;

use super::{Error, Result};

/// How often a request is repeated, and how long it may take.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Maximum attempts.
    pub attempts_max: u32,
    /// First wait after a failure; it doubles each time, with jitter.
    pub backoff_first: Duration,
    /// Maximum wait after a failure.
    pub backoff_max: Duration,
    /// Maximum wait for an answer, or between two pieces of one.
    pub answer_timeout: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 8,
            backoff_first: Duration::from_millis(200),
            backoff_max: Duration::from_secs(20),
            answer_timeout: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns the wait after a number of failed attempts: it doubles up to the maximum, times a random factor from 0.5
    /// to 1.
    pub fn backoff(&self, attempts: u32) -> Duration {
        let doublings = 2u32.saturating_pow(attempts.saturating_sub(1));
        let wait = self.backoff_first.saturating_mul(doublings);
        wait.min(self.backoff_max)
            .mul_f64(rand::random_range(0.5..=1.0))
    }

    /// Runs a request until it succeeds, fails permanently, or reaches the maximum number of attempts.
    ///
    /// # Errors
    /// The last error.
    pub async fn run<T, F>(&self, path: &str, mut request: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, RemoteError>>,
    {
        let mut attempts = 1;
        loop {
            let error = match tokio::time::timeout(self.answer_timeout, request()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(source)) if is_final(&source) => return Err(remote(path, source)),
                Ok(Err(source)) => remote(path, source),
                Err(_elapsed) => self.timed_out(path),
            };
            if attempts >= self.attempts_max {
                return Err(error);
            }
            tracing::debug!(%error, attempts, "retrying a request to the object store");
            tokio::time::sleep(self.backoff(attempts)).await;
            attempts += 1;
        }
    }

    /// Creates the error for a request without an answer.
    pub(crate) fn timed_out(&self, path: &str) -> Error {
        Error::TimedOut {
            path: path.to_owned(),
            seconds: self.answer_timeout.as_secs(),
        }
    }
}

/// Creates the error for an error of the object store at a path.
pub(crate) fn remote(path: &str, source: RemoteError) -> Error {
    Error::Remote {
        path: path.to_owned(),
        source,
    }
}

/// Returns whether a request with this error would fail again.
pub(crate) fn is_final(error: &RemoteError) -> bool {
    matches!(
        error,
        RemoteError::NotFound { .. }
            | RemoteError::InvalidPath { .. }
            | RemoteError::NotSupported { .. }
            | RemoteError::AlreadyExists { .. }
            | RemoteError::Precondition { .. }
            | RemoteError::NotModified { .. }
            | RemoteError::NotImplemented { .. }
            | RemoteError::PermissionDenied { .. }
            | RemoteError::Unauthenticated { .. }
            | RemoteError::UnknownConfigurationKey { .. }
    )
}
