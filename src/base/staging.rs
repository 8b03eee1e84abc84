//! Stages: folders in which something, such as a backup or a publication, is assembled before it moves to its final
//! place.
//!
//! A stage may hold copies of the store, so only its owner can read it. A killed process leaves its stage behind. The
//! next process that makes a stage of that kind deletes it, under a lock that allows one process at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::file_lock;

/// The reason why a stage could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// Another process holds the lock.
    #[error("{}: locked by another process", .0.display())]
    Busy(PathBuf),
    /// A file or folder cannot be created, locked or deleted.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl StagingError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Takes the lock file for one kind of stage in a folder, and deletes the stages that killed processes left there:
/// folders whose names begin with `prefix`. The lock is released when the file is dropped.
///
/// # Errors
/// [`StagingError::Busy`] if another process holds the lock; [`StagingError::Io`] if a file or stage cannot be
/// accessed.
pub fn lock(folder: &Path, lock_file: &str, prefix: &str) -> Result<File, StagingError> {
    let path = folder.join(lock_file);
    let lock = File::create(&path).map_err(StagingError::io(&path))?;
    match file_lock::try_lock(&lock) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StagingError::Busy(path)),
        Err(TryLockError::Error(error)) => return Err(StagingError::io(&path)(error)),
    }
    for entry in fs::read_dir(folder).map_err(StagingError::io(folder))? {
        let entry = entry.map_err(StagingError::io(folder))?;
        let is_stage = entry.file_name().to_string_lossy().starts_with(prefix);
        if is_stage && entry.path().is_dir() {
            fs::remove_dir_all(entry.path()).map_err(StagingError::io(&entry.path()))?;
        }
    }
    Ok(lock)
}

/// Creates a stage in the folder `beside`; only its owner can read it. Dropping it deletes it.
///
/// # Errors
/// The folder cannot be written to.
pub fn private_folder(prefix: &str, beside: &Path) -> Result<TempDir, StagingError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(beside).map_err(StagingError::io(beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_stages_and_deletes_what_a_killed_one_left() {
        let folder = tempfile::tempdir().unwrap();
        let stage = private_folder(".stage-", folder.path()).unwrap();
        let (left, other) = (stage.keep(), folder.path().join("data"));
        fs::create_dir(&other).unwrap();
        let held = lock(folder.path(), "stage.lock", ".stage-").unwrap();
        assert!(!left.exists() && other.exists());
        let second = lock(folder.path(), "stage.lock", ".stage-");
        assert!(matches!(second, Err(StagingError::Busy(_))));
        drop(held);
        assert!(lock(folder.path(), "stage.lock", ".stage-").is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_a_stage() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let stage = private_folder(".stage-", folder.path()).unwrap();
        let mode = fs::metadata(stage.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
