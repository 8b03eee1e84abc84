//! Watches something that other processes change: a supervised thread that looks again and again until it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::supervise::{Supervisor, Worker};

/// Interval between looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Longest wait at the end for a look that is under way.
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
/// The system gives no thread.
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
            // Parked rather than asleep: stopping does not wait.
            pulse.park_within(LOOK_EVERY);
            look();
        }
    })?;
    Ok(Watcher { worker, stop })
}
