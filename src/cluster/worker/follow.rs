//! Switches the worker of a replica to each publication of its writer. All tables change in one step, and work that
//! began on the former snapshot finishes on it.

use std::sync::Arc;

use super::Held;
use toise_publish::follow::{Failure, User};
use toise_publish::manifest::Manifest;
use toise_publish::replica::Replica;

/// The data of a worker that follows publications.
pub struct HeldReplica {
    held: Arc<Held>,
    number: Option<u64>,
}

impl HeldReplica {
    /// Creates it; from then on, tables change only with publications.
    pub fn new(held: Arc<Held>, replica: &Replica) -> Self {
        held.engine().hold();
        let number = replica.installed().map(|manifest| manifest.number);
        Self { held, number }
    }
}

impl User for HeldReplica {
    fn uses(&self, installed: &Manifest) -> bool {
        self.number == Some(installed.number)
    }

    fn switch_to(&mut self, installed: &Manifest) -> Result<(), Failure> {
        self.held.engine().switch()?;
        self.number = Some(installed.number);
        Ok(())
    }
}
