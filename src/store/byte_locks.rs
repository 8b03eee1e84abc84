//! Locks between the processes that share a data folder. Each call in progress under an idempotency key holds one, so
//! that it runs once even if several processes receive it. Each holder of a [`lease`](super::lease) holds one, which
//! shows that its process has not ended.
//!
//! A lock is one byte of a file that stays empty, at an offset derived from a digest. It belongs to the open file
//! (`F_OFD_SETLK`), not to the process: closing another descriptor does not release it, and the kernel frees it however
//! the process ends. Calls within one process share the open file, so these locks do not exclude each other there: the
//! callers must.
//!
//! Linux has such locks on most file systems. On systems without them, servers should not share a folder.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The file that is locked, in the data folder.
const LOCK_FILE: &str = "calls.lock";

/// The locks of a data folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ByteLocks(Arc<File>);

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct ByteLock {
    file: Arc<File>,
    place: i64,
}

impl ByteLocks {
    /// Opens the locks of a data folder; `None` if its file system has no such locks.
    ///
    /// # Errors
    /// Their file can be neither opened nor created.
    pub fn open(data: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let locks = Self(options.open(data.join(LOCK_FILE)).map(Arc::new)?);
        match set(&locks.0, i64::MAX, Wanted::Free) {
            Ok(_) => Ok(Some(locks)),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "the file system of the data folder does not support byte locks; do not run a second server on it"
                );
                Ok(None)
            }
        }
    }

    /// Takes the lock of a digest, unless another process holds it. Does not wait.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn try_hold(&self, digest: &[u8; 32]) -> io::Result<Option<ByteLock>> {
        let [a, b, c, d, e, f, g, h, ..] = *digest;
        // Two bits fewer, so that an offset and its successor are positive.
        let place = (u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 2) as i64;
        let is_held = set(&self.0, place, Wanted::Held)?;
        Ok(is_held.then(|| ByteLock {
            file: Arc::clone(&self.0),
            place,
        }))
    }
}

impl Drop for ByteLock {
    fn drop(&mut self) {
        if let Err(error) = set(&self.file, self.place, Wanted::Free) {
            tracing::error!(%error, "cannot release a byte lock; it is held until this process ends");
        }
    }
}

/// The requested state of a byte.
#[derive(Clone, Copy)]
enum Wanted {
    Held,
    Free,
}

/// Locks or frees a byte. Returns `false` if another process holds it.
#[cfg(target_os = "linux")]
fn set(file: &File, place: i64, wanted: Wanted) -> io::Result<bool> {
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    let kind = match wanted {
        Wanted::Held => libc::F_WRLCK,
        Wanted::Free => libc::F_UNLCK,
    };
    let byte = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: place,
        l_len: 1,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_OFD_SETLK(&byte)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn set(_file: &File, _place: i64, _wanted: Wanted) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_held_by_one_open_folder_at_a_time_even_if_others_are_closed() {
        let data = tempfile::tempdir().unwrap();
        let open = || ByteLocks::open(data.path()).unwrap().unwrap();
        let (here, there) = (open(), open());
        let [call, other] = [[0xff; 32], [0; 32]];
        let held = here.try_hold(&call).unwrap().unwrap();
        // A lock that belongs to the process would be released here.
        drop(open());
        assert!(there.try_hold(&call).unwrap().is_none());
        assert!(there.try_hold(&other).unwrap().is_some());
        drop(held);
        let held = there.try_hold(&call).unwrap().unwrap();
        assert!(here.try_hold(&call).unwrap().is_none());
        drop((held, there));
        assert!(here.try_hold(&call).unwrap().is_some());
    }
}
