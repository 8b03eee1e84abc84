//! Stages: folders in which something, such as a backup or a publication, is assembled before it moves to its final
//! place.
//!
//! A stage may hold copies of the store, so only its owner can read it. A killed process leaves its stage behind. A
//! stage is locked by the process that fills it, so [`sweep`] knows which stages were left behind. Creating a stage in
//! a folder sweeps the folder first.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::file_lock;

/// Maximum attempts at making a stage: another process may sweep it before it is locked.
const ATTEMPTS: usize = 8;

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

/// A folder that only its owner can read, locked against [`sweep`]. Dropping it deletes it.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    _lock: File,
}

impl Stage {
    /// Deletes the abandoned stages in the folder `parent`, then creates one there.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn create(prefix: &str, parent: &Path) -> Result<Self, StagingError> {
        sweep(parent, &[prefix]);
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        for _attempt in 0..ATTEMPTS {
            let folder = builder
                .tempdir_in(parent)
                .map_err(StagingError::io(parent))?;
            let Ok(lock) = File::open(folder.path()) else {
                continue;
            };
            if file_lock::try_lock(&lock).is_ok() && folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
        Err(StagingError::Busy(parent.to_owned()))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Takes a lock file in a folder, which is held until the file is dropped.
///
/// # Errors
/// [`StagingError::Busy`] if another process holds the lock; [`StagingError::Io`] if the file cannot be accessed.
pub fn lock(folder: &Path, lock_file: &str) -> Result<File, StagingError> {
    let path = folder.join(lock_file);
    let lock = File::create(&path).map_err(StagingError::io(&path))?;
    match file_lock::try_lock(&lock) {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StagingError::Busy(path)),
        Err(TryLockError::Error(error)) => Err(StagingError::io(&path)(error)),
    }
}

/// Deletes the stages that killed processes left in a folder: files and folders whose names begin with one of the
/// prefixes and that no process has locked. What cannot be deleted is left for the next sweep.
pub fn sweep(folder: &Path, prefixes: &[&str]) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let path = entry.path();
        let Ok(lock) = File::open(&path) else {
            continue;
        };
        if lock.try_lock().is_err() {
            continue;
        }
        let deleted = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        match deleted {
            Ok(()) => {
                tracing::info!(path = %path.display(), "deleted what a killed process left behind")
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot delete what a killed process left behind")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path(), "stage.lock").unwrap();
        let second = lock(folder.path(), "stage.lock");
        assert!(matches!(second, Err(StagingError::Busy(_))));
        drop(held);
        assert!(lock(folder.path(), "stage.lock").is_ok());
    }

    #[test]
    fn a_sweep_deletes_what_was_left_behind_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for left in [".stage-left", "data"] {
            fs::create_dir_all(path.join(left).join("inside")).unwrap();
        }
        fs::write(path.join(".stage-file"), "draft").unwrap();
        let first = Stage::create(".stage-", path).unwrap();
        let second = Stage::create(".stage-", path).unwrap();
        assert!(first.path().exists() && second.path().exists() && path.join("data").exists());
        assert_eq!(fs::read_dir(path).unwrap().count(), 3);
        drop((first, second));
        assert_eq!(fs::read_dir(path).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_a_stage() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::create(".stage-", folder.path()).unwrap();
        let mode = fs::metadata(stage.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
