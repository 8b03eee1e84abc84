//! Calls that wait for jobs, at most one per job. A job without a waiting call is taken over by the next call for its
//! URL.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::jobs::Ended;

/// The waiting calls of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Waiting(Arc<Mutex<HashMap<Uuid, oneshot::Sender<Ended>>>>);

/// The place of a waiting call; released when dropped.
#[derive(Debug)]
pub struct Place {
    waiting: Waiting,
    job: Uuid,
    told: oneshot::Receiver<Ended>,
}

impl Waiting {
    /// Takes the place at a job; `None` if another call has it.
    pub fn take(&self, job: Uuid) -> Option<Place> {
        let mut places = self.0.lock();
        if places.contains_key(&job) {
            return None;
        }
        let (tell, told) = oneshot::channel();
        places.insert(job, tell);
        Some(Place {
            waiting: self.clone(),
            job,
            told,
        })
    }

    /// Sends the outcome of a job to the call that waits for it.
    pub fn tell(&self, job: Uuid, ended: Ended) {
        if let Some(tell) = self.0.lock().remove(&job) {
            // Whoever went away is not told.
            let _ = tell.send(ended);
        }
    }
}

impl Place {
    /// Identifier of the job.
    pub fn job(&self) -> Uuid {
        self.job
    }

    /// Waits for the end of the job; `None` if it will not be reported.
    pub async fn told(&mut self) -> Option<Ended> {
        (&mut self.told).await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.0.lock().remove(&self.job);
    }
}
