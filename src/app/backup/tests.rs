//! Tests that a backup is restored byte for byte, or not at all.

use std::fs;

use chrono::Utc;
use indicatif::ProgressBar;

use super::restore::StagedRestore;
use super::stage::{StagedBackup, append};
use super::*;
use crate::verify;
use toise_base::clock::Clock;
use toise_lake::snapshot::{self, DataFileEntry, Snapshot};
use toise_store::Store;

fn data_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    Store::open(&data).unwrap().secret("cursor").unwrap();
    fs::create_dir_all(data.join("reference")).unwrap();
    let portfolio = data.join("portfolios/one");
    fs::create_dir_all(&portfolio).unwrap();
    for name in ["homes.parquet", "values-2.parquet", "values-3.parquet.part"] {
        fs::write(portfolio.join(name), name.repeat(10)).unwrap();
    }
    fs::write(data.join("reference/iris.geojson.gz"), b"contours").unwrap();
    fs::write(
        data.join(crate::config::FILE_NAME),
        b"[log]\nlevel = \"warn\"\n",
    )
    .unwrap();
    let table = data.join("lake/_made_up");
    fs::create_dir_all(&table).unwrap();
    for name in [
        "000001-0000.parquet",
        "000001-0000.ids",
        "000001-0000.sums",
        "000000-0000.parquet",
        "import.lock",
    ] {
        fs::write(table.join(name), name.repeat(100)).unwrap();
    }
    let models = data.join("models");
    for version in ["former", "used"] {
        fs::create_dir_all(models.join(version)).unwrap();
        for name in ["model.json", "sales.parquet"] {
            fs::write(models.join(version).join(name), version.repeat(100)).unwrap();
        }
    }
    fs::write(models.join("current.json"), br#"{"version": "used"}"#).unwrap();
    fs::create_dir(models.join("reports")).unwrap();
    fs::write(models.join("reports/card.md"), b"# Estimates judged").unwrap();
    folder
}

fn back_up(folder: &Path, name: &str) -> Result<Manifest> {
    let clock = Clock::steered(Utc::now());
    let bar = ProgressBar::hidden();
    StagedBackup::take(&folder.join("data"), &folder.join(name), &clock, &bar)?.publish()
}

fn restore(from: &Path, data: &Path) -> Result<Manifest> {
    StagedRestore::prepare(from, data, &ProgressBar::hidden())?.publish()
}

fn left_over(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.'))
        .collect()
}

/// Publishes a snapshot of one data file.
fn publish_snapshot(folder: &Path) {
    let table = folder.join("data/lake/_made_up");
    let part = DataFileEntry {
        file: "000001-0000.parquet".to_owned(),
        run: 1,
        rows: 1,
        bytes: fs::metadata(table.join("000001-0000.parquet"))
            .unwrap()
            .len(),
        sums: String::new(),
        key_range: ("0".to_owned(), "1".to_owned()),
    };
    let mut snapshot = Snapshot {
        format: snapshot::FORMAT,
        sequence: 1,
        published_at: "2026-11-21T00:00:00.000Z".to_owned(),
        parts: vec![part],
        ..Snapshot::default()
    };
    snapshot.publish(&table).unwrap();
}

