//! The worker of a replica goes over to each publication of its writer.
//!
//! What is new is downloaded and installed beside what is in use; then all tables change in one step. Work that began with
//! the former snapshot ends with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;
use tokio::runtime::Handle;

use super::Held;
use crate::Result;
use toise_base::supervise::{Supervisor, Worker};
use toise_publish::replica::Replica;
use toise_store::Store;

/// Pause between two questions for news.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Longest pause after failures.
const POLL_MAX: Duration = Duration::from_secs(30);
/// Maximum wait, when stopping, for a download or an installation, which go on at the next start.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Follows publications until it is dropped.
#[derive(Debug)]
pub struct Following {
    stop: Arc<AtomicBool>,
    worker: Worker,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.worker.release();
        self.stop.store(true, Ordering::Relaxed);
        self.worker.unpark();
        self.worker.join_within(STOP_TIMEOUT);
    }
}

/// Starts the thread that follows publications; from now on, tables change with them alone.
///
/// # Errors
/// The system gives no thread.
pub fn follow(
    supervisor: &Supervisor,
    mut replica: Replica,
    store: Store,
    held: Arc<Held>,
    runtime: Handle,
) -> std::io::Result<Following> {
    held.engine().hold();
    let stop = Arc::<AtomicBool>::default();
    let stopped = Arc::clone(&stop);
    let worker = supervisor.spawn("replica", move |pulse| {
        let mut pause = POLL_EVERY;
        while !stopped.load(Ordering::Relaxed) {
            pulse.turn();
            pause = match turn(&mut replica, &store, &held, &runtime) {
                Ok(()) => POLL_EVERY,
                Err(error) => {
                    tracing::error!(%error, "cannot go over to the newest snapshot; the former one stays");
                    (pause * 2).min(POLL_MAX)
                }
            };
            std::thread::park_timeout(pause);
        }
    })?;
    Ok(Following { stop, worker })
}

/// Goes over to the newest snapshot, if there is one.
fn turn(replica: &mut Replica, store: &Store, held: &Held, runtime: &Handle) -> Result<()> {
    let news = runtime.block_on(replica.poll(store, &ProgressBar::hidden()))?;
    let Some(manifest) = news else { return Ok(()) };
    let number = manifest.number;
    replica.install(manifest, store)?;
    held.engine().switch()?;
    tracing::info!(number, "gone over to the snapshot");
    Ok(())
}
