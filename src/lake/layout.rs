//! The two folders of a table, and the migration from the former layout.
//!
//! `lake/_<table>` is the table's own folder: data files with id indexes and checksums, snapshots, and the scratch
//! files of a running import. `lake/<table>` is the shared folder ([`super::shared_folder`]), derived from it. Earlier
//! versions of toise kept the own folder where the shared folder is now; opening the lake moves it by one rename.
//! Opening the lake also rebuilds a shared folder that is out of date because a process was killed or the own folder
//! comes from a backup.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Error;
use super::files::clear;
use super::locked_table::LOCK_FILE;
use super::shared_folder;
use super::snapshot;

/// Lock file of the lake, held while folders are moved.
const LAYOUT_LOCK: &str = "_layout.lock";
/// Maximum wait for another process that moves folders, which takes milliseconds.
const LAYOUT_WAIT_MAX: Duration = Duration::from_secs(10);
/// Pause between two attempts to lock.
const LAYOUT_EVERY: Duration = Duration::from_millis(20);
/// Folder in which earlier versions kept the files of the previous snapshot.
const RETIRED: &str = "retired";

/// Returns the own folder of a table.
pub(super) fn own_folder(root: &Path, table: &str) -> PathBuf {
    root.join(format!("_{table}"))
}

/// Moves the tables that an earlier version wrote to their own folders, and rebuilds shared folders that are out of
/// date.
///
/// # Errors
/// An import of an earlier version is running; a table is in both layouts; folders cannot be moved. A shared folder
/// that cannot be rebuilt is no error: the table itself can be read, and the next publication reports what is wrong.
pub(super) fn settle(root: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(root).map_err(|error| Error::io(root, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Error::io(root, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('_') {
            if !shared_folder::is_current(&path) {
                let _ = share_unless_locked(&path);
            }
        } else if path.join(snapshot::FILE_NAME).exists() {
            let own = own_folder(root, &name);
            migrate(root, &path, &own)?;
            let _ = share_unless_locked(&own);
        }
    }
    Ok(())
}

/// Rebuilds a shared folder, unless an import holds the table's lock: that import will rebuild it.
fn share_unless_locked(own: &Path) -> Result<(), Error> {
    let path = own.join(LOCK_FILE);
    let lock = File::create(&path).map_err(|error| Error::io(&path, error))?;
    match lock.try_lock() {
        Ok(()) => shared_folder::refresh(own, shared_folder::DeltaLog::Continued),
        Err(_) => Ok(()),
    }
}

/// Renames a table's folder of the former layout to its own folder.
fn migrate(root: &Path, former: &Path, own: &Path) -> Result<(), Error> {
    let _lock = lock_layout(root)?;
    if !former.join(snapshot::FILE_NAME).exists() {
        // Another process moved it in the meantime.
        return Ok(());
    }
    if own.join(snapshot::FILE_NAME).exists() {
        return Err(Error::TwoLayouts {
            former: former.display().to_string(),
            own: own.display().to_string(),
        });
    }
    let path = former.join(LOCK_FILE);
    // An earlier version that is importing holds this lock; restored tables have no such file.
    let held = match File::open(&path) {
        Ok(lock) => Some(lock),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(Error::io(&path, error)),
    };
    if let Some(Err(TryLockError::WouldBlock)) = held.as_ref().map(File::try_lock) {
        return Err(Error::Busy {
            path: path.display().to_string(),
        });
    }
    for leftover in [own, &former.join(RETIRED)] {
        clear(leftover)?;
    }
    fs::rename(former, own).map_err(|error| Error::io(former, error))?;
    snapshot::sync_folder(root)
}

fn lock_layout(root: &Path) -> Result<File, Error> {
    let path = root.join(LAYOUT_LOCK);
    let lock = File::create(&path).map_err(|error| Error::io(&path, error))?;
    let started = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if started.elapsed() < LAYOUT_WAIT_MAX => {
                std::thread::sleep(LAYOUT_EVERY);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy {
                    path: path.display().to_string(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path, error)),
        }
    }
}
