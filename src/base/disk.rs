//! The room on a disk.

use std::io;
use std::path::Path;

/// Bytes that the file system of a folder has left for this process. One system call.
///
/// # Errors
/// The folder is gone.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}
