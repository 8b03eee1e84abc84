//! Calls that wait for jobs, at most one per job. A job without a waiting call is taken over by the next call for its
//! URL.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::jobs::JobOutcome;

/// The waiting calls of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct JobWaiters(Arc<Mutex<HashMap<Uuid, oneshot::Sender<JobOutcome>>>>);

/// The place of a waiting call; released when dropped.
#[derive(Debug)]
pub struct WaiterSlot {
    waiting: JobWaiters,
    job: Uuid,
    outcome: oneshot::Receiver<JobOutcome>,
}

impl JobWaiters {
    /// Takes the place at a job; `None` if another call has it.
    pub fn take(&self, job: Uuid) -> Option<WaiterSlot> {
        let mut places = self.0.lock();
        if places.contains_key(&job) {
            return None;
        }
        let (notify, outcome) = oneshot::channel();
        places.insert(job, notify);
        Some(WaiterSlot {
            waiting: self.clone(),
            job,
            outcome,
        })
    }

    /// Sends the outcome of a job to the call that waits for it.
    pub fn notify(&self, job: Uuid, ended: JobOutcome) {
        if let Some(notify) = self.0.lock().remove(&job) {
            // Whoever went away is not told.
            let _ = notify.send(ended);
        }
    }
}

impl WaiterSlot {
    /// Identifier of the job.
    pub fn job(&self) -> Uuid {
        self.job
    }

    /// Waits for the end of the job; `None` if it will not be reported.
    pub async fn outcome(&mut self) -> Option<JobOutcome> {
        (&mut self.outcome).await.ok()
    }
}

impl Drop for WaiterSlot {
    fn drop(&mut self) {
        self.waiting.0.lock().remove(&self.job);
    }
}
