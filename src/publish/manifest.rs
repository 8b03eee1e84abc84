//! The documents of a publication: its manifest, and the pointer that names the newest manifest.
//!
//! Both are JSON. The pointer has the digest of the manifest, which has the digests of all content, so that a reader of
//! the pointer can verify every byte. Paths in a manifest are relative to the data folder and stay inside it; nothing
//! read from an object store is used as a path before [`Manifest::parse`] has checked it.

use std::collections::HashSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::{Error, Result};
use toise_store::exchange::RowBlock;

/// Path of the pointer.
pub const POINTER: &str = "current.json";
/// Folder of the manifests.
pub const SNAPSHOTS: &str = "snapshots";
/// Folder of the content.
pub const OBJECTS: &str = "objects";
/// Format version written and read by this version.
pub const FORMAT: u32 = 1;
/// Maximum length of a manifest, bytes: some hundred thousand files.
pub const MANIFEST_BYTES_MAX: u64 = 256 << 20;
/// Maximum length of a pointer, bytes.
pub const POINTER_BYTES_MAX: u64 = 64 << 10;
/// Hexadecimal digits of a digest.
const DIGEST_DIGITS: usize = 64;

/// Content of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Content {
    /// Length, bytes.
    pub bytes: u64,
    /// BLAKE3 of the bytes, hexadecimal; it names the object.
    pub blake3: String,
}

impl Content {
    /// Returns the content of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        }
    }

    /// Returns the path of the object.
    pub fn path(&self) -> String {
        format!("{OBJECTS}/{}/{}", &self.blake3[..2], self.blake3)
    }
}

/// A file of the data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedFile {
    /// Path in the data folder, separated by `/`.
    pub path: String,
    /// Its content.
    #[serde(flatten)]
    pub content: Content,
}

/// A block of rows of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PublishedBlock {
    /// The block: its table, keys and number of rows.
    #[serde(flatten)]
    pub block: RowBlock,
    /// Their bytes.
    #[serde(flatten)]
    pub content: Content,
}

impl PublishedBlock {
    /// Returns its name in messages.
    pub fn name(&self) -> String {
        let table = &self.block.table;
        match self.block.keys {
            Some((first, last)) => format!("rows {first} to {last} of the store's {table}"),
            None => format!("rows of the store's {table}"),
        }
    }
}

/// One state of a data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version.
    pub format: u32,
    /// Number of the snapshot: greater than all previous ones, but not always by one.
    pub number: u64,
    /// When the state was captured, ISO 8601.
    pub created_at: String,
    /// Who published it: host and process.
    pub publisher: String,
    /// Version of toise that published it.
    pub version: String,
    /// Address at which the writer takes requests that replicas refuse, if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Version of the store's tables.
    pub store_schema: usize,
    /// The files, by path.
    pub files: Vec<PublishedFile>,
    /// The rows of the store.
    pub rows: Vec<PublishedBlock>,
}

impl Manifest {
    /// Returns the path of the manifest with a number.
    pub fn path_of(number: u64) -> String {
        format!("{SNAPSHOTS}/{number:010}.json")
    }

    /// Returns the number in a path that [`Manifest::path_of`] returned.
    pub fn number_in(path: &str) -> Option<u64> {
        let name = path.rsplit('/').next()?;
        name.strip_suffix(".json")?.parse().ok()
    }

    /// Reads a manifest, and refuses one that this version cannot use.
    ///
    /// # Errors
    /// It is not a manifest, has another format, or names a path outside the data folder.
    pub fn parse(text: &[u8], path: &str) -> Result<Self> {
        let unreadable = |reason: String| Error::Unreadable {
            path: path.to_owned(),
            reason,
        };
        check_format(text, path)?;
        let manifest: Self =
            serde_json::from_slice(text).map_err(|error| unreadable(error.to_string()))?;
        for file in &manifest.files {
            if !is_inside(&file.path) {
                let outside = format!("names {:?}, which is outside the data folder", file.path);
                return Err(unreadable(outside));
            }
        }
        if let Some(content) = manifest.contents().find(|content| !is_digest(content)) {
            let reason = format!("names {:?}, which is not a digest", content.blake3);
            return Err(unreadable(reason));
        }
        Ok(manifest)
    }

