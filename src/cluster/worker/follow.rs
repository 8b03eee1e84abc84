//! Switches the worker of a replica to each publication of its writer. All tables change in one step, and work that
//! began on the former snapshot finishes on it.

use std::sync::Arc;

use super::WorkerData;
use toise_publish::follow::{Failure, ReplicaUser};
use toise_publish::manifest::Manifest;
use toise_publish::replica::Replica;

/// The data of a worker that follows publications.
pub struct WorkerReplica {
    worker_data: Arc<WorkerData>,
    number: Option<u64>,
}

impl WorkerReplica {
    /// Creates it; from then on, tables change only with publications.
    pub fn new(worker_data: Arc<WorkerData>, replica: &Replica) -> Self {
        worker_data.engine().freeze_views();
        let number = replica.installed().map(|manifest| manifest.number);
        Self {
            worker_data,
            number,
        }
    }
}

impl ReplicaUser for WorkerReplica {
    fn uses(&self, installed: &Manifest) -> bool {
        self.number == Some(installed.number)
    }

    fn switch_to(&mut self, installed: &Manifest) -> Result<(), Failure> {
        self.worker_data.engine().switch()?;
        self.number = Some(installed.number);
        Ok(())
    }
}
