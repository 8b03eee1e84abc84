//! The thread of a replica that follows publications.
//!
//! It checks for a new snapshot every second. A new snapshot is downloaded and installed next to the one in use; then
//! the process that uses the data ([`ReplicaUser`]) switches to it in one step. A snapshot that cannot be used is
//! refused with the name of its bad file, and the previous one stays in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;
use tokio::runtime::Handle;

use crate::manifest::Manifest;
use crate::replica::Replica;
use toise_base::supervise::{Pulse, Supervisor};
use toise_base::watch::{Watcher, until_dropped};
use toise_store::Store;

/// Pause between two checks for a new snapshot.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Longest pause after failures.
const POLL_MAX: Duration = Duration::from_secs(30);
/// Maximum wait, when stopping, for a download or an installation; it continues at the next start.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The reason why a user did not switch to a snapshot.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A user of the data of a replica, such as a server or a worker.
pub trait ReplicaUser: Send + 'static {
    /// Returns whether a snapshot is the one in use.
    fn uses(&self, installed: &Manifest) -> bool;

    /// Switches to the snapshot that was just installed. Called again at the next turn if it fails.
    ///
    /// # Errors
    /// A part of it cannot be opened; the previous snapshot stays in use.
    fn switch_to(&mut self, installed: &Manifest) -> Result<(), Failure>;

    /// Called at the end of every turn, with or without a new snapshot.
    fn after_turn(&mut self, _replica: &Replica, _store: &Store, _runtime: &Handle) {}
}

/// Starts the thread, which follows publications until the returned handle is dropped.
///
/// # Errors
/// The system cannot start a thread.
pub fn follow(
    supervisor: &Supervisor,
    mut replica: Replica,
    store: Store,
    mut user: impl ReplicaUser,
    runtime: Handle,
) -> std::io::Result<Watcher> {
    let job = move |pulse: &Pulse, stopped: &AtomicBool| {
        let mut pause = POLL_EVERY;
        while !stopped.load(Ordering::Relaxed) {
            pulse.turn();
            pause = match turn(&mut replica, &store, &mut user, &runtime) {
                Ok(()) => POLL_EVERY,
                Err(error) => {
                    tracing::error!(%error, "cannot switch to the newest snapshot; keeping the previous one");
                    (pause * 2).min(POLL_MAX)
                }
            };
            user.after_turn(&replica, &store, &runtime);
            pulse.park_within(pause);
        }
    };
    until_dropped(supervisor, "replica", STOP_TIMEOUT, job)
}

/// Switches to the newest snapshot, if there is one.
fn turn(
    replica: &mut Replica,
    store: &Store,
    user: &mut impl ReplicaUser,
    runtime: &Handle,
) -> Result<(), Failure> {
    let changed = runtime.block_on(replica.poll(store, &ProgressBar::hidden()))?;
    if let Some(manifest) = changed {
        replica.install(manifest, store)?;
    }
    // Also needed if an earlier turn installed the snapshot and then failed.
    if let Some(installed) = replica.installed()
        && !user.uses(installed)
    {
        user.switch_to(installed)?;
        tracing::info!(number = installed.number, "switched to the snapshot");
    }
    Ok(())
}
