//! Files that are read from folders: rules of portals, snapshots and checksums of tables, archives to restore.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use indicatif::ProgressBar;
use proptest::prelude::*;
use toise::app::backup::restore::StagedRestore;
use toise::collect::portals::Portals;
use toise::engine::Budget;
use toise::lake::Lake;
use toise::opendata::{Dataset, OpenData};

use super::mutation::{mutated, samples};
use super::slow;
use crate::support::draw::Draw;
use crate::support::process::run;
use crate::support::rows;

/// Rows of the table whose files are mutated.
const ROWS: usize = 40;

/// Paths in a data folder, each with the bytes of its file.
type Files = Vec<(String, Vec<u8>)>;

/// A data folder with a table, and the files of the table.
static TABLE: LazyLock<(tempfile::TempDir, Files)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let records = rows::records(Dataset::Dvf, 0, ROWS, &mut Draw::new(1));
    rows::import(&lake, Dataset::Dvf, &records, Vec::new());
    let table = lake.folder(Dataset::Dvf.schema());
    let mut files = Vec::new();
    for entry in fs::read_dir(&table).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.strip_prefix(folder.path()).unwrap();
            files.push((
                name.to_string_lossy().into_owned(),
                fs::read(&path).unwrap(),
            ));
        }
    }
    files.sort();
    (folder, files)
});

/// An archive of a small data folder.
static ARCHIVE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (data, archive) = (folder.path().join("data"), folder.path().join("backup.tar"));
    run(&data, &["keys", "create"]);
    run(&data, &["backup", archive.to_str().unwrap()]);
    fs::read(archive).unwrap()
});

/// The files of the table whose names have this ending.
fn files(ending: &str) -> Files {
    let files = TABLE.1.iter().filter(|(name, _)| name.ends_with(ending));
    files.cloned().collect()
}

/// A copy of the table in which one file has these bytes.
fn with_file(name: &str, bytes: &[u8]) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for (other, before) in &TABLE.1 {
        let path = copy.path().join(other);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, if other == name { bytes } else { before }).unwrap();
    }
    copy
}

/// Opens a table with a changed file. It returns all rows or an error, never fewer rows.
fn open_with(name: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let copy = with_file(name, bytes);
    let Ok(tables) = OpenData::open(copy.path(), Budget::default()) else {
        return Ok(());
    };
    let Ok(view) = tables.engine().view(Dataset::Dvf.schema()) else {
        return Ok(());
    };
    prop_assert_eq!(view.snapshot().rows(), ROWS as u64);
    Ok(())
}

/// Everything below a folder.
fn below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

proptest! {
    #![proptest_config(slow())]

    #[test]
    fn rules_of_portals_are_read_or_refused(bytes in mutated(samples("data/portals", ".toml"))) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("portals")).unwrap();
        fs::write(folder.path().join("portals/mine.toml"), &bytes).unwrap();
        if let Err(error) = Portals::load(folder.path()) {
            prop_assert!(error.to_string().contains("mine.toml"), "{}", error);
        }
    }

    #[test]
    fn a_changed_snapshot_shows_all_rows_or_is_refused(bytes in mutated(vec![files("snapshot.json").remove(0).1])) {
        open_with(&files("snapshot.json")[0].0, &bytes)?;
    }

    #[test]
    fn changed_sums_show_all_rows_or_are_refused(bytes in mutated(vec![files(".sums").remove(0).1])) {
        open_with(&files(".sums")[0].0, &bytes)?;
    }

    #[test]
    fn an_archive_is_restored_whole_or_not_at_all(bytes in mutated(vec![ARCHIVE.clone()])) {
        let folder = tempfile::tempdir().unwrap();
        let (archive, data) = (folder.path().join("backup.tar"), folder.path().join("restored/data"));
        fs::write(&archive, &bytes).unwrap();
        let restored = StagedRestore::prepare(&archive, &data, &ProgressBar::hidden())
            .and_then(StagedRestore::publish);
        match restored {
            Ok(_) => prop_assert!(data.join("store.sqlite").is_file()),
            Err(_) => prop_assert!(!data.exists()),
        }
        // Nothing was written elsewhere.
        let beside = below(folder.path());
        prop_assert!(beside.iter().all(|path| path == &archive || path.ends_with("restored")), "{:?}", beside);
    }
}
