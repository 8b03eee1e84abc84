//! Backups: copies a data folder while the service runs, and restores a data folder from a copy.
//!
//! A backup is staged as a folder that is itself a data folder ([`stage`]): first the snapshot of every table with the
//! files it names, the estimator's model and the report cards. These files never change, so they are hard-linked where
//! the file system allows it. Then the store is copied with SQLite's online backup. The store comes after the tables,
//! so that it has everything the tables show. Portfolios, configuration and other files come last. A manifest lists
//! every file with its length and BLAKE3. Only then is the stage moved to its final name, as a folder or as one tar
//! file, so a backup that exists is complete. [`restore`] checks every byte against the manifest before a data folder
//! appears.

mod error;
pub mod restore;
pub mod stage;

use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use error::Error;
use toise_base::durable;

/// File name of the manifest in a backup.
pub const MANIFEST_FILE: &str = "backup.json";
/// Format version of backups that this version writes.
const FORMAT: u32 = 1;
/// Size of the copy buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 20;
/// Prefix of the names of stages of backups. It contains the name toise, because a stage may be in a folder of the
/// user.
pub(crate) const STAGE_PREFIX: &str = ".toise-backup-";
/// Prefix of the names of stages of restored folders.
pub(crate) const RESTORE_PREFIX: &str = ".toise-restore-";
/// Folder of the tables.
const LAKE: &str = "lake";
/// Folder of the estimator's models, the file that names the current model, and the folder of the report cards.
const MODELS: &str = "models";
const MODEL_IN_USE: &str = "current.json";
const REPORT_CARDS: &str = "reports";
/// Other contents of a data folder that are backed up: what cannot be downloaded or computed again.
const COMPANIONS: [&str; 7] = [
    crate::config::FILE_NAME,
    "reference",
    "portals",
    "mappings",
    toise_layers::folder::FOLDER,
    toise_base::reports::FOLDER,
    toise_erasure::list::FILE_NAME,
];

/// Result of a backup operation.
pub type Result<T> = std::result::Result<T, Error>;

/// The contents of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version.
    pub format: u32,
    /// Version of toise that created it.
    pub version: String,
    /// Time at which the backup started, ISO 8601.
    pub created_at: String,
    /// Every file except the manifest.
    pub files: Vec<ManifestEntry>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// Path in the data folder, separated by `/`.
    pub path: String,
    /// Length, in bytes.
    pub bytes: u64,
    /// BLAKE3 of the content, hexadecimal.
    pub blake3: String,
}

impl Manifest {
    /// Total length of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Parses a manifest; refuses one that this version cannot restore.
    fn parse(text: &[u8], from: &Path) -> Result<Self> {
        let unreadable = |reason: String| Error::NotABackup {
            path: from.to_owned(),
            reason,
        };
        let manifest: Self =
            serde_json::from_slice(text).map_err(|error| unreadable(error.to_string()))?;
        if manifest.format > FORMAT {
            let found = manifest.format;
            return Err(unreadable(format!(
                "created by a newer version (format {found}, this one reads {FORMAT})"
            )));
        }
        for file in &manifest.files {
            if !is_inside(&file.path) {
                let path = &file.path;
                return Err(unreadable(format!(
                    "names {path:?}, which is outside the backup"
                )));
            }
        }
        Ok(manifest)
    }
}

/// Returns whether a relative path stays inside the folder it is joined to.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Copies a file's bytes while hashing them; returns the number of bytes and the BLAKE3 digest.
///
/// The error distinguishes failures to read from failures to write.
fn copy_hashed(
    reader: &mut dyn Read,
    writer: &mut dyn Write,
    mut progress: impl FnMut(u64),
) -> std::result::Result<(u64, String), CopyError> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0u8; BUFFER_BYTES];
    let mut total = 0;
    loop {
        let read = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        hasher.update(&buffer[..read]);
        writer
            .write_all(&buffer[..read])
            .map_err(CopyError::Write)?;
        total += read as u64;
        progress(read as u64);
    }
    Ok((total, hasher.finalize().to_hex().to_string()))
}

/// A read or write failure of a copy.
#[derive(Debug)]
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

impl CopyError {
    /// Adds the path of the file that failed.
    fn at(self, from: &Path, to: &Path) -> Error {
        match self {
            CopyError::Read(error) => Error::io(from)(error),
            CopyError::Write(error) => Error::io(to)(error),
        }
    }
}

/// Makes new names in a folder durable.
fn sync_folder(folder: &Path) -> Result<()> {
    durable::sync_folder(folder).map_err(Error::io(folder))
}

/// Returns the parent folder of a path; `.` for a bare name.
pub(crate) fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
#[cfg(test)]
mod tests;
