//! Deletes the leftovers of killed processes in a data folder and next to it: stages of backups, restores and
//! publications, and drafts of index files and of portfolios.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::backup;
use toise_base::staging;
use toise_geocode::folder as addresses;
use toise_listings::search::texts;

/// Prefix of the drafts that libraries write before they rename them.
const DRAFT_PREFIX: &str = ".tmp";
/// Age after which a draft counts as abandoned.
const DRAFT_AGE: Duration = Duration::from_secs(60 * 60);
/// Prefix of the stages of publications.
const PUBLISH_PREFIX: &str = toise_publish::capture::STAGE_PREFIX;

/// Deletes the leftovers in a data folder and next to it. The next sweep retries what cannot be deleted now.
pub(crate) fn sweep(data: &Path) {
    let prefixes = [backup::STAGE_PREFIX, backup::RESTORE_PREFIX, PUBLISH_PREFIX];
    staging::sweep(data, &prefixes);
    staging::sweep(&backup::parent_of(data), &prefixes);
    let texts = data.join(texts::FOLDER);
    let of_texts = fs::read_dir(&texts).into_iter().flatten().flatten();
    for folder in of_texts
        .map(|entry| entry.path())
        .chain([addresses::folder(data), data.join(toise_portfolios::FOLDER)])
    {
        delete_drafts(&folder);
    }
}

/// Deletes the abandoned drafts in a folder.
fn delete_drafts(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_draft = entry
            .file_name()
            .to_string_lossy()
            .starts_with(DRAFT_PREFIX);
        let age = entry
            .metadata()
            .and_then(|about| about.modified())
            .ok()
            .and_then(|modified| modified.elapsed().ok());
        if is_draft && age.is_some_and(|age| age > DRAFT_AGE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
