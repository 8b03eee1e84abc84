//! An internal failure, as it is logged: its causes, and the backtrace of where it was reported.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::error::Error;
use std::fmt;

/// A failure of the service that no request caused.
#[derive(Debug)]
pub struct Failure {
    cause: Box<dyn Error + Send + Sync>,
    backtrace: Backtrace,
}

impl Failure {
    /// Wraps an error, and captures a backtrace if the environment asks for it (`RUST_BACKTRACE=1`).
    pub(super) fn new(cause: Box<dyn Error + Send + Sync>) -> Self {
        Self {
            cause,
            backtrace: Backtrace::capture(),
        }
    }

    /// Returns the backtrace for the log, if one was captured.
    pub fn backtrace(&self) -> Option<impl tracing::Value> {
        let is_captured = self.backtrace.status() == BacktraceStatus::Captured;
        is_captured.then(|| tracing::field::display(&self.backtrace))
    }
}

/// Writes the error and its causes; skips a cause that the preceding text already contains.
impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.cause.to_string();
        let mut cause = self.cause.source();
        while let Some(here) = cause {
            let here_text = here.to_string();
            if !text.contains(&here_text) {
                text = format!("{text}: {here_text}");
            }
            cause = here.source();
        }
        out.write_str(&text)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the table")]
    struct Unreadable(#[source] std::io::Error);

    #[test]
    fn a_failure_names_its_causes_once() {
        let cause = Unreadable(std::io::Error::other("the disk is gone"));
        let failure = Failure::new(Box::new(cause));
        assert_eq!(
            failure.to_string(),
            "cannot read the table: the disk is gone"
        );
        let cause = std::io::Error::other(std::io::Error::other("the disk is gone"));
        assert_eq!(
            Failure::new(Box::new(cause)).to_string(),
            "the disk is gone"
        );
    }
}
