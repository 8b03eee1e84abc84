//! Connects jobs with the calls that wait for them, at most one per job. A job without a waiting call is taken over by
//! the next call for its URL.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::jobs::JobOutcome;

/// A job that waits for its next attempt after a failed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Postponed {
    /// When the next attempt is due.
    pub until: Instant,
    /// Whether not even a connection to the portal could be made.
    pub is_unreachable: bool,
}

/// The notification for the call that waits for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobNews {
    /// It ended.
    Ended(JobOutcome),
    /// It will be tried again.
    Postponed(Postponed),
}

/// The waiting calls of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct JobWaiters(Arc<Mutex<HashMap<Uuid, watch::Sender<Option<JobNews>>>>>);

/// The slot of a waiting call; released when dropped.
#[derive(Debug)]
pub struct WaiterSlot {
    waiting: JobWaiters,
    job: Uuid,
    news: watch::Receiver<Option<JobNews>>,
}

impl JobWaiters {
    /// Takes the slot of a job; `None` if another call has it.
    pub fn take(&self, job: Uuid) -> Option<WaiterSlot> {
        let mut places = self.0.lock();
        if places.contains_key(&job) {
            return None;
        }
        let (sender, news) = watch::channel(None);
        places.insert(job, sender);
        Some(WaiterSlot {
            waiting: self.clone(),
            job,
            news,
        })
    }

    /// Sends the outcome of a job to the call that waits for it.
    pub fn ended(&self, job: Uuid, outcome: JobOutcome) {
        if let Some(sender) = self.0.lock().remove(&job) {
            sender.send_replace(Some(JobNews::Ended(outcome)));
        }
    }

    /// Sends the time of the next attempt at a job to the call that waits for it.
    pub fn postponed(&self, job: Uuid, postponed: Postponed) {
        if let Some(sender) = self.0.lock().get(&job) {
            sender.send_replace(Some(JobNews::Postponed(postponed)));
        }
    }
}

impl WaiterSlot {
    /// Returns the identifier of the job.
    pub fn job(&self) -> Uuid {
        self.job
    }

    /// Waits for the next message about the job; `None` if there will be none.
    pub async fn news(&mut self) -> Option<JobNews> {
        self.news.changed().await.ok()?;
        self.news.borrow_and_update().clone()
    }
}

impl Drop for WaiterSlot {
    fn drop(&mut self) {
        self.waiting.0.lock().remove(&self.job);
    }
}
