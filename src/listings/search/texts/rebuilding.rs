//! Rebuilds the text index from the store, under the next number.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use super::damage::ASIDE;
use super::{Error, FOLDER, Result, TextIndex, catch_up_to, delete_before, latest, name, numbers};
use crate::Listings;
use toise_base::file_lock;
use toise_base::missing::remove_folder;

/// Folder name of an index that is being rebuilt.
pub(super) const DRAFT: &str = "draft";
/// Lock file held by the process that rebuilds an index.
const LOCK: &str = "rebuild.lock";
/// Maximum wait for a server to switch to a rebuilt index.
const SWITCH_WAIT_MAX: Duration = Duration::from_secs(3);
/// Interval between checks whether it has switched.
const SWITCH_LOOK_EVERY: Duration = Duration::from_millis(100);

/// Rebuilds the index of a data folder from the store; `progress` is called with the number of properties indexed. If
/// the process dies midway, the previous index stays. A running server switches to the new one.
///
/// # Errors
/// The folder cannot be used, the store cannot be read, or another process is rebuilding the index.
pub fn rebuild(data: &Path, listings: &Listings, progress: &dyn Fn(u64)) -> Result<()> {
    let folder = data.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| Error::folder(&folder, error))?;
    let _lock = rebuild_lock(&folder)?;
    let draft = folder.join(DRAFT);
    remove_folder(&draft).map_err(|error| Error::folder(&draft, error))?;
    let index = TextIndex::open(&draft)?;
    catch_up_to(&index, listings, listings.last_sequence()?, progress)?;
    index.close()?;
    drop(index);
    publish(&folder, latest(&folder)?.unwrap_or(0) + 1)
}

/// Rebuilds the index as [`rebuild`] does, and then deletes its predecessors, including one that was set aside, once a
/// running server has switched to the new one, or after three seconds.
///
/// # Errors
/// As for [`rebuild`].
pub fn replace(data: &Path, listings: &Listings, progress: &dyn Fn(u64)) -> Result<()> {
    rebuild(data, listings, progress)?;
    let folder = data.join(FOLDER);
    let began = Instant::now();
    while numbers(&folder)?.len() > 1 && began.elapsed() < SWITCH_WAIT_MAX {
        std::thread::sleep(SWITCH_LOOK_EVERY);
    }
    let aside = folder.join(ASIDE);
    remove_folder(&aside).map_err(|error| Error::folder(&aside, error))?;
    match latest(&folder)? {
        Some(number) => delete_before(&folder, number),
        None => Ok(()),
    }
}

/// Takes the lock of the process that fills the draft of an index, which lasts until the file is closed.
///
/// # Errors
/// [`Error::Busy`] if another process holds it; the file cannot be created.
pub(super) fn rebuild_lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let lock = File::create(&path).map_err(|error| Error::folder(&path, error))?;
    match file_lock::try_lock(&lock) {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::Busy(path)),
        Err(TryLockError::Error(error)) => Err(Error::folder(&path, error)),
    }
}

/// Gives the draft of an index a number. Fails if there is an index with that number. Returns once durable.
pub(super) fn publish(folder: &Path, number: u64) -> Result<()> {
    let next = folder.join(name(number));
    fs::rename(folder.join(DRAFT), &next).map_err(|error| Error::folder(&next, error))?;
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::folder(folder, error))
}
