//! The context of every step of an erasure: the parts of the data folder, and the contacts to search for.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::Result;
use super::findings::{Findings, Place};
use super::record::Erasure;
use toise_adverts::contacts::ErasedContacts;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_lake::Lake;
use toise_listings::Listings;
use toise_store::Store;

/// Whether an erasure changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Only reports what it would remove.
    DryRun,
    /// Removes.
    Erase,
}

/// The parts of a data folder.
pub(crate) struct Folder {
    pub store: Store,
    pub listings: Listings,
    pub lake: Lake,
    pub data: PathBuf,
    pub clock: Clock,
    pub progress: Progress,
}

/// The contacts that are searched for, and the erasure that records what is found; none in a dry run.
pub(crate) struct Search<'e> {
    pub contacts: ErasedContacts,
    pub erasure: Option<&'e Erasure>,
    /// Whether an earlier erasure was interrupted: the tables and the text index may still contain what it removed.
    pub is_resumed: bool,
    pub findings: Findings,
}

impl Search<'_> {
    /// Adds what was found, and records it unless this is a dry run.
    pub(crate) fn note(&mut self, store: &Store, place: Place, ids: Vec<String>) -> Result<()> {
        if let Some(erasure) = self.erasure {
            erasure.add(store, place, ids.clone())?;
        }
        self.findings.add(place, ids);
        Ok(())
    }
}

/// Returns an identifier as written in responses.
pub(crate) fn id_text(bytes: &[u8]) -> String {
    match Uuid::from_slice(bytes) {
        Ok(id) => id.to_string(),
        Err(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Returns the path of a file as an identifier in responses: relative to the data folder.
pub(crate) fn file_text(data: &Path, path: &Path) -> String {
    path.strip_prefix(data)
        .unwrap_or(path)
        .display()
        .to_string()
}
