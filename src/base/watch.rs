//! Supervised threads that run until their handle is dropped. Most of them poll something that other processes change.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::supervise::{Pulse, Supervisor, Worker};

/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum wait, on drop, for a running call of `look`.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Handle of a watching thread; dropping it stops the thread.
#[derive(Debug)]
pub struct Watcher {
    worker: Worker,
    stop: Arc<AtomicBool>,
    stop_timeout: Duration,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.worker.release();
        self.stop.store(true, Ordering::Relaxed);
        self.worker.unpark();
        self.worker.join_within(self.stop_timeout);
    }
}

/// Starts a thread whose job ends soon after its flag is set, which happens when the returned handle is dropped. The
/// drop unparks the thread and waits for its end, for at most `stop_timeout`.
///
/// # Errors
/// The system cannot start a thread.
pub fn until_dropped(
    supervisor: &Supervisor,
    name: &'static str,
    stop_timeout: Duration,
    job: impl FnOnce(&Pulse, &AtomicBool) + Send + 'static,
) -> io::Result<Watcher> {
    let stop = Arc::<AtomicBool>::default();
    let stopped = Arc::clone(&stop);
    let worker = supervisor.spawn(name, move |pulse| job(pulse, &stopped))?;
    Ok(Watcher {
        worker,
        stop,
        stop_timeout,
    })
}

/// Starts a thread that calls `look` every second, until the returned handle is dropped.
///
/// # Errors
/// The system cannot start a thread.
pub fn watch(
    supervisor: &Supervisor,
    name: &'static str,
    mut look: impl FnMut() + Send + 'static,
) -> io::Result<Watcher> {
    until_dropped(supervisor, name, STOP_TIMEOUT, move |pulse, stopped| {
        while !stopped.load(Ordering::Relaxed) {
            pulse.turn();
            // Parked rather than asleep, so that stopping does not wait for the interval.
            pulse.park_within(LOOK_EVERY);
            look();
        }
    })
}
