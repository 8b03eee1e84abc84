//! Who waits for which job: one call each. A job that nobody waits for is taken over by the next call that asks for it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::jobs::Ended;

/// Calls that wait in this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Waiting(Arc<Mutex<HashMap<Uuid, oneshot::Sender<Ended>>>>);

/// A call's place; given up when dropped.
#[derive(Debug)]
pub struct Place {
    waiting: Waiting,
    job: Uuid,
    told: oneshot::Receiver<Ended>,
}

impl Waiting {
    /// Takes the place at a job; `None` when another call has it.
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

    /// Tells the call that waits for a job how it ended.
    pub fn tell(&self, job: Uuid, ended: Ended) {
        if let Some(tell) = self.0.lock().remove(&job) {
            // Whoever went away is not told.
            let _ = tell.send(ended);
        }
    }
}

impl Place {
    /// The job.
    pub fn job(&self) -> Uuid {
        self.job
    }

    /// How the job ended, once it has; `None` when nobody will tell.
    pub async fn told(&mut self) -> Option<Ended> {
        (&mut self.told).await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.0.lock().remove(&self.job);
    }
}
