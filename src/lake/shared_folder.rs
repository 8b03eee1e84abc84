//! The shared folder of a table, `lake/<table>`, which other programs open.
//!
//! At its top are the Parquet files of the current snapshot and nothing else. Names that begin with an underscore,
//! which pandas, pyarrow and Spark skip, hold the rest: `_delta_log/` is a Delta Lake log of the kept versions
//! ([`super::delta`]), `_files/` has the data files that the log names, `_snapshot.json` is the snapshot. Data files
//! are hard links to those in the table's own folder, so they need no space; a file system without hard links gets
//! copies. Those in `_files/` end in `.pq`, so that a search for `**/*.parquet` finds each row once.
//!
//! The folder is never changed in place. A new one is built in the own folder and the two are exchanged by one rename,
//! so a program that lists the folder sees one whole snapshot. A program that lists the old folder and opens its files
//! after the exchange fails on those that are gone; it never mixes rows of two snapshots. A program that has opened the
//! old folder but not listed it yet must not find it empty, so the old folder is deleted only by the next exchange.
//! Readers of the Delta log are not disturbed: its files keep their names as long as their version is kept.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::delta::{self, FILES, FormerLog, file_name};
use super::files::{clear, link_or_copy, make};
use super::snapshot::{self, SHARED_FILE_NAME as SNAPSHOT, Snapshot, shared_folder};
use super::{Error, partial, versions};

/// Name, in the own folder, of a shared folder that is being built.
const STAGE: &str = "shared.new";
/// Name, in the own folder, of the previous shared folder, which the next exchange deletes.
const FORMER: &str = "shared.old";

/// Source of the Delta log of a new shared folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeltaLog {
    /// Entries of the existing log are kept.
    Continued,
    /// All entries are rebuilt from the snapshots.
    Rebuilt,
}

/// Returns whether the shared folder of a table is up to date with its current snapshot; `true` if there is no
/// snapshot. Costs four `stat` calls, or reads both snapshots if they are copies.
pub(super) fn is_current(own: &Path) -> bool {
    let Some(shared) = shared_folder(own) else {
        return true;
    };
    if partial::is_partial(own) {
        return !shared.exists();
    }
    let (ours, theirs) = (own.join(snapshot::FILE_NAME), shared.join(SNAPSHOT));
    if !ours.exists() {
        return true;
    }
    is_same_file(&ours, &theirs)
        || fs::read(ours).is_ok_and(|text| fs::read(theirs).is_ok_and(|shown| shown == text))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| fs::metadata(path).map(|about| (about.dev(), about.ino()));
    matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
}

/// Builds the shared folder of a table from its own folder and puts it in place. Does nothing for a table without a
/// snapshot, and deletes the shared folder of a table whose files have holes. Call only while holding the table's lock.
/// Creates up to two links per file, and reads the footers of the files that enter the Delta log.
///
/// # Errors
/// A data file is damaged, or folders cannot be written.
pub(super) fn refresh(own: &Path, log: DeltaLog) -> Result<(), Error> {
    let Some(shared) = shared_folder(own) else {
        return Ok(());
    };
    if partial::is_partial(own) {
        return clear(&shared);
    }
    let mut versions = versions::kept(own)?;
    if versions.is_empty() {
        return Ok(());
    }
    let stage = own.join(STAGE);
    let made = make_stage(own, &stage, &shared, &mut versions, log);
    let replaced = made.and_then(|()| replace(own, &stage, &shared));
    let cleared = clear(&stage);
    replaced.and(cleared)
}

/// Deletes the previous shared folder. A program may be about to list its files.
pub(super) fn forget_former(own: &Path) -> Result<(), Error> {
    clear(&own.join(FORMER))
}

