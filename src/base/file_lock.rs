//! Locks on files that at most one process may hold.

use std::fs::{File, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a released lock may seem held. While a process starts a child, the child has a copy of the open file until
/// it executes its own program.
const RELEASE_MAX: Duration = Duration::from_secs(1);
const RETRY_EVERY: Duration = Duration::from_millis(10);

/// Takes the exclusive lock of an open file, which lasts until the file is closed.
///
/// # Errors
/// [`TryLockError::WouldBlock`] if another holder kept the lock for a second; [`TryLockError::Error`] if the file
/// system cannot lock.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < RELEASE_MAX => sleep(RETRY_EVERY),
            taken => return taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_released_soon_is_waited_for_and_a_kept_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let held = open();
        try_lock(&held).unwrap();
        let other = open();
        assert!(matches!(try_lock(&other), Err(TryLockError::WouldBlock)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep(Duration::from_millis(50));
                drop(held);
            });
            try_lock(&other).unwrap();
        });
    }
}
