//! The checksum of the homes of a portfolio. It is written with them and never changes, so `toise check`, backups and
//! restores notice damage. The files of valuations have none: they are computed again.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use toise_base::durable;
use toise_base::missing::{optional, remove_folder};

use crate::files::{CHECKSUM, FOLDER, HOMES};

/// Writes the checksum of the homes in the folder of a portfolio. Returns once the names of both are durable.
///
/// # Errors
/// The homes cannot be read, or the checksum cannot be written.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    let digest = digest(&folder.join(HOMES))?;
    durable::replace(&folder.join(CHECKSUM), digest.as_bytes())
}

/// Deletes the folder of a portfolio, the checksum first: a checksum without homes means that they are lost.
///
/// # Errors
/// It cannot be deleted.
pub(super) fn remove_portfolio(folder: &Path) -> io::Result<()> {
    optional(fs::remove_file(folder.join(CHECKSUM)))?;
    remove_folder(folder)
}

/// Compares the homes of all portfolios of a data folder with their checksums. Returns each damaged file, and why. Homes
/// stored by earlier versions have no checksum. Blocks.
pub fn verify(data: &Path) -> Vec<(PathBuf, String)> {
    let all = data.join(FOLDER);
    let folders = match optional(fs::read_dir(&all)) {
        Ok(folders) => folders,
        Err(error) => return vec![(all, error.to_string())],
    };
    let folders = folders.into_iter().flatten().flatten();
    let damaged = folders.filter_map(|folder| {
        let folder = folder.path();
        let reason = match is_intact(&folder) {
            Ok(true) => return None,
            Ok(false) => "its checksum does not match".to_owned(),
            Err(error) => error.to_string(),
        };
        Some((folder.join(HOMES), reason))
    });
    damaged.collect()
}

/// Returns whether the homes of a portfolio are missing or damaged. Blocks.
pub(super) fn are_homes_lost(folder: &Path) -> bool {
    let is_missing = matches!(folder.join(HOMES).try_exists(), Ok(false));
    is_missing || matches!(is_intact(folder), Ok(false))
}

fn is_intact(folder: &Path) -> io::Result<bool> {
    let checksum = folder.join(CHECKSUM);
    // A draft of homes is a file next to the folders.
    if !folder.is_dir() {
        return Ok(true);
    }
    let Some(stored) = optional(fs::read(&checksum))? else {
        return Ok(true);
    };
    match digest(&folder.join(HOMES)) {
        // The portfolio was deleted in the meantime.
        Err(error) if error.kind() == ErrorKind::NotFound && !checksum.exists() => Ok(true),
        found => Ok(found?.as_bytes() == stored),
    }
}

/// Returns the BLAKE3 of a file, hexadecimal.
fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
