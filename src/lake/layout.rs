//! The two folders of a table: its own folder and its shared folder.
//!
//! `lake/_<table>` is the table's own folder: data files with id indexes and checksums, snapshots, and the scratch
//! files of a running import. `lake/<table>` is the shared folder ([`super::shared_folder`]), derived from it. Opening
//! the lake rebuilds a shared folder that is out of date because a process was killed or the own folder comes from a
//! backup.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::Error;
use super::locked_table::LOCK_FILE;
use super::shared_folder;

/// Returns the own folder of a table.
pub(super) fn own_folder(root: &Path, table: &str) -> PathBuf {
    root.join(format!("_{table}"))
}

/// Rebuilds shared folders that are out of date.
///
/// # Errors
/// The folder of the lake cannot be read. A shared folder that cannot be rebuilt is not an error: the table itself can
/// be read, and the next publication reports the reason.
pub(super) fn refresh_shared_folders(root: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(root).map_err(|error| Error::io(root, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Error::io(root, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('_') && path.is_dir() && !shared_folder::is_current(&path) {
            let _ = share_unless_locked(&path);
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