    /// Returns the content of all files and rows; the same content may appear more than once.
    pub fn contents(&self) -> impl Iterator<Item = &Content> {
        let files = self.files.iter().map(|file| &file.content);
        files.chain(self.rows.iter().map(|block| &block.content))
    }

    /// Returns the content of all files and rows, each once.
    pub fn distinct_contents(&self) -> Vec<&Content> {
        let mut seen = HashSet::new();
        let contents = self.contents();
        contents.filter(|content| seen.insert(*content)).collect()
    }

    /// Returns the length of all content, bytes.
    pub fn bytes(&self) -> u64 {
        self.contents().map(|content| content.bytes).sum()
    }

    /// Returns whether both show the same state.
    pub fn is_same_state(&self, other: &Self) -> bool {
        self.files == other.files
            && self.rows == other.rows
            && self.store_schema == other.store_schema
            && self.writer == other.writer
    }
}

/// Names the newest manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// Format version.
    pub format: u32,
    /// Number of the snapshot.
    pub number: u64,
    /// Its manifest.
    pub manifest: Content,
    /// When the state was captured, ISO 8601.
    pub created_at: String,
    /// Who published it.
    pub publisher: String,
}

impl Pointer {
    /// Reads a pointer.
    ///
    /// # Errors
    /// It is not a pointer, or has another format.
    pub fn parse(text: &[u8], path: &str) -> Result<Self> {
        check_format(text, path)?;
        let unreadable = |reason: String| Error::Unreadable {
            path: path.to_owned(),
            reason,
        };
        let pointer: Self =
            serde_json::from_slice(text).map_err(|error| unreadable(error.to_string()))?;
        if is_digest(&pointer.manifest) && pointer.manifest.bytes <= MANIFEST_BYTES_MAX {
            Ok(pointer)
        } else {
            Err(unreadable("does not name a manifest".into()))
        }
    }
}

/// Writes a manifest or pointer.
///
/// # Errors
/// Never for the types of this module; serialisation can still report errors.
pub(crate) fn to_json(value: &impl Serialize, path: &str) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn check_format(text: &[u8], path: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct FormatHeader {
        format: u32,
    }
    let reason = match serde_json::from_slice::<FormatHeader>(text) {
        Ok(header) if header.format == FORMAT => return Ok(()),
        Ok(header) => format!("format {}, this version reads {FORMAT}", header.format),
        Err(error) => error.to_string(),
    };
    Err(Error::Unreadable {
        path: path.to_owned(),
        reason,
    })
}

/// Returns whether a relative path stays inside the folder it is joined to.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn is_digest(content: &Content) -> bool {
    let digits = content.blake3.as_bytes();
    let is_digit = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
    digits.len() == DIGEST_DIGITS && digits.iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(path: &str, blake3: &str) -> Vec<u8> {
        serde_json::to_vec(&serde_json::json!({
            "format": 1, "number": 3, "created_at": "2026-11-21T10:00:00Z", "publisher": "a/1", "version": "0.1.0",
            "store_schema": 5, "files": [{"path": path, "bytes": 2, "blake3": blake3}], "rows": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_manifest_never_leads_outside_the_data_folder_or_the_objects() {
        let digest = "0f".repeat(32);
        assert!(Manifest::parse(&manifest("lake/_dvf/1.parquet", &digest), "m").is_ok());
        for path in ["../x", "/etc/passwd", "a/../../b", "", "a/./../x"] {
            let refused = Manifest::parse(&manifest(path, &digest), "m");
            assert!(matches!(refused, Err(Error::Unreadable { .. })), "{path}");
        }
        for digest in ["", "0f", "../../../x", &"0F".repeat(32)] {
            let refused = Manifest::parse(&manifest("a", digest), "m");
            assert!(matches!(refused, Err(Error::Unreadable { .. })), "{digest}");
        }
        let newer = br#"{"format": 2}"#;
        let refused = Manifest::parse(newer, "m").unwrap_err();
        assert_eq!(refused.to_string(), "m: format 2, this version reads 1");
    }

    #[test]
    fn numbers_and_paths_of_manifests_agree() {
        assert_eq!(Manifest::path_of(12), "snapshots/0000000012.json");
        assert_eq!(Manifest::number_in("snapshots/0000000012.json"), Some(12));
        assert_eq!(Manifest::number_in("snapshots/x.json"), None);
    }
}
