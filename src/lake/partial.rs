//! Data files of which a part is on disk, and the rest is fetched when it is read.
//!
//! A replica of some departments has the files of all tables at their full length, but only holes where it did not
//! download anything. A hole reads as zeros, which do not match their checksum ([`super::checked`]); whoever registered
//! itself as the source of the data folder is then asked for the bytes, and what it brings is verified, written into the
//! hole and read from there the next time. Bytes that were damaged on disk are fetched again in the same way. Whoever
//! needs the space makes a hole again ([`punch`]), at any time: a reader that finds it fetches what it needs.
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
use rustix::fs::{FallocateFlags, fallocate};

/// Marks the own folder of a table whose files have holes.
pub const MARKER: &str = "partial";
/// Bytes that `stat` counts as one block.
const STAT_BLOCK_BYTES: u64 = 512;
/// More than a block of any file system.
const BLOCK_BYTES_MAX: u64 = 1 << 20;

/// Where the bytes of files with holes are.
pub trait SpanSource: Debug + Send + Sync {
    /// Fetches bytes of a file, all or none. Blocks for a bounded time.
    ///
    /// # Errors
    /// The source does not have the file, or does not answer.
    fn fetch(&self, file: &Path, bytes: Range<u64>) -> io::Result<Bytes>;
}

/// The sources of this process, by data folder.
static SOURCES: RwLock<Vec<(PathBuf, Arc<dyn SpanSource>)>> = RwLock::new(Vec::new());

/// Keeps a source registered.
#[derive(Debug)]
pub struct Registration(PathBuf);

/// Makes a source the one of all data files under a data folder that this process opens from now on, until the
/// registration is dropped. Files that are open by then keep it.
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

/// The source of a file.
pub(super) fn source_of(file: &Path) -> Option<Arc<dyn SpanSource>> {
    let sources = SOURCES.read();
    let found = sources.iter().find(|(data, _)| file.starts_with(data));
    found.map(|(_, source)| Arc::clone(source))
}

/// Whether the files of a table may have holes.
pub(super) fn is_partial(own_folder: &Path) -> bool {
    own_folder.join(MARKER).exists()
}

/// Creates a file that is one hole, replacing another at once.
///
/// # Errors
/// It cannot be written.
pub fn create_hole(path: &Path, length: u64) -> io::Result<()> {
    let draft = path.with_extension("hole");
    File::create(&draft)?.set_len(length)?;
    fs::rename(&draft, path)
}

/// Gives the space of a file back to the file system; the file keeps its length.
///
/// # Errors
/// The file system cannot do this.
pub fn punch(path: &Path) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    // Beyond the end, so that the last block goes as well.
    let length = file.metadata()?.len() + BLOCK_BYTES_MAX;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(&file, flags, 0, length)?)
}

/// Space that a file takes, in bytes.
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
        match punch(&path) {
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
