//! Stores the results of parts in a folder next to the output, on disk or on object storage.
//!
//! A result is an object named after the number of the part and the digest of the request (job and rows). It is
//! created whole or not at all, and its content ends with its digest, so it is used only if it is whole and the same
//! request is made again. When the output is complete, the results are deleted, and a manifest records what it was
//! made of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::protocol::MESSAGE_BYTES_MAX;
use crate::{Error, Result};
use toise_publish::remote::Remote;
use toise_publish::retry::RetryPolicy;

/// Suffix of the folder's name, after the name of the output.
const SUFFIX: &str = ".parts";
/// Extension of results.
const EXTENSION: &str = "part";
/// Name of the manifest.
const MANIFEST: &str = "manifest.json";
/// Maximum bytes of a manifest; each part takes about fifty.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
const DIGEST_BYTES: usize = blake3::OUT_LEN;
/// Hexadecimal digits of a digest in a name.
const NAME_DIGITS: usize = 32;

/// Record of what an output was made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// BLAKE3 digest of the settings and the input.
    pub job: String,
    /// BLAKE3 digest of the output.
    pub output: String,
    /// Length of the output.
    pub bytes: u64,
    /// Report of the job.
    pub report: serde_json::Value,
    /// Names of the results in their order: number and digest of the request.
    pub parts: Vec<String>,
}

/// The results of the parts of one output.
#[derive(Clone)]
pub(super) struct PartStore {
    remote: Remote,
    folder: String,
    /// The folder, if it is on disk.
    disk: Option<PathBuf>,
    /// Names of the results that were there at the beginning.
    found: Arc<BTreeSet<String>>,
    /// Names of the results that belong to the output, by number.
    used: Arc<Mutex<BTreeMap<u64, String>>>,
}

/// Returns the name of the result of a part.
fn name(number: u64, request: &[u8]) -> String {
    let digest = blake3::hash(request).to_hex();
    format!("{number:08}-{}.{EXTENSION}", &digest[..NAME_DIGITS])
}

impl PartStore {
    /// Opens the results next to an output on disk.
    ///
    /// # Errors
    /// The folder cannot be created or read.
    pub async fn next_to(output: &Path) -> Result<Self> {
        let absolute = std::path::absolute(output).map_err(Error::io(output))?;
        let folder = absolute.parent().unwrap_or(&absolute);
        let url = Url::from_directory_path(folder)
            .map_err(|()| Error::address(&folder.display(), "not the path of a folder"))?;
        let name = absolute.file_name().unwrap_or_default().to_string_lossy();
        let remote = Remote::open(url.as_str(), RetryPolicy::default())?;
        let disk = folder.join(format!("{name}{SUFFIX}"));
        Ok(Self {
            disk: Some(disk),
            ..Self::open(remote, &name).await?
        })
    }

    /// Opens the results next to an output on object storage.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn open(remote: Remote, output: &str) -> Result<Self> {
        let folder = format!("{output}{SUFFIX}");
        let listed = remote.list(&folder).await?.into_iter();
        let found = listed.filter_map(|(path, _)| Some(path.rsplit_once('/')?.1.to_owned()));
        Ok(Self {
            remote,
            folder,
            disk: None,
            found: Arc::new(found.collect()),
            used: Arc::default(),
        })
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Returns the stored result of a part, if it is whole, and notes that the part belongs to the output.
    ///
    /// # Errors
    /// The store does not respond.
    pub async fn find(&self, number: u64, request: &[u8]) -> Result<Option<Bytes>> {
        let name = name(number, request);
        self.used.lock().insert(number, name.clone());
        if !self.found.contains(&name) {
            return Ok(None);
        }
        let path = self.path(&name);
        let found = self.remote.small(&path, MESSAGE_BYTES_MAX as u64).await?;
        let Some(found) = found else {
            return Ok(None);
        };
        let Some((content, digest)) = found.split_last_chunk::<DIGEST_BYTES>() else {
            return Ok(None);
        };
        let is_whole = blake3::hash(content) == *digest;
        Ok(is_whole.then(|| found.slice(..content.len())))
    }

    /// Stores the result of a part. Returns once it is durable.
    ///
    /// # Errors
    /// The store does not accept it.
    pub async fn keep(&self, number: u64, request: &[u8], result: &[u8]) -> Result<()> {
        let mut content = BytesMut::with_capacity(result.len() + DIGEST_BYTES);
        content.extend_from_slice(result);
        content.extend_from_slice(blake3::hash(result).as_bytes());
        let path = self.path(&name(number, request));
        Ok(self.remote.replace(&path, &content.freeze()).await?)
    }

    /// Returns the manifest of a complete output; `None` if there is none that can be read.
    ///
    /// # Errors
    /// The store does not respond.
    pub async fn manifest(&self) -> Result<Option<Manifest>> {
        let path = self.path(MANIFEST);
        let found = self.remote.small(&path, MANIFEST_BYTES_MAX).await?;
        Ok(found.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// Returns the names of the results that belong to the output, in their order.
    pub fn used(&self) -> Vec<String> {
        self.used.lock().values().cloned().collect()
    }

    /// Writes the manifest of a complete output, and deletes all results.
    ///
    /// # Errors
    /// The store does not respond.
    pub async fn finish(&self, manifest: &Manifest) -> Result<()> {
        let text = serde_json::to_vec_pretty(manifest)?;
        self.remote
            .replace(&self.path(MANIFEST), &text.into())
            .await?;
        for (path, _) in self.remote.list(&self.folder).await? {
            if path.ends_with(EXTENSION) {
                self.remote.delete(&path).await?;
            }
        }
        self.disk.as_deref().map_or(Ok(()), remove_drafts)
    }
}

/// Deletes half-written files of a killed command; only the manifest stays.
fn remove_drafts(folder: &Path) -> Result<()> {
    for file in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = file.map_err(Error::io(folder))?.path();
        if path.file_name().is_some_and(|name| name != MANIFEST) {
            fs::remove_file(&path).map_err(Error::io(&path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_found_for_its_question_alone_and_only_whole() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("valued.csv");
        let first = PartStore::next_to(&output).await.unwrap();
        assert_eq!(first.find(0, b"request").await.unwrap(), None);
        first.keep(0, b"request", b"result").await.unwrap();
        first.keep(1, b"other", b"cut short").await.unwrap();
        let parts = folder.path().join("valued.csv.parts");
        let cut = parts.join(name(1, b"other"));
        let whole = fs::read(&cut).unwrap();
        fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
        fs::write(parts.join("draft#1"), b"half").unwrap();

        let next = PartStore::next_to(&output).await.unwrap();
        let found = |number, request: &'static [u8]| next.find(number, request);
        assert_eq!(
            found(0, b"request").await.unwrap().as_deref(),
            Some(&b"result"[..])
        );
        assert_eq!(found(0, b"another request").await.unwrap(), None);
        assert_eq!(found(1, b"request").await.unwrap(), None);
        assert_eq!(found(1, b"other").await.unwrap(), None);
        let manifest = Manifest {
            job: "job".into(),
            output: "digest".into(),
            bytes: 1,
            report: serde_json::json!({"rows": 1}),
            parts: next.used(),
        };
        next.finish(&manifest).await.unwrap();
        assert_eq!(next.manifest().await.unwrap(), Some(manifest));
        assert_eq!(fs::read_dir(&parts).unwrap().count(), 1);
    }
}
