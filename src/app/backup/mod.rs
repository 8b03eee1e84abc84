//! Backups: a data folder as it stood at one moment, taken while the service runs, and a data folder made from one.
//!
//! A backup is staged as a folder that is itself a data folder ([`stage`]): first the snapshot of every table with the
//! files it names, hard-linked where the file system allows since they never change, likewise the estimator's model and
//! the report cards, then the store through SQLite's online backup. The store comes last so that whatever the tables show, the store knows. A manifest lists every file
//! with its length and BLAKE3. Only then the stage takes its final name, as a folder or as one tar file: a
//! backup that is there is whole. [`restore`] checks every byte against the manifest before a data folder appears.

mod error;
pub mod restore;
pub mod stage;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use error::Error;

/// Name of the manifest in a backup.
pub const MANIFEST_FILE: &str = "backup.json";
/// Format of backups this version writes.
const FORMAT: u32 = 1;
/// Bytes moved at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Folder of the tables.
const LAKE: &str = "lake";
/// Folder of the estimator's models, which of them is in use, and the folder of their report cards.
const MODELS: &str = "models";
const MODEL_IN_USE: &str = "current.json";
const REPORT_CARDS: &str = "reports";
/// What of a data folder goes along beside store and tables: what cannot be fetched or computed again.
const COMPANIONS: [&str; 4] = [
    crate::config::FILE_NAME,
    "reference",
    "portals",
    toise_base::reports::FOLDER,
];

/// Result of a backup operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format number.
    pub format: u32,
    /// Version that made it.
    pub version: String,
    /// When it was begun, ISO 8601.
    pub created_at: String,
    /// Every file but the manifest.
    pub files: Vec<Entry>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Path in the data folder, with `/` between its parts.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// BLAKE3 of the content, hexadecimal.
    pub blake3: String,
}

impl Manifest {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Reads a manifest; refuses what this version cannot restore.
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
                "made by a newer version (format {found}, this one reads {FORMAT})"
            )));
        }
        for file in &manifest.files {
            if !is_inside(&file.path) {
                let path = &file.path;
                return Err(unreadable(format!("names {path:?}, which is not in it")));
            }
        }
        Ok(manifest)
    }
}

/// Whether a path names something in the folder it is laid over.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Copies a file's bytes while hashing them; returns their number and BLAKE3.
///
/// Told apart are failures to read (the left of [`Err`]) and to write.
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

/// Which side of a copy failed.
#[derive(Debug)]
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

impl CopyError {
    /// Names the file of the side that failed.
    fn at(self, from: &Path, to: &Path) -> Error {
        match self {
            CopyError::Read(error) => Error::io(from)(error),
            CopyError::Write(error) => Error::io(to)(error),
        }
    }
}

/// Makes new names in a folder durable.
fn sync_folder(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)
        .and_then(|open| open.sync_all())
        .map_err(Error::io(folder))
}

/// The folder a path lies in; `.` for a bare name.
fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests;
