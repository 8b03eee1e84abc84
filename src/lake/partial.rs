//! Data files that are only partly on disk: the rest is fetched when it is read.
//!
//! A replica of some departments has the files of all tables at their full length, but only holes where it did not
//! download anything. A hole reads as zeros, which do not match their checksum ([`super::checked`]). The bytes are then
//! requested from the source that is registered for the data folder, verified and written into the hole, so that the
//! next read finds them on disk. Bytes that were damaged on disk are fetched again in the same way. A file can be
//! turned back into a hole at any time to free its space ([`release_disk_space`]): a reader that finds the hole fetches
//! what it needs.
//!
//! A table with such files has the file [`MARKER`] in its own folder. Other programs cannot fill holes, so such a table
//! has no shared folder (`shared_folder.rs`).

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

/// Marks the own folder of a table whose files have holes.
pub const MARKER: &str = "partial";
/// Bytes that `stat` counts as one block.
const STAT_BLOCK_BYTES: u64 = 512;
/// More than a block of any file system.
#[cfg(target_os = "linux")]
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// A source of the bytes that files with holes lack.
pub trait SpanSource: Debug + Send + Sync {
    /// Fetches bytes of a file, all or none. Blocks for a bounded time.
    ///
    /// # Errors
    /// The source does not have the file, or does not respond.
    fn fetch(&self, file: &Path, bytes: Range<u64>) -> io::Result<Bytes>;
}

/// The sources of this process, by data folder.
static SOURCES: RwLock<Vec<(PathBuf, Arc<dyn SpanSource>)>> = RwLock::new(Vec::new());

/// Keeps a source registered until it is dropped.
#[derive(Debug)]
pub struct Registration(PathBuf);

/// Registers the source of all data files under a data folder that this process opens from now on, until the
/// registration is dropped. Files that are open at that time keep the source.
pub fn register(data: &Path, source: Arc<dyn SpanSource>) -> Registration {
    let mut sources = SOURCES.write();
    sources.retain(|(folder, _)| folder != data);
    sources.push((data.to_owned(), source));
    Registration(data.to_owned())
}

impl Drop for Registration {
    fn drop(&mut self) {
        SOURCES.write().retain(|(folder, _)| *folder != self.0);
    }
}

/// Returns the source that is registered for a file.
pub(super) fn source_of(file: &Path) -> Option<Arc<dyn SpanSource>> {
    let sources = SOURCES.read();
    let found = sources.iter().find(|(data, _)| file.starts_with(data));
    found.map(|(_, source)| Arc::clone(source))
}

/// Returns whether the files of a table may have holes.
pub(super) fn is_partial(own_folder: &Path) -> bool {
    own_folder.join(MARKER).exists()
}

/// Creates a file that is one hole. Replaces an existing file atomically.
///
/// # Errors
/// It cannot be written.
pub fn create_hole(path: &Path, length: u64) -> io::Result<()> {
    let draft = path.with_extension("hole");
    File::create(&draft)?.set_len(length)?;
    fs::rename(&draft, path)
}

/// Frees the disk space of a file; the file keeps its length.
///
/// # Errors
/// The file system cannot do this.
#[cfg(target_os = "linux")]
pub fn release_disk_space(path: &Path) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    let file = File::options().write(true).open(path)?;
    // The range extends past the end, so that the last block is freed as well.
    let length = file.metadata()?.len() + BLOCK_BYTES_MAX;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(&file, flags, 0, length)?)
}

/// Replaces a file with a hole of its length. The space is free once no process has the old file open.
///
/// # Errors
/// The file cannot be replaced.
#[cfg(not(target_os = "linux"))]
pub fn release_disk_space(path: &Path) -> io::Result<()> {
    create_hole(path, fs::metadata(path)?.len())
}

/// Returns the disk space that a file takes, in bytes.
///
/// # Errors
/// There is no such file.
pub fn allocated(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path)?.blocks() * STAT_BLOCK_BYTES)
}

#[cfg(test)]
#[path = "../../tests/support/skip.rs"]
mod skip;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_takes_no_space_and_a_file_can_become_one_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.parquet");
        create_hole(&path, 1 << 20).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20);
        assert_eq!(allocated(&path).unwrap(), 0);
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        assert!(allocated(&path).unwrap() >= 1 << 20);
        match release_disk_space(&path) {
            Err(error)
                if error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error()) =>
            {
                skip::skipped("this file system cannot make holes");
            }
            punched => {
                punched.unwrap();
                assert_eq!(fs::read(&path).unwrap(), vec![0; 1 << 20]);
                assert!(allocated(&path).unwrap() < 1 << 16);
            }
        }
    }
}
