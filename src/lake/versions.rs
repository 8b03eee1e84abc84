//! The kept versions of a table: its current snapshot and those before it, with the files that they name.
//!
//! A version is the sequence number of a snapshot. When a publication replaces `snapshot.json`, the previous one stays
//! as `snapshots/<sequence>.json`, and its files stay where they are. Versions beyond those to keep are deleted: first
//! the snapshot, then the files that no other snapshot names, so a version that is listed is complete even after a
//! crash. Processes that opened a file keep reading it, deleted or not.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Error;
use super::files::link_or_copy;
use super::snapshot::{self, Snapshot};
use toise_base::missing::optional;

/// Folder of the previous snapshots, in the table's own folder.
const FOLDER: &str = "snapshots";

fn path_of(folder: &Path, version: u64) -> PathBuf {
    folder.join(FOLDER).join(format!("{version:06}.json"))
}

/// Returns the numbers and paths of the previous snapshots, oldest first.
fn former(folder: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let folder = folder.join(FOLDER);
    let entries = optional(fs::read_dir(&folder)).map_err(|error| Error::io(&folder, error))?;
    let mut found = Vec::new();
    for entry in entries.into_iter().flatten() {
        let path = entry.map_err(|error| Error::io(&folder, error))?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(version) = stem.and_then(|stem| stem.parse().ok()) {
            found.push((version, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the versions of a table, oldest first and without gaps; the last is the current one. Empty if nothing was
/// published. A previous snapshot that cannot be read ends the list: older ones are omitted.
///
/// # Errors
/// The current snapshot cannot be read.
pub(super) fn kept(folder: &Path) -> Result<Vec<Snapshot>, Error> {
    let current = Snapshot::load(folder)?;
    if current.sequence == 0 {
        return Ok(Vec::new());
    }
    let mut versions = vec![current];
    for (version, path) in former(folder)?.into_iter().rev() {
        let oldest = versions.last().map_or(0, |snapshot| snapshot.sequence);
        if version >= oldest {
            continue;
        }
        match Snapshot::read(&path) {
            Ok(Some(snapshot)) if version + 1 == oldest && snapshot.sequence == version => {
                versions.push(snapshot);
            }
            _ => break,
        }
    }
    versions.reverse();
    Ok(versions)
}

/// Returns the snapshot of one version of a table.
///
/// # Errors
/// The version is not kept or was never published, or a snapshot cannot be read.
pub(super) fn load(folder: &Path, table: &'static str, version: u64) -> Result<Snapshot, Error> {
    let versions = kept(folder)?;
    let known: Vec<String> = versions
        .iter()
        .map(|snapshot| snapshot.sequence.to_string())
        .collect();
    let found = versions
        .into_iter()
        .find(|snapshot| snapshot.sequence == version);
    found.ok_or_else(|| Error::UnknownVersion {
        table,
        version,
        known: known.join(", "),
    })
}

/// Hard-links the current snapshot under a second name before a new one replaces it.
pub(super) fn remember(folder: &Path, current: &Snapshot) -> Result<(), Error> {
    if current.checksum.is_empty() {
        // Nothing was published, or the snapshot could not be read.
        return Ok(());
    }
    let path = path_of(folder, current.sequence);
    let of_former = folder.join(FOLDER);
    fs::create_dir_all(&of_former).map_err(|error| Error::io(&of_former, error))?;
    remove(&path)?;
    link_or_copy(&folder.join(snapshot::FILE_NAME), &path)
}

/// Deletes all but the last `keep` versions, and every file that none of them names, such as those of a killed import.
/// Call only while holding the table's lock.
pub(super) fn sweep(folder: &Path, current: &Snapshot, keep: usize) -> Result<(), Error> {
    let first = (current.sequence + 1).saturating_sub(keep.max(1) as u64);
    let mut live: HashSet<String> = HashSet::new();
    let mut name_files = |snapshot: &Snapshot| {
        let files = snapshot.parts.iter().flat_map(|entry| entry.files());
        live.extend(files);
    };
    name_files(current);
    for (version, path) in former(folder)? {
        let is_kept = (first..current.sequence).contains(&version);
        match Snapshot::read(&path) {
            Ok(Some(snapshot)) if is_kept && snapshot.sequence == version => name_files(&snapshot),
            _ => remove(&path)?,
        }
    }
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io(folder, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = [".parquet", ".ids", ".sums"]
            .iter()
            .any(|end| name.ends_with(end));
        if is_ours && !live.contains(&name) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Deletes a file, or the folder that took its place on a damaged disk.
fn remove(path: &Path) -> Result<(), Error> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => fs::remove_dir_all(path),
        removed => removed,
    };
    let removed = optional(removed);
    removed.map(drop).map_err(|error| Error::io(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_in_place_of_a_file_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["000001-0000.sums", "import.lock"] {
            fs::create_dir_all(folder.path().join(name).join("inside")).unwrap();
        }
        sweep(folder.path(), &Snapshot::default(), 1).unwrap();
        assert!(!folder.path().join("000001-0000.sums").exists());
        assert!(folder.path().join("import.lock").exists());
    }
}
