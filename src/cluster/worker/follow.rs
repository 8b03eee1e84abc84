//! The worker of a replica goes over to each publication of its writer: all tables change in one step, and work that began
//! with the former snapshot ends with it.

use std::sync::Arc;

use super::Held;
use toise_publish::follow::{Failure, User};
use toise_publish::manifest::Manifest;
use toise_publish::replica::Replica;

/// What a worker holds of the publications it follows.
pub struct HeldReplica {
    held: Arc<Held>,
    number: Option<u64>,
}

impl HeldReplica {
    /// From now on, tables change with publications alone.
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

    fn go_over(&mut self, installed: &Manifest) -> Result<(), Failure> {
        self.held.engine().switch()?;
        self.number = Some(installed.number);
        Ok(())
    }
}
