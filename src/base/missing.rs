//! Files and folders that may be missing.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Returns what was read, opened or deleted; `None` if the file or folder does not exist.
///
/// # Errors
/// All other errors of the result.
pub fn optional<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Deletes a folder and its contents, if it exists.
///
/// # Errors
/// It cannot be deleted.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    optional(fs::remove_dir_all(folder)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_no_error_and_other_faults_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(optional(fs::read(&path)).unwrap(), None);
        fs::write(&path, "text").unwrap();
        assert_eq!(optional(fs::read(&path)).unwrap().unwrap(), b"text");
        assert!(optional(fs::read(folder.path())).is_err());
        remove_folder(&folder.path().join("none")).unwrap();
        assert!(remove_folder(&path).is_err());
    }
}
