//! Free space on a disk.

use std::io;
use std::path::Path;

/// Returns the bytes that this process may still write to the file system of a folder. One system call.
///
/// # Errors
/// The file system cannot be queried, for example because the folder is gone.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}
