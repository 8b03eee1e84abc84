//! Searches stored pages, which are deleted, and the reports of imports and ingestions, from which contacts are cut.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::context::{Folder, Search, file_text};
use super::findings::Place;
use super::{Error, Result};
use toise_base::missing::optional;
use toise_base::reports;
use toise_collect::extract::erased::has_contact;
use toise_collect::work::{PAGES_FOLDER, stored_page};
use toise_store::Store;

/// Searches the files, and clears them unless this is a dry run.
pub(crate) fn run(folder: &Folder, search: &mut Search<'_>) -> Result<()> {
    let (data, store) = (folder.data.as_path(), &folder.store);
    for path in files_in(&data.join(PAGES_FOLDER))? {
        page(data, &path, store, search)?;
    }
    for path in files_in(&data.join(reports::FOLDER))? {
        report(data, &path, store, search)?;
    }
    Ok(())
}

/// Returns the files of a folder; none if it does not exist.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = optional(fs::read_dir(folder)).map_err(Error::io(folder))?;
    let mut paths = Vec::new();
    for entry in entries.into_iter().flatten() {
        let entry = entry.map_err(Error::io(folder))?;
        if entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn page(data: &Path, path: &Path, store: &Store, search: &mut Search<'_>) -> Result<()> {
    match stored_page(path) {
        // The collector deletes old pages at any time.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a stored page cannot be read, so it counts as one with the contact");
        }
        Ok(bytes) if !has_contact(&bytes, None, &search.contacts) => return Ok(()),
        Ok(_) => {}
    }
    if search.erasure.is_some() {
        optional(fs::remove_file(path)).map_err(Error::io(path))?;
    }
    search.note(store, Place::Pages, vec![file_text(data, path)])
}

fn report(data: &Path, path: &Path, store: &Store, search: &mut Search<'_>) -> Result<()> {
    let text = fs::read(path).map_err(Error::io(path))?;
    // Only this program writes to the folder; anything else in it is not a report.
    let Ok(mut report) = serde_json::from_slice::<Value>(&text) else {
        return Ok(());
    };
    if !search.contacts.remove_from_texts(&mut report) {
        return Ok(());
    }
    if search.erasure.is_some() {
        let write = || {
            let mut draft = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(data))?;
            draft.write_all(&serde_json::to_vec_pretty(&report)?)?;
            draft.as_file().sync_all()?;
            draft.persist(path).map_err(|error| error.error)
        };
        write().map_err(Error::io(path))?;
    }
    search.note(store, Place::ImportReports, vec![file_text(data, path)])
}