#[test]
fn a_folder_and_a_tar_restore_to_the_same_files() {
    let folder = data_folder();
    let path = folder.path();
    publish_snapshot(path);
    let manifest = back_up(path, "copy").unwrap();
    let names: Vec<&str> = manifest
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let expected = [
        "lake/_made_up/000001-0000.ids",
        "lake/_made_up/000001-0000.parquet",
        "lake/_made_up/000001-0000.sums",
        "lake/_made_up/snapshot.json",
        "ledger.sqlite",
        "models/current.json",
        "models/reports/card.md",
        "models/used/model.json",
        "models/used/sales.parquet",
        "portfolios/one/homes.parquet",
        "portfolios/one/values-2.parquet",
        "reference/iris.geojson.gz",
        "store.sqlite",
        "toise.toml",
    ];
    assert_eq!(names, expected);
    back_up(path, "copy.tar").unwrap();
    restore(&path.join("copy"), &path.join("one")).unwrap();
    fs::create_dir(path.join("two")).unwrap();
    restore(&path.join("copy.tar"), &path.join("two")).unwrap();
    for name in expected {
        let one = fs::read(path.join("one").join(name)).unwrap();
        assert_eq!(
            one,
            fs::read(path.join("two").join(name)).unwrap(),
            "{name}"
        );
        assert_eq!(
            one,
            fs::read(path.join("copy").join(name)).unwrap(),
            "{name}"
        );
    }
    let secret = |data: &str| {
        Store::open(&path.join(data))
            .unwrap()
            .secret("cursor")
            .unwrap()
    };
    assert_eq!(secret("data"), secret("one"));
    assert_eq!(secret("data"), secret("two"));
    assert_eq!(
        (left_over(path), left_over(&path.join("data"))),
        (vec![], vec![])
    );
}

#[test]
fn nothing_is_ever_overwritten() {
    let folder = data_folder();
    let path = folder.path();
    for name in ["copy", "copy.tar"] {
        back_up(path, name).unwrap();
        assert!(matches!(back_up(path, name), Err(Error::Exists(_))));
        let error = restore(&path.join(name), &path.join("data")).unwrap_err();
        assert!(matches!(error, Error::NotEmpty(_)), "{error}");
    }
    let nothing = path.join("nothing");
    let clock = Clock::system();
    let taken = StagedBackup::take(&nothing, &path.join("x"), &clock, &ProgressBar::hidden());
    assert!(matches!(taken, Err(Error::NoData(_))));
    assert!(!nothing.exists());
}

#[test]
fn a_backup_waits_for_the_current_model_and_refuses_an_invalid_one() {
    let folder = data_folder();
    let path = folder.path();
    let models = path.join("data/models");
    // A training run is about to replace the model by one of the same version.
    fs::rename(models.join("used"), models.join("used.new")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(60));
            fs::rename(models.join("used.new"), models.join("used")).unwrap();
        });
        back_up(path, "copy").unwrap();
    });
    assert!(path.join("copy/models/used/sales.parquet").exists());
    for text in ["{", r#"{"version": "../lake"}"#] {
        fs::write(models.join("current.json"), text).unwrap();
        let refused = back_up(path, "other").unwrap_err().to_string();
        assert!(
            refused.contains("current.json") && refused.contains("toise train"),
            "{refused}"
        );
    }
    fs::write(models.join("current.json"), br#"{"version": "lost"}"#).unwrap();
    let refused = back_up(path, "other").unwrap_err().to_string();
    assert!(refused.contains("models/lost"), "{refused}");
    fs::remove_file(models.join("current.json")).unwrap();
    let manifest = back_up(path, "without").unwrap();
    let is_model = |file: &&ManifestEntry| file.path.starts_with("models/");
    let of_models: Vec<&ManifestEntry> = manifest.files.iter().filter(is_model).collect();
    assert_eq!(of_models.len(), 1, "{of_models:?}");
}

#[test]
fn a_backup_deletes_leftovers_of_a_killed_one_and_two_do_not_run_at_once() {
    let folder = data_folder();
    let data = folder.path().join("data");
    fs::create_dir_all(data.join(".toise-backup-killed/lake")).unwrap();
    let (clock, bar) = (Clock::system(), ProgressBar::hidden());
    let take = |name: &str| StagedBackup::take(&data, &folder.path().join(name), &clock, &bar);
    let first = take("one.tar").unwrap();
    assert!(!data.join(".toise-backup-killed").exists());
    assert!(matches!(take("two"), Err(Error::Busy(_))));
    // A stage dropped before publication leaves nothing.
    drop(first);
    assert!(left_over(&data).is_empty() && !folder.path().join("one.tar").exists());
    take("two").unwrap().publish().unwrap();
}

