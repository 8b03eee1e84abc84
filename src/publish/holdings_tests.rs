//! Tests of replicas that hold some departments: what is on disk, what is fetched, and what happens when the
//! departments change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::ProgressBar;
use object_store::memory::InMemory;
use toise_lake::data_file::DataFile;
use toise_lake::{Lake, partial};
use toise_store::Store;

use super::Result;
use super::holdings::Holdings;
use super::remote::Remote;
use super::replica::Replica;
use super::tests::{SALES, first_state, killed, patient, publish_from};

/// Rows of the first state, all of them in Lozère.
const ROWS: u64 = 40;
const LOZERE: &str = "48";
const PARIS: &str = "75";

fn of(departments: &[&str], fetched_bytes_max: u64) -> Holdings {
    Holdings {
        departments: departments.iter().map(|code| (*code).to_owned()).collect(),
        fetched_bytes_max,
    }
}

/// Opens a replica, polls once and installs a new snapshot.
async fn open(data: &Path, remote: &Remote, holdings: Holdings) -> Result<Replica> {
    let mut replica = Replica::open(data, remote.clone(), holdings)?;
    let store = Store::open(data)?;
    replica.recover(&store)?;
    if let Some(manifest) = replica.poll(&store, &ProgressBar::hidden()).await? {
        replica.install(manifest, &store)?;
    }
    Ok(replica)
}

/// Returns the number of bytes of the sales that are on disk.
fn on_disk(data: &Path) -> u64 {
    files(data)
        .iter()
        .map(|file| partial::allocated(file).unwrap())
        .sum()
}

fn files(data: &Path) -> [PathBuf; 2] {
    let folder = Lake::folder_in(data, &SALES);
    let entry = Lake::open(data)
        .unwrap()
        .snapshot(&SALES)
        .unwrap()
        .parts
        .remove(0);
    let [rows, ids, _] = entry.files();
    [folder.join(rows), folder.join(ids)]
}

/// Reads every byte of the sales, as readers do.
fn read(data: &Path) -> std::result::Result<u64, toise_lake::Error> {
    let lake = Lake::open(data)?;
    let entry = lake.snapshot(&SALES)?.parts.remove(0);
    let file = DataFile::open(&lake.folder(&SALES), &entry, &SALES)?;
    for file in file.files() {
        file.read(0..file.length())?;
    }
    Ok(entry.rows)
}

async fn published(folder: &Path) -> Remote {
    let remote = Remote::over(Arc::new(InMemory::new()), "some/prefix", patient());
    first_state(folder);
    publish_from(folder, &remote, "a").await.unwrap();
    remote
}

#[tokio::test]
async fn what_a_replica_does_not_hold_is_fetched_when_it_is_read_and_goes_when_there_is_too_much() {
    let (writer, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let remote = published(writer.path()).await;
    let replica = open(data.path(), &remote, of(&[PARIS], 1 << 20))
        .await
        .unwrap();
    assert_eq!(on_disk(data.path()), 0);
    // Other programs cannot fill holes.
    assert!(!data.path().join("lake/sales").exists());
    assert_eq!(read(data.path()).unwrap(), ROWS);
    for (here, there) in files(data.path()).iter().zip(files(writer.path())) {
        assert_eq!(std::fs::read(here).unwrap(), std::fs::read(there).unwrap());
    }
    let [rows, ids] = files(data.path());
    drop(replica);

    // Fetched bytes stay over a restart, and the check finds no damage in them.
    let replica = open(data.path(), &remote, of(&[PARIS], 1 << 20))
        .await
        .unwrap();
    assert!(partial::allocated(&rows).unwrap() > 0);
    let check = Lake::open(data.path()).unwrap().check(&SALES);
    assert_eq!(check.run(&|_| ()).damaged, []);
    drop(replica);

    // With less space, the least recently fetched file becomes a hole again.
    partial::release_disk_space(&rows).unwrap();
    partial::release_disk_space(&ids).unwrap();
    let replica = open(data.path(), &remote, of(&[PARIS], 1)).await.unwrap();
    assert_eq!(read(data.path()).unwrap(), ROWS);
    assert_eq!(
        partial::allocated(&rows).unwrap(),
        0,
        "the index was fetched last"
    );
    assert!(partial::allocated(&ids).unwrap() > 0);
    drop(replica);

    // Without its server nothing is fetched, and zeros are not read as rows.
    let refused = read(data.path()).unwrap_err().to_string();
    assert!(refused.contains("is not on this disk"), "{refused}");
    let check = Lake::open(data.path()).unwrap().check(&SALES);
    assert_eq!(check.run(&|_| ()).damaged, []);
}

#[tokio::test]
async fn a_replica_whose_departments_change_switches_to_the_new_ones() {
    let (writer, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let remote = published(writer.path()).await;
    let whole = files(writer.path()).map(|file| std::fs::read(file).unwrap());
    let held = || files(data.path()).map(|file| std::fs::read(file).unwrap()) == whole;
    for (holdings, is_held) in [
        (of(&[], 0), true),
        (of(&[PARIS], 1 << 20), false),
        (of(&[PARIS, LOZERE], 1 << 20), true),
        (of(&["2A"], 1 << 20), false),
        (of(&[], 0), true),
    ] {
        let name = format!("{holdings:?}");
        let replica = open(data.path(), &remote, holdings).await.unwrap();
        assert_eq!(held(), is_held, "{name}");
        assert_eq!(read(data.path()).unwrap(), ROWS, "{name}");
        drop(replica);
    }
    // It is complete again, so other programs may read it.
    assert!(data.path().join("lake/sales").exists());
}

#[tokio::test]
async fn bytes_that_cannot_be_fetched_or_are_wrong_are_an_error_by_name_and_those_damaged_here_are_repaired()
 {
    let (writer, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let remote = published(writer.path()).await;
    drop(
        open(data.path(), &remote, of(&[PARIS], 1 << 20))
            .await
            .unwrap(),
    );
    // The object store is gone: the replica serves the bytes it has, and names those it lacks.
    let gone = Remote::over(Arc::new(InMemory::new()), "some/prefix", killed());
    let replica = Replica::open(data.path(), gone, of(&[PARIS], 1 << 20)).unwrap();
    let error = read(data.path()).unwrap_err().to_string();
    assert!(error.contains("000001-0000.parquet"), "{error}");
    drop(replica);

    let replica = open(data.path(), &remote, of(&[PARIS], 1 << 20))
        .await
        .unwrap();
    assert_eq!(read(data.path()).unwrap(), ROWS);
    let [rows, _] = files(data.path());
    let mut bytes = std::fs::read(&rows).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&rows, &bytes).unwrap();
    assert_eq!(read(data.path()).unwrap(), ROWS);
    bytes[100] ^= 1;
    assert_eq!(std::fs::read(&rows).unwrap(), bytes);
    drop(replica);
}
