//! The only source of time. Production code takes a [`Clock`]; tests pass a fixed or steerable one.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

static PROCESS_START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A clock: the system's, or one that a test steers.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Milliseconds since the Unix epoch; `None` reads the system clock.
    steered_ms: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The system clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stays at `start` until [`Clock::advance_ms`] moves it.
    pub fn steered(start: DateTime<Utc>) -> Self {
        Self {
            steered_ms: Some(Arc::new(AtomicI64::new(start.timestamp_millis()))),
        }
    }

    /// Moves a steered clock forward; has no effect on a system clock.
    pub fn advance_ms(&self, milliseconds: i64) {
        if let Some(now) = &self.steered_ms {
            now.fetch_add(milliseconds, Ordering::SeqCst);
        }
    }

    /// The current time, UTC.
    pub fn now(&self) -> DateTime<Utc> {
        match &self.steered_ms {
            Some(now) => {
                DateTime::from_timestamp_millis(now.load(Ordering::SeqCst)).unwrap_or_default()
            }
            None => Utc::now(),
        }
    }

    /// Time since a fixed moment, for measuring durations. It never decreases, even if the system time is changed. A
    /// steered clock moves it too.
    pub fn monotonic(&self) -> Duration {
        match &self.steered_ms {
            Some(now) => {
                Duration::from_millis(now.load(Ordering::SeqCst).try_into().unwrap_or_default())
            }
            None => PROCESS_START.elapsed(),
        }
    }
}
