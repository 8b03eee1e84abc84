//! Input and output of a bulk job: local files, or objects that are downloaded to or uploaded from temporary files.
//!
//! A job that was already done with the same settings, input and output is not repeated.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

use super::parts::{Manifest, PartStore};
use crate::{Error, Result};
use toise_publish::remote::Remote;
use toise_publish::retry::RetryPolicy;

/// Distinguishes the URL of an object from the path of a file.
const SCHEME_END: &str = "://";

/// The files of a job.
pub struct JobFiles {
    /// Where the input can be read.
    pub input: PathBuf,
    /// Where to write the output.
    pub output: PathBuf,
    pub(super) parts: PartStore,
    /// BLAKE3 digest of the settings and the input.
    job: String,
    destination: Option<(Remote, String)>,
    _scratch: TempDir,
}

/// Returns the path as a URL if it names an object.
fn object_url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.contains(SCHEME_END))
}

/// Returns the digest of some bytes followed by a file, and the length of the file.
fn digest(before: &[u8], path: &Path) -> Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before);
    let mut file = File::open(path).map_err(Error::io(path))?;
    hasher.update_reader(&mut file).map_err(Error::io(path))?;
    let bytes = file.metadata().map_err(Error::io(path))?.len();
    Ok((hasher.finalize().to_hex().to_string(), bytes))
}

impl JobFiles {
    /// Opens the files of a job, and downloads the input if it is an object. `settings` is everything that determines
    /// the output in addition to the input.
    ///
    /// # Errors
    /// A URL is wrong, or a file or an object cannot be read.
    pub async fn open(input: &Path, output: &Path, settings: &impl Serialize) -> Result<Self> {
        let scratch = TempDir::new().map_err(Error::io(&std::env::temp_dir()))?;
        let object = |url: &str| Remote::of_object(url, RetryPolicy::default());
        let input = match object_url(input) {
            Some(url) => {
                let (remote, name) = object(url)?;
                let local = scratch.path().join(format!("input-{name}"));
                remote.download(&name, &local, &|_| ()).await?;
                local
            }
            None => input.to_owned(),
        };
        let (output, destination) = match object_url(output) {
            Some(url) => {
                let (remote, name) = object(url)?;
                (scratch.path().join(&name), Some((remote, name)))
            }
            None => (output.to_owned(), None),
        };
        let parts = match &destination {
            Some((remote, name)) => PartStore::open(remote.clone(), name).await?,
            None => PartStore::next_to(&output).await?,
        };
        let (job, _) = digest(&serde_json::to_vec(settings)?, &input)?;
        Ok(Self {
            input,
            output,
            parts,
            job,
            destination,
            _scratch: scratch,
        })
    }

    /// Returns the report of this job if it is already done and its output is there, complete and unchanged.
    ///
    /// # Errors
    /// The store does not respond.
    pub async fn done(&self) -> Result<Option<Value>> {
        let manifest = self.parts.manifest().await?;
        let Some(manifest) = manifest.filter(|manifest| manifest.job == self.job) else {
            return Ok(None);
        };
        let is_there = match &self.destination {
            // Object stores have their own checksums, so the length suffices.
            Some((remote, name)) => {
                let found = remote.head(name).await?;
                found.is_some_and(|found| found.size == manifest.bytes)
            }
            None => digest(b"", &self.output).is_ok_and(|(digest, _)| digest == manifest.output),
        };
        Ok(is_there.then_some(manifest.report))
    }

    /// Uploads a complete output if its destination is an object, writes the manifest, and deletes the parts it was
    /// made of.
    ///
    /// # Errors
    /// The output cannot be read, or the store does not respond.
    pub async fn finish(&self, report: &impl Serialize) -> Result<()> {
        let (output, bytes) = digest(b"", &self.output)?;
        if let Some((remote, name)) = &self.destination {
            remote.store_file(name, &self.output).await?;
        }
        let manifest = Manifest {
            job: self.job.clone(),
            output,
            bytes,
            report: serde_json::to_value(report)?,
            parts: self.parts.used(),
        };
        self.parts.finish(&manifest).await
    }
}
