//! The snapshot of a table: which files are live, and where their rows came from.
//!
//! It is one small JSON file, replaced by rename after everything it names is on disk, so that a reader or a crash
//! sees the old table or the new one and nothing between. Files that drop out are moved to `retired/` and deleted at
//! the next publication, so that a process still holding the former snapshot can finish.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, Source};

/// Format this version writes.
pub const FORMAT: u32 = 1;
/// Name of the snapshot in the table's folder.
pub const FILE_NAME: &str = "snapshot.json";
const RETIRED: &str = "retired";
/// Sources kept in the snapshot, newest last; older ones are in the import reports.
const SOURCES_KEPT_MAX: usize = 1_000;

/// One live file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEntry {
    /// File name in the table's folder; its id index is beside it.
    pub file: String,
    /// Sorted run the file belongs to; the files of one run do not overlap in file order.
    pub run: u64,
    /// Rows in it.
    pub rows: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// First and last clustering key, hexadecimal.
    pub key_range: (String, String),
}

/// The live files of a table and where their rows came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Format number.
    pub format: u32,
    /// Rises by one at each publication.
    pub sequence: u64,
    /// When it was published, ISO 8601.
    pub published_at: String,
    /// Live files: run by run, in file order within each.
    pub parts: Vec<PartEntry>,
    /// Where the rows came from, oldest first.
    pub sources: Vec<Source>,
}

impl Snapshot {
    /// Reads the snapshot of a table folder; a folder without one is an empty table.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE_NAME);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(Error::io(&path, error)),
        };
        let snapshot: Self =
            serde_json::from_slice(&text).map_err(|error| Error::damaged(&path, error))?;
        if snapshot.format > FORMAT {
            return Err(Error::NewerFormat {
                path: path.display().to_string(),
                found: snapshot.format,
                known: FORMAT,
            });
        }
        Ok(snapshot)
    }

    /// Changes whenever the snapshot does: modification time and length of its file. Costs one `stat`.
    pub fn stamp(folder: &Path) -> Option<(std::time::SystemTime, u64)> {
        let metadata = fs::metadata(folder.join(FILE_NAME)).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }

    /// Rows in the table.
    pub fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.rows).sum()
    }

    /// Adds sources, dropping the oldest past the bound.
    pub(super) fn add_sources(&mut self, sources: Vec<Source>) {
        self.sources.extend(sources);
        let surplus = self.sources.len().saturating_sub(SOURCES_KEPT_MAX);
        self.sources.drain(..surplus);
    }

    /// Makes this snapshot the table's; returns once it is on disk. The files it names must already be.
    pub(super) fn publish(&self, folder: &Path, former: &Snapshot) -> Result<(), Error> {
        let retired = folder.join(RETIRED);
        match fs::remove_dir_all(&retired) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&retired, error)),
        }
        let path = folder.join(FILE_NAME);
        let draft = folder.join("snapshot.json.new");
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| Error::damaged(&draft, error))?;
        let mut file = File::create(&draft).map_err(|error| Error::io(&draft, error))?;
        file.write_all(&text)
            .and_then(|()| file.sync_all())
            .map_err(|error| Error::io(&draft, error))?;
        fs::rename(&draft, &path).map_err(|error| Error::io(&path, error))?;
        sync_folder(folder)?;
        let live: std::collections::HashSet<&str> =
            self.parts.iter().map(|part| part.file.as_str()).collect();
        for part in former
            .parts
            .iter()
            .filter(|part| !live.contains(part.file.as_str()))
        {
            retire(folder, &retired, &part.file)?;
        }
        Ok(())
    }
}

/// Moves a file and its id index out of the way of readers that list the folder.
fn retire(folder: &Path, retired: &Path, file: &str) -> Result<(), Error> {
    fs::create_dir_all(retired).map_err(|error| Error::io(retired, error))?;
    for name in [file.to_owned(), super::ids::file_name(file)] {
        let from = folder.join(&name);
        match fs::rename(&from, retired.join(&name)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&from, error)),
        }
    }
    Ok(())
}

/// Makes renames and new names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| Error::io(folder, error))
}

/// Deletes files that no snapshot names: what a killed import left behind. Call only while holding the table's lock.
pub(super) fn sweep(folder: &Path, snapshot: &Snapshot) -> Result<(), Error> {
    let mut live: std::collections::HashSet<String> = std::collections::HashSet::new();
    for part in &snapshot.parts {
        live.insert(super::ids::file_name(&part.file));
        live.insert(part.file.clone());
    }
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io(folder, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = name.ends_with(".parquet") || name.ends_with(".ids");
        if ours && !live.contains(&name) {
            let path: PathBuf = entry.path();
            fs::remove_file(&path).map_err(|error| Error::io(&path, error))?;
        }
    }
    Ok(())
}
