//! Finds damage of the text index, and sets a damaged index aside.
//!
//! Every file of a segment carries a checksum, and the list of segments carries a checksum of the last change's
//! sequence. The index library panics on some damaged files, so panics count as damage.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::{Error, FOLDER, NumberedIndex, Result, TextIndex, latest, name};
use toise_base::missing::remove_folder;

/// Folder name of the last index that was set aside. It may be deleted.
pub(super) const ASIDE: &str = "damaged";
/// File of an index that lists its segments.
const LIST: &str = "meta.json";
/// Maximum attempts at an index to which another process writes at the same time.
const ATTEMPTS: usize = 5;

/// Runs work on an index; a panic becomes an error.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let reason = "the index library panicked, as it does on damaged files";
        Err(Error::Damaged(reason.to_owned()))
    })
}

/// Opens the index in a folder, which is created if missing.
pub(super) fn open(folder: &Path) -> Result<TextIndex> {
    caught(|| TextIndex::open(folder))
}

/// Sets a damaged index aside and opens an empty one with the next number.
pub(super) fn replace(folder: &Path, number: u64, damage: &Error) -> Result<NumberedIndex> {
    let aside = folder.join(ASIDE);
    tracing::error!(
        error = %damage,
        kept = %aside.display(),
        "the text index is damaged; it is set aside and built again from the store"
    );
    remove_folder(&aside).map_err(|error| Error::folder(&aside, error))?;
    let path = folder.join(name(number));
    fs::rename(&path, &aside).map_err(|error| Error::folder(&path, error))?;
    let number = number + 1;
    let words = open(&folder.join(name(number)))?;
    Ok(NumberedIndex { number, words })
}

/// Verifies the files of the current text index of a data folder; succeeds if there is no index.
///
/// # Errors
/// The folder cannot be read; [`Error::Damaged`] names the damaged files.
pub fn verify(data: &Path) -> Result<()> {
    let folder = data.join(FOLDER);
    match latest(&folder)? {
        Some(number) => verify_index(&folder.join(name(number))),
        None => Ok(()),
    }
}

/// Verifies the files of the index in a folder, which may be written at the same time.
pub(super) fn verify_index(folder: &Path) -> Result<()> {
    let list = folder.join(LIST);
    let mut result = Ok(());
    for _attempt in 0..ATTEMPTS {
        let before = fs::read(&list).map_err(|error| Error::folder(&list, error))?;
        result = caught(|| TextIndex::verify(folder));
        // Files that a later commit deleted do not count as damage.
        let is_same = fs::read(&list).is_ok_and(|now| now == before);
        if result.is_ok() || is_same {
            return result;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_index_library_is_damage() {
        let found = caught::<()>(|| panic!("an index that is not valid"));
        assert!(matches!(found, Err(Error::Damaged(_))), "{found:?}");
    }
}