#[test]
fn homes_of_portfolios_are_copied_with_their_checksum_and_verified() {
    let folder = data_folder();
    let homes = folder.path().join("data/portfolios/one/homes.parquet");
    let whole = fs::read(&homes).unwrap();
    let checksum = blake3::hash(&whole).to_hex();
    fs::write(homes.with_extension("blake3"), checksum.as_str()).unwrap();
    let (clock, bar) = (Clock::system(), ProgressBar::hidden());
    let names_homes = |name: &str| {
        let (data, target) = (folder.path().join("data"), folder.path().join(name));
        let staged = StagedBackup::take(&data, &target, &clock, &bar).unwrap();
        let copied = staged.folder().join("portfolios/one/homes.blake3");
        assert!(copied.exists());
        // The model of this folder is not a real one.
        let refused = verify::files(staged.folder(), &|_| ()).unwrap_err();
        refused.to_string().contains("portfolios/one/homes.parquet")
    };
    assert!(!names_homes("whole"));
    fs::write(&homes, &whole[1..]).unwrap();
    assert!(names_homes("damaged"));
    fs::remove_file(&homes).unwrap();
    assert!(names_homes("lost"));
}

#[test]
fn a_backup_with_one_byte_changed_makes_no_data_folder() {
    let folder = data_folder();
    let path = folder.path();
    publish_snapshot(path);
    back_up(path, "copy.tar").unwrap();
    let whole = fs::read(path.join("copy.tar")).unwrap();
    for at in (0..whole.len()).step_by(997) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(path.join("changed.tar"), &changed).unwrap();
        // Bytes between and after files are padding.
        if restore(&path.join("changed.tar"), &path.join("new")).is_ok() {
            for entry in ["store.sqlite", "lake/_made_up/000001-0000.parquet"] {
                restore_equals(path, entry);
            }
            fs::remove_dir_all(path.join("new")).unwrap();
        }
        assert!(!path.join("new").exists());
        assert!(left_over(path).is_empty());
    }
    let cut = &whole[..whole.len() / 2];
    fs::write(path.join("cut.tar"), cut).unwrap();
    assert!(restore(&path.join("cut.tar"), &path.join("new")).is_err());
}

