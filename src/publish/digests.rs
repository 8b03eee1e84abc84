//! Digests of files that were published before, so that a publication does not read the whole data folder again.
//!
//! A file is identified by its path, length, modification time and inode. The digests are stored in
//! `publish/digests.json` of the data folder; if this cache is lost or cannot be read, all files are read once more.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, Result};
use toise_base::durable;

/// Path in the data folder.
const FILE: &str = "publish/digests.json";

/// The cached digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownFile {
    bytes: u64,
    modified_ns: i128,
    inode: u64,
    blake3: String,
}

/// Digests of the files of a data folder.
#[derive(Debug)]
pub(crate) struct Digests {
    path: PathBuf,
    known: HashMap<String, KnownFile>,
    /// Digests that this publication used; the others are dropped.
    used: HashMap<String, KnownFile>,
}

impl Digests {
    /// Reads the digests of a data folder.
    pub(crate) fn open(data: &Path) -> Self {
        let path = data.join(FILE);
        let text = fs::read(&path).unwrap_or_default();
        Self {
            path,
            known: serde_json::from_slice(&text).unwrap_or_default(),
            used: HashMap::new(),
        }
    }

    /// Returns the digest of a file, which `digest` computes if it is not known.
    pub(crate) fn of(
        &mut self,
        name: &str,
        file: &Path,
        digest: impl FnOnce() -> Result<String>,
    ) -> Result<String> {
        let about = fs::metadata(file).map_err(Error::io(file))?;
        let found = KnownFile {
            bytes: about.len(),
            modified_ns: i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec()),
            inode: about.ino(),
            blake3: String::new(),
        };
        let known = self.known.get(name).filter(|known| {
            (known.bytes, known.modified_ns, known.inode)
                == (found.bytes, found.modified_ns, found.inode)
        });
        let blake3 = match known {
            Some(known) => known.blake3.clone(),
            None => digest()?,
        };
        let entry = KnownFile {
            blake3: blake3.clone(),
            ..found
        };
        self.used.insert(name.to_owned(), entry);
        Ok(blake3)
    }

    /// Writes the digests that were used.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn save(self) -> Result<()> {
        if self.used == self.known {
            return Ok(());
        }
        let text = super::manifest::to_json(&self.used, FILE)?;
        replace(&self.path, &text)
    }
}

/// Replaces a small file by rename. Returns once it is on disk.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    durable::replace(path, bytes).map_err(Error::io(path))
}

/// Makes renames and new names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    durable::sync_folder(folder).map_err(Error::io(folder))
}
