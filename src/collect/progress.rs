//! Reads the progress of a job from the store, for the call that waits for it.

use std::time::Duration;

use uuid::Uuid;

use super::jobs::{self, JobOutcome};
use super::work::wait_until;
use toise_base::clock::Clock;
use toise_store::Store;

/// Progress of a job.
pub(crate) enum JobProgress {
    /// It has ended.
    Ended(JobOutcome),
    /// Its next attempt is due after a wait.
    Waits {
        wait: Duration,
        /// Whether the last attempt could not even connect to the portal.
        is_unreachable: bool,
    },
    /// An attempt is running or due.
    Runs,
}

/// Returns the progress of a job, whichever process runs it. Blocks.
///
/// # Errors
/// The store fails.
pub(crate) fn of(store: &Store, clock: &Clock, job: Uuid) -> toise_store::Result<JobProgress> {
    let now_ms = clock.now().timestamp_millis();
    let (ended, next) = store.read(|connection| {
        let ended = jobs::find_outcome(connection, job)?;
        Ok((ended, jobs::next_attempt(connection, job, now_ms)?))
    })?;
    if let Some(ended) = ended {
        return Ok(JobProgress::Ended(ended));
    }
    let next = next.and_then(|(due_at_ms, is_unreachable)| {
        let wait = wait_until(due_at_ms, now_ms);
        (!wait.is_zero()).then_some(JobProgress::Waits {
            wait,
            is_unreachable,
        })
    });
    Ok(next.unwrap_or(JobProgress::Runs))
}
