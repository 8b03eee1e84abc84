//! Checks that a server must pass to be ready: the data folder's disk has room and accepts writes, and store and ledger
//! can be written.
//!
//! A check costs one system call; every tenth one, and every one after a failure, also writes, syncs and deletes a
//! small file. Store and ledger remember why their last commit failed; after a failure, each check tries a commit until
//! one succeeds. So an idle service writes nothing to them, and a service that the load balancer no longer uses still
//! notices when there is room again. If the disk does not respond, a check does not end, and its worker counts as hung.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toise_base::disk::free_bytes;
use toise_base::supervise::Supervisor;
use toise_base::watch::{Watcher, watch};
use toise_service::Readiness;
use toise_store::Store;

/// Number of checks for each trial write.
const LOOKS_PER_TRIAL: u32 = 10;
/// Name of the file of trial writes in the data folder.
const TRIAL_FILE: &str = ".writable";
/// Length of a trial write: a page, so that it needs a new block.
const TRIAL_BYTES: usize = 4_096;

/// Check of the disk of a data folder.
#[derive(Clone, Debug)]
pub(crate) struct DiskCheck {
    data: PathBuf,
    store: Store,
    free_min_bytes: u64,
    readiness: Readiness,
}

impl DiskCheck {
    /// Creates a check of the disk of the store's data folder, which must have at least `free_min_bytes` free.
    pub(crate) fn new(store: &Store, free_min_bytes: u64, readiness: &Readiness) -> Self {
        Self {
            data: store.folder().to_owned(),
            store: store.clone(),
            free_min_bytes,
            readiness: readiness.clone(),
        }
    }

    /// Checks now, which blocks, and then every second until the handle is dropped. Reports the result to readiness.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(crate) fn start(self, supervisor: &Supervisor) -> io::Result<Watcher> {
        let mut found = self.obstacle(true, None);
        self.readiness.set_obstacle(found.clone());
        let mut looks = 0_u32;
        watch(supervisor, "disk-look", move || {
            looks = looks.wrapping_add(1);
            let tries = found.is_some() || looks.is_multiple_of(LOOKS_PER_TRIAL);
            found = self.obstacle(tries, found.as_deref());
            self.readiness.set_obstacle(found.clone());
        })
    }

    /// Returns what keeps the service from writing; `None` if nothing does. If `tries`, also writes a trial file.
    /// Logs the reason if it is not the obstacle `known` from the last check. Blocks.
    fn obstacle(&self, tries: bool, known: Option<&str>) -> Option<String> {
        if let Ok(free) = free_bytes(&self.data)
            && free < self.free_min_bytes
        {
            // The message states the limit and not the free space, so that it does not change, and is not logged again,
            // with every block written.
            let least_mib = self.free_min_bytes >> 20;
            return Some(format!(
                "the disk of the data folder has less than {least_mib} MiB free (server.disk_free_min_mib)"
            ));
        }
        for (name, database) in self.store.databases() {
            if database.last_failure().is_some()
                && let Err(error) = database.try_write()
            {
                return Some(unwritable(name, &error, known));
            }
        }
        if tries && let Err(error) = write_trial(&self.data) {
            return Some(unwritable("data folder", &error, known));
        }
        None
    }
}

fn unwritable(name: &str, error: &dyn Error, known: Option<&str>) -> String {
    let obstacle = format!("the {name} cannot be written");
    if known != Some(obstacle.as_str()) {
        tracing::warn!(%error, "{obstacle}");
    }
    obstacle
}

fn write_trial(data: &Path) -> io::Result<()> {
    let path = data.join(TRIAL_FILE);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&[0; TRIAL_BYTES])?;
        file.sync_data()
    });
    // Also deletes the file after a failure; a leftover is overwritten by the next trial.
    let deleted = fs::remove_file(&path);
    written.and(deleted)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_reason_is_logged_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = Arc::new(File::create(&path).unwrap());
        let subscriber = tracing_subscriber::fmt().with_writer(log).finish();
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        tracing::subscriber::with_default(subscriber, || {
            let first = unwritable("ledger", &error, None);
            assert_eq!(unwritable("ledger", &error, Some(&first)), first);
            assert_ne!(unwritable("store", &error, Some(&first)), first);
        });
        let lines = fs::read_to_string(&path).unwrap();
        assert_eq!(lines.lines().count(), 2, "{lines}");
    }

    #[test]
    fn too_little_space_is_an_obstacle_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let readiness = Readiness::default();
        let look = DiskCheck::new(&store, 0, &readiness);
        assert_eq!(look.obstacle(true, None), None);
        assert!(!folder.path().join(TRIAL_FILE).exists());

        let greedy = DiskCheck::new(&store, u64::MAX, &readiness);
        let found = greedy.obstacle(false, None).unwrap();
        assert!(found.contains("server.disk_free_min_mib"), "{found}");
    }
}