/// Builds a shared folder at `stage`.
fn make_stage(
    own: &Path,
    stage: &Path,
    shared: &Path,
    versions: &mut Vec<Snapshot>,
    log: DeltaLog,
) -> Result<(), Error> {
    let Some(current) = versions.last() else {
        return Ok(());
    };
    clear(stage)?;
    make(stage)?;
    for entry in &current.parts {
        link_or_copy(&own.join(&entry.file), &stage.join(&entry.file))?;
    }
    link_or_copy(&own.join(snapshot::FILE_NAME), &stage.join(SNAPSHOT))?;
    let folder = shared.join(delta::FOLDER);
    let through = match log {
        DeltaLog::Continued => shown_version(shared, versions),
        DeltaLog::Rebuilt => None,
    };
    let former = through.map(|through| FormerLog {
        folder: &folder,
        through,
    });
    // If a file of a previous version is damaged, the log begins after that version.
    while let Err(error) = share_versions(own, stage, versions, former) {
        if versions.len() <= 1 {
            return Err(error);
        }
        versions.remove(0);
    }
    snapshot::sync_folder(stage)
}

/// Returns the version that a shared folder shows; `None` if it is not one of `versions`.
fn shown_version(shared: &Path, versions: &[Snapshot]) -> Option<u64> {
    let shown = Snapshot::read(&shared.join(SNAPSHOT)).ok()??;
    let is_shown = |version: &&Snapshot| version.checksum == shown.checksum;
    Some(versions.iter().find(is_shown)?.sequence)
}

/// Links the files of all versions and writes the Delta log.
fn share_versions(
    own: &Path,
    stage: &Path,
    versions: &[Snapshot],
    former_log: Option<FormerLog<'_>>,
) -> Result<(), Error> {
    let (files, log) = (stage.join(FILES), stage.join(delta::FOLDER));
    for folder in [&files, &log] {
        clear(folder)?;
        make(folder)?;
    }
    for entry in versions.iter().flat_map(|version| &version.parts) {
        let to = files.join(file_name(&entry.file));
        if !to.exists() {
            link_or_copy(&own.join(&entry.file), &to)?;
        }
    }
    snapshot::sync_folder(&files)?;
    delta::write(own, versions, former_log, &log)?;
    snapshot::sync_folder(&log)
}

/// Replaces the shared folder with a complete new one and keeps the previous one under its own name.
fn replace(own: &Path, stage: &Path, shared: &Path) -> Result<(), Error> {
    let former = own.join(FORMER);
    clear(&former)?;
    match renameat_with(CWD, stage, CWD, shared, RenameFlags::EXCHANGE) {
        Ok(()) => fs::rename(stage, &former).map_err(|error| Error::io(&former, error))?,
        Err(Errno::NOENT) => {
            fs::rename(stage, shared).map_err(|error| Error::io(shared, error))?;
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rename_twice(&former, stage, shared)?;
        }
        Err(error) => return Err(Error::io(shared, error.into())),
    }
    match shared.parent() {
        Some(parent) => snapshot::sync_folder(parent),
        None => Ok(()),
    }
}

/// Replaces the shared folder by two renames, for file systems that cannot exchange two folders. In between there is no
/// shared folder.
fn rename_twice(former: &Path, stage: &Path, shared: &Path) -> Result<(), Error> {
    fs::rename(shared, former).map_err(|error| Error::io(shared, error))?;
    fs::rename(stage, shared).map_err(|error| Error::io(shared, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_name(folder: &Path) -> String {
        let names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        assert_eq!(names.len(), 1);
        names[0].to_string_lossy().into_owned()
    }

    #[test]
    fn a_folder_takes_the_place_of_another_whether_or_not_they_can_be_exchanged() {
        let outer = tempfile::tempdir().unwrap();
        let (own, shared) = (outer.path().join("_t"), outer.path().join("t"));
        let (stage, former) = (own.join(STAGE), own.join(FORMER));
        fs::create_dir_all(&own).unwrap();
        for number in 0..4 {
            fs::create_dir_all(&stage).unwrap();
            fs::write(stage.join(number.to_string()), "").unwrap();
            if number < 2 {
                replace(&own, &stage, &shared).unwrap();
            } else {
                clear(&former).unwrap();
                rename_twice(&former, &stage, &shared).unwrap();
            }
            assert_eq!(only_name(&shared), number.to_string());
            assert!(!stage.exists());
            // A process that has the folder open still finds its old contents.
            match number {
                0 => assert!(!former.exists()),
                _ => assert_eq!(only_name(&former), (number - 1).to_string()),
            }
        }
    }
}
