//! Determines whether the service accepts requests, from its phase, its workers and its obstacles.
//!
//! A check takes an uncontended lock and reads the state of about twenty workers.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

use toise_base::supervise::Supervisor;

/// The readiness of the service, as reported by `/healthz`. Its first phase is starting. A service with a dead worker
/// is never ready again; one with a hanging worker or an obstacle is not ready while that lasts. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    phase: Arc<AtomicU8>,
    /// Conditions that keep the service from working, such as a full disk.
    obstacle: Arc<Mutex<Option<String>>>,
    /// Names of the open-data tables whose last refresh failed.
    not_refreshed: Arc<Mutex<Option<String>>>,
    supervisor: Supervisor,
}

/// The reason why a service without an obstacle is not ready.
pub(crate) const STARTING_OR_DRAINING: &str = "starting or draining";

const READY: u8 = 1;
const DRAINING: u8 = 2;

impl Readiness {
    /// Returns the readiness of a service with these workers.
    pub fn of(supervisor: &Supervisor) -> Self {
        Self {
            supervisor: supervisor.clone(),
            ..Self::default()
        }
    }

    /// Returns the workers that the service depends on.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Marks the service as accepting requests.
    pub fn set_ready(&self) {
        self.phase.store(READY, Ordering::Release);
        self.supervisor.set_ready();
    }

    /// Marks the service as draining: it finishes running requests and accepts no new ones.
    pub fn set_draining(&self) {
        self.phase.store(DRAINING, Ordering::Release);
    }

    /// Sets what keeps the service from working; `None` removes it.
    pub fn set_obstacle(&self, obstacle: Option<String>) {
        *self.obstacle.lock() = obstacle;
    }

    /// Sets the tables of open data whose last refresh failed, separated by commas; `None` if there are none. They do
    /// not keep the service from being ready.
    pub fn set_not_refreshed(&self, tables: Option<String>) {
        *self.not_refreshed.lock() = tables;
    }

    /// Returns the tables of open data whose last refresh failed.
    pub fn not_refreshed(&self) -> Option<String> {
        self.not_refreshed.lock().clone()
    }

    /// Returns whether the service is neither starting nor draining, all workers are alive, none hangs and nothing
    /// keeps it from working.
    pub fn is_ready(&self) -> bool {
        self.refusal().is_none()
    }

    /// Returns why the service is not ready; `None` if it is.
    pub fn refusal(&self) -> Option<Cow<'static, str>> {
        if self.phase.load(Ordering::Acquire) != READY || !self.supervisor.is_well() {
            return Some(STARTING_OR_DRAINING.into());
        }
        self.obstacle().map(Cow::Owned)
    }

    /// Describes the workers that wait for another process, and for which one; `None` if all workers run here.
    pub fn waits(&self) -> Option<String> {
        let waits = self.supervisor.waits().into_iter();
        let waits: Vec<String> = waits
            .map(|(worker, what)| format!("{worker}: {what}"))
            .collect();
        (!waits.is_empty()).then(|| waits.join("; "))
    }

    /// Returns why a live service is not ready: hung workers, otherwise the reason that was set.
    pub fn obstacle(&self) -> Option<String> {
        let hung = self.supervisor.hung();
        if !hung.is_empty() {
            let names: Vec<&str> = hung.iter().map(|busy| busy.worker.as_str()).collect();
            let names = names.join(", ");
            return Some(format!("workers that hang: {names}"));
        }
        self.obstacle.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_comes_back_when_the_obstacle_is_gone() {
        let readiness = Readiness::default();
        readiness.set_ready();
        readiness.set_obstacle(Some("the disk is full".to_owned()));
        assert!(!readiness.is_ready());
        assert_eq!(readiness.refusal().as_deref(), Some("the disk is full"));
        readiness.set_obstacle(None);
        assert!(readiness.is_ready());
    }
}