#[test]
fn long_names_and_lengths_beyond_octal_are_kept_and_a_file_that_shrank_is_refused() {
    let long = format!("{}/{}", "folder".repeat(12), "name".repeat(20));
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in [("a", 0usize), (&long, 512), ("d", 70_000)] {
        let content = vec![7u8; bytes];
        let content = &mut content.as_slice();
        append(&mut archive, name, bytes as u64, u32::MAX, content).unwrap();
    }
    assert!(append(&mut archive, &"x".repeat(300), 1, 0, &mut [1u8].as_slice()).is_err());
    let bytes = archive.into_inner().unwrap();
    let mut read = tar::Archive::new(bytes.as_slice());
    let found = read.entries().unwrap().raw(true).map(|entry| {
        let entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        (name, entry.size())
    });
    let expected = [("a".to_owned(), 0), (long, 512), ("d".to_owned(), 70_000)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    const OCTAL_END: u64 = 1 << 33;
    for bytes in [OCTAL_END - 1, OCTAL_END, 5 << 40] {
        let mut archive = tar::Builder::new(Vec::new());
        let shrank = append(&mut archive, "store.sqlite", bytes, 0, &mut io::empty());
        assert_eq!(shrank.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let written = archive.into_inner().unwrap();
        let header = tar::Header::from_byte_slice(&written[..512]);
        assert_eq!(header.size().unwrap(), bytes);
    }
}

#[test]
fn a_tar_of_the_first_versions_restores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let content = b"[log]\nlevel = \"warn\"\n";
    let file = ManifestEntry {
        path: "toise.toml".to_owned(),
        bytes: content.len() as u64,
        blake3: blake3::hash(content).to_hex().to_string(),
    };
    let manifest = Manifest {
        format: FORMAT,
        version: "0.1.0".to_owned(),
        created_at: "2026-11-21T00:00:00.000Z".to_owned(),
        files: vec![file],
    };
    let manifest = serde_json::to_vec(&manifest).unwrap();
    let mut archive = Vec::new();
    for (name, content) in [
        (MANIFEST_FILE, manifest.as_slice()),
        ("toise.toml", content),
    ] {
        archive.extend_from_slice(&former_header(name, content.len()));
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1_024, 0);
    fs::write(path.join("former.tar"), archive).unwrap();
    restore(&path.join("former.tar"), &path.join("new")).unwrap();
    assert_eq!(fs::read(path.join("new/toise.toml")).unwrap(), content);
}

/// Returns a tar header without an owner, as versions before the `tar` crate wrote it.
fn former_header(name: &str, bytes: usize) -> [u8; 512] {
    let mut block = [0u8; 512];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000600");
    put(124, format!("{bytes:011o}").as_bytes());
    put(136, format!("{:011o}", 1_760_000_000).as_bytes());
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn restore_equals(path: &Path, entry: &str) {
    restore(&path.join("copy.tar"), &path.join("reference")).unwrap();
    let expected = fs::read(path.join("reference").join(entry)).unwrap();
    assert_eq!(
        fs::read(path.join("new").join(entry)).unwrap(),
        expected,
        "{entry}"
    );
    fs::remove_dir_all(path.join("reference")).unwrap();
}

#[test]
fn a_path_that_is_not_a_backup_is_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("notes.tar"), "not a tar at all").unwrap();
    fs::create_dir(path.join("empty")).unwrap();
    for name in ["notes.tar", "empty"] {
        let error = restore(&path.join(name), &path.join("data"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(name) && error.contains("not a backup"),
            "{error}"
        );
    }
    assert!(restore(&path.join("missing"), &path.join("data")).is_err());
    // A manifest with a path outside the backup.
    let manifest = r#"{"format":1,"version":"x","created_at":"x","files":[{"path":"../up","bytes":0,"blake3":""}]}"#;
    fs::write(path.join("empty").join(MANIFEST_FILE), manifest).unwrap();
    let error = restore(&path.join("empty"), &path.join("data"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("../up"), "{error}");
    assert!(!path.join("data").exists());
}

#[cfg(unix)]
#[test]
fn what_a_killed_backup_leaves_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = data_folder();
    let bar = ProgressBar::hidden();
    let clock = Clock::steered(Utc::now());
    let data = folder.path().join("data");
    let backup = folder.path().join("backup");
    let staged = StagedBackup::take(&data, &backup, &clock, &bar).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(staged.folder()), 0o700);
    staged.publish().unwrap();
    let restored = folder.path().join("restored");
    let staged = StagedRestore::prepare(&backup, &restored, &bar).unwrap();
    assert_eq!(mode(staged.folder().parent().unwrap()), 0o700);
}

#[cfg(unix)]
#[test]
fn a_link_is_refused_by_name() {
    let folder = data_folder();
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, b"of somebody else").unwrap();
    let link = folder.path().join("data/reference/link.geojson");
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    let refused = back_up(folder.path(), "backup").unwrap_err();
    assert!(
        matches!(&refused, Error::Link(path) if *path == link),
        "{refused}"
    );
    assert!(!folder.path().join("backup").exists());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_backup_is_refused_rather_than_waited_for() {
    let folder = data_folder();
    back_up(folder.path(), "backup").unwrap();
    let contours = folder.path().join("backup/reference/iris.geojson.gz");
    fs::remove_file(&contours).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&contours).status();
    if !made.is_ok_and(|status| status.success()) {
        skip::skipped("there is no mkfifo");
        return;
    }
    let restored = folder.path().join("restored");
    let refused = restore(&folder.path().join("backup"), &restored).unwrap_err();
    assert!(refused.to_string().contains("is not a file"), "{refused}");
    assert!(!restored.exists());
}
