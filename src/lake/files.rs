//! Creates, deletes and links files and folders of the lake.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::Error;
use toise_base::missing;

/// Creates a folder if it does not exist.
pub(super) fn make(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))
}

/// Deletes a folder and its contents, if it exists.
pub(super) fn clear(folder: &Path) -> Result<(), Error> {
    missing::remove_folder(folder).map_err(|error| Error::io(folder, error))
}

/// Writes a file. Returns once it is on disk.
pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    File::create(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .map_err(|error| Error::io(path, error))
}

/// Gives an immutable file a second name, or copies it if the file system does not allow the link. Returns once a copy
/// is on disk.
pub(super) fn link_or_copy(from: &Path, to: &Path) -> Result<(), Error> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to).map_err(|error| Error::io(from, error))?;
    File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(|error| Error::io(to, error))
}
