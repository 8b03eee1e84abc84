//! The data folder of a replica, and its contents: downloaded content, applied rows, a text index.

use std::path::{Path, PathBuf};

use super::capture::{TEXTS, entries};
use super::manifest::{Content, PublishedBlock};
use super::{Error, Result};
use toise_store::Store;

/// Folder of a replica's own files in its data folder.
const FOLDER: &str = "replica";
/// Folder of the downloaded content.
const OBJECTS: &str = "objects";

/// The data folder of a replica.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaFolder {
    data: PathBuf,
}

impl ReplicaFolder {
    /// Creates the value for a data folder.
    pub(crate) fn of(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
        }
    }

    /// Returns the data folder.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the folder of its own files.
    pub(crate) fn own(&self) -> PathBuf {
        self.data.join(FOLDER)
    }

    /// Returns the folder of the downloaded content.
    pub(crate) fn objects(&self) -> PathBuf {
        self.own().join(OBJECTS)
    }

    /// Returns the path of downloaded content.
    pub(crate) fn object(&self, content: &Content) -> PathBuf {
        self.objects().join(&content.blake3)
    }

    /// Returns whether there is a text index of properties.
    pub(crate) fn has_text_index(&self) -> Result<bool> {
        let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        Ok(entries(&self.data.join(TEXTS))?.iter().any(is_number))
    }
}

/// Returns the blocks of rows that a replica's store holds.
pub(crate) fn applied_blocks(store: &Store) -> Result<Vec<PublishedBlock>> {
    let Some(applied) = store.replicated_rows()? else {
        return Ok(Vec::new());
    };
    serde_json::from_str(&applied.blocks).map_err(|error| Error::Unreadable {
        path: "the table replica of the store".into(),
        reason: error.to_string(),
    })
}
