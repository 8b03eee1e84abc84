//! A supervised thread that polls something that other processes change, until it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::supervise::{Supervisor, Worker};

/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum wait, on drop, for a running call of `look`.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Handle of a watching thread; dropping it stops the thread.
#[derive(Debug)]
pub struct Watcher {
    worker: Worker,
    stop: Arc<AtomicBool>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.worker.release();
        self.stop.store(true, Ordering::Relaxed);
        self.worker.unpark();
        self.worker.join_within(STOP_TIMEOUT);
    }
}

/// Starts a thread that calls `look` every second, until the returned handle is dropped.
///
/// # Errors
/// The system cannot start a thread.
pub fn watch(
    supervisor: &Supervisor,
    name: &'static str,
    mut look: impl FnMut() + Send + 'static,
) -> std::io::Result<Watcher> {
    let stop = Arc::<AtomicBool>::default();
    let stopped = Arc::clone(&stop);
    let worker = supervisor.spawn(name, move |pulse| {
        while !stopped.load(Ordering::Relaxed) {
            pulse.turn();
            // Parked rather than asleep, so that stopping does not wait for the interval.
            pulse.park_within(LOOK_EVERY);
            look();
        }
    })?;
    Ok(Watcher { worker, stop })
}
