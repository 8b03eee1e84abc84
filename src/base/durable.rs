//! Replaces small files atomically: a reader finds the old content or the new one, even after a crash.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file, or creates it. Returns once its content and its name are on disk. A draft next to it, with `.new`
/// at the end of its name, may be left by a crash; the next call overwrites it.
///
/// # Errors
/// The folder cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let mut file = File::create(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    match path.parent() {
        Some(folder) if folder != Path::new("") => sync_folder(folder),
        _ => sync_folder(Path::new(".")),
    }
}

/// Waits until the names of the files in a folder are on disk.
///
/// # Errors
/// The folder cannot be opened.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_no_draft_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("current.json");
        fs::write(folder.path().join("current.json.new"), "of a crash").unwrap();
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("none/current.json"), b"x").is_err());
    }
}
