//! Tests of publications and replicas of small data folders, over an object store that fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arrow::array::{ArrayRef, Date32Array, RecordBatch, StringArray};
use chrono::{DateTime, TimeDelta, Utc};
use futures::TryStreamExt;
use indicatif::ProgressBar;
use object_store::memory::InMemory;
use object_store::path::Path as RemotePath;
use object_store::{ObjectStore, ObjectStoreExt};

use super::capture::Capture;
use super::faults::{FaultRates, FaultyStore};
use super::garbage::{Mode, Retention, collect};
use super::holdings::Holdings;
use super::manifest::{Content, Manifest};
use super::publisher::{Extent, Publication, Publisher, publish};
use super::remote::Remote;
use super::replica::Replica;
use super::retry::RetryPolicy;
use super::{Error, Result};
use toise_base::clock::Clock;
use toise_base::splitmix::mix;
use toise_lake::schema::{Column, ColumnKind, TableSchema};
use toise_lake::{Lake, RowSink};
use toise_store::Store;

pub(super) static SALES: LazyLock<TableSchema> = LazyLock::new(|| {
    let kinds = [
        ("id", ColumnKind::Text),
        ("department", ColumnKind::Category),
        ("commune", ColumnKind::Category),
        ("class", ColumnKind::Category),
        ("date", ColumnKind::Date),
    ];
    let columns = kinds.map(|(name, kind)| Column {
        name: name.into(),
        kind,
        filterable: true,
    });
    TableSchema::new(
        "sales",
        columns.to_vec(),
        "id",
        None,
        "department",
        "commune",
        "class",
        "date",
        None,
    )
});

/// Returns a policy with waits of milliseconds and many attempts.
pub(super) fn patient() -> RetryPolicy {
    RetryPolicy {
        attempts_max: 16,
        backoff_first: Duration::from_millis(1),
        backoff_max: Duration::from_millis(2),
        answer_timeout: Duration::from_millis(250),
    }
}

/// Returns a policy with one attempt: a killed process does not try again.
pub(super) fn killed() -> RetryPolicy {
    RetryPolicy {
        attempts_max: 1,
        ..patient()
    }
}

fn publisher(name: &str) -> Publisher {
    Publisher {
        name: name.into(),
        version: "0.1.0".into(),
        writer: Some("https://writer.example".into()),
        extent: Extent::New,
        verify: |_| Vec::new(),
    }
}

/// Imports sales.
fn import(data: &Path, ids: std::ops::Range<u32>) {
    let lake = Lake::open(data).unwrap();
    let ids: Vec<String> = ids.map(|id| format!("s{id:05}")).collect();
    let texts = |value: &dyn Fn(&str) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            ids.iter().map(|id| value(id)),
        ))
    };
    let columns = SALES.columns.iter().map(|column| match &*column.name {
        "id" => texts(&|id| id.to_owned()),
        "department" => texts(&|_| "48".to_owned()),
        "commune" => texts(&|_| "48095".to_owned()),
        "date" => Arc::new(Date32Array::from(vec![19_000; ids.len()])),
        "record" => texts(&|id| format!(r#"{{"id":"{id}"}}"#)),
        _ => texts(&|_| "x".to_owned()),
    });
    let rows = RecordBatch::try_new(Arc::clone(SALES.arrow()), columns.collect()).unwrap();
    let mut import = lake.import(&SALES).unwrap();
    import.push(rows).unwrap();
    import.publish(Vec::new(), Vec::new()).unwrap();
}

/// Stores properties with records.
fn store_properties(data: &Path, numbers: std::ops::Range<i64>) {
    let store = Store::open(data).unwrap();
    store
        .write(move |rows| {
            for number in numbers {
                let document = format!("record {number}").into_bytes();
                rows.execute("INSERT INTO records VALUES (?1, ?2)", (number, document))?;
                rows.execute(
                    "INSERT INTO properties VALUES (?1, ?2, ?1, NULL, ?1)",
                    (number, number.to_le_bytes()),
                )?;
            }
            Ok(())
        })
        .unwrap();
}

fn write_file(data: &Path, path: &str, text: &str) {
    let path = data.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Makes a model current, as training does.
fn train(data: &Path, version: &str) {
    write_file(data, &format!("models/{version}/model.json"), version);
    write_file(
        data,
        "models/current.json",
        &format!(r#"{{"version":"{version}"}}"#),
    );
}

/// Writes the first state of a data folder.
pub(super) fn first_state(data: &Path) {
    import(data, 0..40);
    store_properties(data, 1..700);
    train(data, "m1");
    write_file(data, "reference/iris.geojson.gz", "contours");
    write_file(data, "toise.toml", "secret = true");
}

/// Writes the second state: another import, other properties, another model.
fn second_state(data: &Path) {
    import(data, 20..60);
    store_properties(data, 700..710);
    train(data, "m2");
}

/// Returns what readers of a data folder see: each file that snapshots and lists name, and the rows of the store.
fn seen(data: &Path) -> BTreeMap<String, String> {
    let capture = Capture::take(data, &|_| false, &|_| Vec::new(), &|_| ()).unwrap();
    let files = capture
        .files
        .iter()
        .map(|file| (file.path.clone(), &file.content));
    let rows = capture
        .rows
        .iter()
        .map(|block| (block.name(), &block.content));
    files
        .chain(rows)
        .filter(|(name, _)| !name.contains("reports/"))
        .map(|(name, content)| (name, content.blake3.clone()))
        .collect()
}

pub(super) async fn publish_from(data: &Path, remote: &Remote, name: &str) -> Result<Publication> {
    let bar = ProgressBar::hidden();
    publish(data, remote, &publisher(name), &Clock::system(), &bar).await
}

/// Publishes a folder, which must succeed.
async fn published(data: &tempfile::TempDir, remote: &Remote) -> Publication {
    publish_from(data.path(), remote, "a").await.unwrap()
}

/// Opens a replica of a remote in a folder, polls once and installs a new snapshot.
async fn follow(data: &Path, remote: &Remote) -> Result<Option<u64>> {
    let mut replica = Replica::open(data, remote.clone(), Holdings::default())?;
    let store = Store::open(data)?;
    replica.recover(&store)?;
    let Some(manifest) = replica.poll(&store, &ProgressBar::hidden()).await? else {
        return Ok(None);
    };
    let number = manifest.number;
    replica.install(manifest, &store)?;
    Ok(Some(number))
}

/// Two data folders of a writer, in its first and its second state, with what readers see of each.
struct Writer {
    first: tempfile::TempDir,
    second: tempfile::TempDir,
    seen: [BTreeMap<String, String>; 2],
}

impl Writer {
    fn new() -> Self {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for data in [first.path(), second.path()] {
            first_state(data);
        }
        let one = seen(first.path());
        // Two imports of the same rows differ only in the time of the import.
        let copy = second.path();
        for file in ["lake", "store.sqlite", "ledger.sqlite"] {
            let _ = std::fs::remove_dir_all(copy.join(file));
            let _ = std::fs::remove_file(copy.join(file));
        }
        copy_tree(&first.path().join("lake"), &copy.join("lake"));
        store_properties(copy, 1..700);
        assert_eq!(seen(copy), one);
        second_state(copy);
        let two = seen(copy);
        assert_ne!(one, two);
        Self {
            first,
            second,
            seen: [one, two],
        }
    }

    fn remote(&self, store: &Arc<InMemory>) -> Remote {
        Remote::over(Arc::clone(store) as _, "some/prefix", patient())
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &to)
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

async fn objects(store: &InMemory) -> BTreeMap<RemotePath, u64> {
    let listed = store.list(None).map_ok(|meta| (meta.location, meta.size));
    listed.try_collect().await.unwrap()
}

#[tokio::test]
async fn a_replica_shows_what_was_published_and_only_what_changed_travels() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let (remote, replica) = (writer.remote(&store), tempfile::tempdir().unwrap());
    let nothing = follow(replica.path(), &remote).await.unwrap_err();
    assert!(matches!(nothing, Error::NothingPublished(_)), "{nothing}");

    let one = published(&writer.first, &remote).await;
    assert_eq!((one.number, one.is_new), (1, true));
    assert_eq!(one.uploaded_bytes, one.bytes);
    assert_eq!(follow(replica.path(), &remote).await.unwrap(), Some(1));
    assert_eq!(seen(replica.path()), writer.seen[0]);
    assert!(!replica.path().join("toise.toml").exists());

    let same = published(&writer.first, &remote).await;
    assert_eq!((same.number, same.is_new, same.uploaded), (1, false, 0));
    assert_eq!(follow(replica.path(), &remote).await.unwrap(), None);

    let two = published(&writer.second, &remote).await;
    assert_eq!((two.number, two.is_new), (2, true));
    assert!(two.uploaded_bytes < two.bytes, "{two:?}");
    assert_eq!(follow(replica.path(), &remote).await.unwrap(), Some(2));
    assert_eq!(seen(replica.path()), writer.seen[1]);

    // A replica that starts empty gets the same, and a writer can go back, as after a restore.
    let fresh = tempfile::tempdir().unwrap();
    assert_eq!(follow(fresh.path(), &remote).await.unwrap(), Some(2));
    assert_eq!(seen(fresh.path()), writer.seen[1]);
    published(&writer.first, &remote).await;
    assert_eq!(follow(fresh.path(), &remote).await.unwrap(), Some(3));
    assert_eq!(seen(fresh.path()), writer.seen[0]);
}

#[tokio::test]
async fn of_two_publishers_one_wins_and_the_other_names_it() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let remote = writer.remote(&store);
    let (one, other) = tokio::join!(
        publish_from(writer.first.path(), &remote, "one"),
        publish_from(writer.second.path(), &remote, "other")
    );
    let (won, lost, winner) = match (one, other) {
        (Ok(won), Err(lost)) => (won, lost, "one"),
        (Err(lost), Ok(won)) => (won, lost, "other"),
        both => panic!("{both:?}"),
    };
    let Error::Overtaken {
        number, publisher, ..
    } = lost
    else {
        panic!("{lost}");
    };
    assert_eq!((number, publisher.as_str()), (won.number, winner));
    let pointer = remote.pointer().await.unwrap().unwrap().pointer;
    assert_eq!(
        (pointer.number, pointer.publisher.as_str()),
        (won.number, winner)
    );
    let again = publish_from(writer.second.path(), &remote, "other")
        .await
        .unwrap();
    assert_eq!(again.is_new, winner == "one");
}

#[tokio::test]
async fn a_publisher_killed_during_any_request_leaves_one_whole_state_and_the_next_goes_on() {
    let writer = Writer::new();
    let base = Arc::new(InMemory::new());
    published(&writer.first, &writer.remote(&base)).await;
    let mut outcomes = [0, 0];
    for request in 0.. {
        let store = Arc::new(base.fork());
        let faulty = FaultyStore::killed_at(&store, request);
        let dying = Remote::over(Arc::clone(&faulty) as _, "some/prefix", killed());
        let died = publish_from(writer.second.path(), &dying, "dying").await;
        let reader = tempfile::tempdir().unwrap();
        let remote = writer.remote(&store);
        follow(reader.path(), &remote).await.unwrap();
        let state = seen(reader.path());
        let shown = writer
            .seen
            .iter()
            .position(|known| *known == state)
            .unwrap();
        outcomes[shown] += 1;
        if faulty.requests() <= request {
            died.unwrap();
            assert_eq!(shown, 1);
            break;
        }
        publish_from(writer.second.path(), &remote, "next")
            .await
            .unwrap();
        follow(reader.path(), &remote).await.unwrap();
        assert_eq!(seen(reader.path()), writer.seen[1], "killed at {request}");
    }
    assert!(outcomes[0] > 10, "{outcomes:?}");
}

#[tokio::test]
async fn a_replica_killed_during_any_request_keeps_its_state_and_goes_on_with_what_it_has() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let remote = writer.remote(&store);
    published(&writer.first, &remote).await;
    let replica = tempfile::tempdir().unwrap();
    follow(replica.path(), &remote).await.unwrap();
    published(&writer.second, &remote).await;
    let mut requests = 0;
    for request in (0..).step_by(2) {
        let faulty = FaultyStore::killed_at(&store, request);
        let dying = Remote::over(Arc::clone(&faulty) as _, "some/prefix", killed());
        match follow(replica.path(), &dying).await {
            Ok(followed) => {
                assert_eq!(followed, Some(2));
                break;
            }
            Err(error) => assert!(
                matches!(error, Error::Remote { .. } | Error::TimedOut { .. }),
                "{error}"
            ),
        }
        assert_eq!(seen(replica.path()), writer.seen[0]);
        requests += faulty.requests();
    }
    assert!(requests > 0);
    assert_eq!(seen(replica.path()), writer.seen[1]);
}

#[tokio::test]
async fn through_many_faults_every_reader_sees_one_whole_state() {
    let writer = Writer::new();
    for seed in 0..12 {
        let store = Arc::new(InMemory::new());
        let rates = FaultRates {
            failing: 25,
            stale: 5,
        };
        let faulty = FaultyStore::new(&store, seed, rates);
        let remote = Remote::over(faulty, "some/prefix", patient());
        let replica = tempfile::tempdir().unwrap();
        for (number, data) in [writer.first.path(), writer.second.path()]
            .into_iter()
            .enumerate()
        {
            // A stale answer makes a publisher believe that another one was faster.
            let mut published = Err(Error::NothingPublished(String::new()));
            for _ in 0..10 {
                published = publish_from(data, &remote, "a").await;
                if published.is_ok() {
                    break;
                }
            }
            let published = published.unwrap();
            for _ in 0..20 {
                if let Ok(followed) = follow(replica.path(), &remote).await
                    && followed == Some(published.number)
                {
                    break;
                }
                if replica.path().join("replica/installed.json").exists() {
                    let state = seen(replica.path());
                    assert!(writer.seen.contains(&state), "seed {seed}");
                }
            }
            assert_eq!(seen(replica.path()), writer.seen[number], "seed {seed}");
        }
    }
}

#[tokio::test]
async fn a_corrupt_or_missing_object_is_refused_by_name_and_the_former_state_stays() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let remote = writer.remote(&store);
    let replicas = [(); 3].map(|()| tempfile::tempdir().unwrap());
    published(&writer.first, &remote).await;
    for replica in &replicas {
        follow(replica.path(), &remote).await.unwrap();
    }
    published(&writer.second, &remote).await;
    let pointer = remote.pointer().await.unwrap().unwrap().pointer;
    let manifest = remote.manifest(&pointer).await.unwrap();
    let of = |wanted: &str| -> (String, String) {
        let mut files = manifest.files.iter();
        let file = files.find(|file| file.path.contains(wanted)).unwrap();
        (file.path.clone(), file.content.path())
    };
    let damaged = [
        of("000002-0000.parquet"),
        of("m2/model.json"),
        ("snapshot 2".to_owned(), Manifest::path_of(2)),
    ];
    for ((name, path), replica) in damaged.iter().zip(&replicas) {
        let at = RemotePath::from(format!("some/prefix/{path}"));
        let right = store.get(&at).await.unwrap().bytes().await.unwrap();
        let mut flipped = right.to_vec();
        flipped[right.len() / 2] ^= 1;
        let shorter = right[..right.len() - 1].to_vec();
        for wrong in [flipped, shorter] {
            store.put(&at, wrong.into()).await.unwrap();
            let error = follow(replica.path(), &remote).await.unwrap_err();
            let is_named = matches!(&error, Error::Corrupt { name: found, .. } if found == name);
            assert!(is_named, "{error}");
            assert!(error.to_string().starts_with(name), "{error}");
            assert_eq!(seen(replica.path()), writer.seen[0]);
        }
        store.delete(&at).await.unwrap();
        let error = follow(replica.path(), &remote).await.unwrap_err();
        let is_named = matches!(&error, Error::Missing { name: found, .. } if found == name);
        assert!(is_named, "{error}");
        assert_eq!(seen(replica.path()), writer.seen[0]);
        store.put(&at, right.into()).await.unwrap();
        assert_eq!(follow(replica.path(), &remote).await.unwrap(), Some(2));
        assert_eq!(seen(replica.path()), writer.seen[1]);
    }
}

#[tokio::test]
async fn an_installation_that_was_killed_is_completed_without_the_network() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let (remote, data) = (writer.remote(&store), tempfile::tempdir().unwrap());
    published(&writer.first, &remote).await;
    follow(data.path(), &remote).await.unwrap();
    published(&writer.second, &remote).await;
    let mut replica = Replica::open(data.path(), remote.clone(), Holdings::default()).unwrap();
    let rows = Store::open(data.path()).unwrap();
    let manifest = replica
        .poll(&rows, &ProgressBar::hidden())
        .await
        .unwrap()
        .unwrap();
    let text = serde_json::to_string(&manifest).unwrap();
    drop((replica, rows));
    // Killed when only the manifest was written.
    write_file(data.path(), "replica/next.json", &text);
    let gone = Remote::over(Arc::new(InMemory::new()), "", killed());
    let mut replica = Replica::open(data.path(), gone.clone(), Holdings::default()).unwrap();
    let rows = Store::open(data.path()).unwrap();
    replica.recover(&rows).unwrap();
    assert_eq!(replica.installed().unwrap().number, 2);
    drop((replica, rows));
    assert_eq!(seen(data.path()), writer.seen[1]);
    // Killed at the end of the installation, when only the manifest is not renamed yet: done again.
    write_file(data.path(), "replica/next.json", &text);
    let mut replica = Replica::open(data.path(), gone, Holdings::default()).unwrap();
    replica.recover(&Store::open(data.path()).unwrap()).unwrap();
    drop(replica);
    assert_eq!(seen(data.path()), writer.seen[1]);
}

#[tokio::test]
async fn what_is_damaged_at_home_is_not_published_and_other_folders_are_not_overwritten() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let remote = writer.remote(&store);
    let data = writer.first.path();
    let refused = Replica::open(data, remote.clone(), Holdings::default()).unwrap_err();
    assert!(matches!(refused, Error::OwnData(_)), "{refused}");
    let part = data.join("lake/_sales/000001-0000.parquet");
    let mut bytes = std::fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&part, bytes).unwrap();
    let error = publish_from(data, &remote, "a").await.unwrap_err();
    assert!(error.to_string().contains("000001-0000.parquet"), "{error}");
    assert!(remote.pointer().await.unwrap().is_none());
    let empty = tempfile::tempdir().unwrap();
    let error = publish_from(empty.path(), &remote, "a").await.unwrap_err();
    assert!(matches!(error, Error::NoData(_)), "{error}");
}

#[tokio::test]
async fn objects_that_were_damaged_or_lost_are_repaired_by_sending_everything() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let remote = writer.remote(&store);
    let data = writer.first.path();
    publish_from(data, &remote, "a").await.unwrap();
    let objects: Vec<RemotePath> = objects(&store).await.into_keys().collect();
    let content = objects
        .iter()
        .filter(|path| path.as_ref().contains("objects/"));
    for (number, path) in content.enumerate() {
        let bytes = store.get(path).await.unwrap().bytes().await.unwrap();
        match number % 2 {
            0 => store.delete(path).await.unwrap(),
            _ => drop(store.put(path, vec![0; bytes.len()].into()).await.unwrap()),
        }
    }
    // The data folder has not changed, so nothing is sent.
    assert!(!publish_from(data, &remote, "a").await.unwrap().is_new);
    let all = Publisher {
        extent: Extent::All,
        ..publisher("a")
    };
    let bar = ProgressBar::hidden();
    let repaired = publish(data, &remote, &all, &Clock::system(), &bar).await;
    assert_eq!(repaired.unwrap().number, 2);
    let replica = tempfile::tempdir().unwrap();
    follow(replica.path(), &remote).await.unwrap();
    assert_eq!(seen(replica.path()), writer.seen[0]);
}

#[tokio::test]
async fn an_upload_that_was_cut_short_is_sent_again() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let remote = writer.remote(&store);
    let capture = Capture::take(writer.first.path(), &|_| false, &|_| Vec::new(), &|_| ()).unwrap();
    let file = capture
        .files
        .iter()
        .find(|file| file.path.ends_with(".parquet"))
        .unwrap();
    let at = RemotePath::from(format!("some/prefix/{}", file.content.path()));
    store.put(&at, "PAR1".into()).await.unwrap();
    drop(capture);
    published(&writer.first, &remote).await;
    let replica = tempfile::tempdir().unwrap();
    follow(replica.path(), &remote).await.unwrap();
    assert_eq!(seen(replica.path()), writer.seen[0]);
}

#[tokio::test]
async fn long_content_sent_in_parts_is_there_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("long.parquet");
    // Three parts, the last of them short.
    let bytes: Vec<u8> = (0..18_u64 << 17)
        .flat_map(|word| mix(word).to_le_bytes())
        .collect();
    std::fs::write(&from, &bytes).unwrap();
    let content = Content::of(&bytes);
    let rates = FaultRates {
        failing: 12,
        stale: 0,
    };
    let (mut written, mut refused) = (0, 0);
    for seed in 0..12 {
        let store = Arc::new(InMemory::new());
        let faulty = FaultyStore::new(&store, seed, rates);
        let policy = RetryPolicy {
            attempts_max: 3,
            ..patient()
        };
        let remote = Remote::over(faulty as _, "some/prefix", policy);
        let uploaded = remote
            .upload(&content, &from, DateTime::UNIX_EPOCH, &|_| ())
            .await;
        let at = RemotePath::from(format!("some/prefix/{}", content.path()));
        let found = store.get(&at).await.ok();
        let there = match found {
            Some(found) => Some(found.bytes().await.unwrap()),
            None => None,
        };
        match uploaded {
            Ok(_) => written += 1,
            Err(_) => refused += 1,
        }
        // The object of an upload whose last answer was lost may exist as well.
        assert!(uploaded.is_err() || there.is_some(), "seed {seed}");
        assert!(there.is_none_or(|there| there == bytes), "seed {seed}");
    }
    assert!(
        written > 0 && refused > 0,
        "{written} written, {refused} refused"
    );
}

#[tokio::test]
async fn garbage_is_what_no_kept_snapshot_names_after_the_grace_time() {
    let (writer, store) = (Writer::new(), Arc::new(InMemory::new()));
    let remote = writer.remote(&store);
    for data in [&writer.first, &writer.second, &writer.first, &writer.second] {
        publish_from(data.path(), &remote, "a").await.unwrap();
    }
    let orphan = RemotePath::from(format!("some/prefix/{}", Content::of(b"orphan").path()));
    store.put(&orphan, "orphan".into()).await.unwrap();
    let before = objects(&store).await;
    let later = Utc::now() + TimeDelta::hours(25);
    let retention = |keep: usize| Retention {
        keep,
        grace: TimeDelta::hours(24),
    };
    let bar = ProgressBar::hidden();
    // Too young.
    let found = collect(&remote, retention(1), Utc::now(), Mode::Delete, &bar)
        .await
        .unwrap();
    assert_eq!((found.objects, found.snapshots.len()), (0, 0));
    assert_eq!(found.kept, [1, 2, 3, 4]);
    assert_eq!(found.young, 1);
    // A dry run reports what would be deleted.
    let dry = collect(&remote, retention(2), later, Mode::DryRun, &bar)
        .await
        .unwrap();
    assert_eq!((dry.kept.as_slice(), dry.objects), ([3, 4].as_slice(), 1));
    bar.reset();
    assert_eq!(objects(&store).await, before);
    let deleted = collect(&remote, retention(2), later, Mode::Delete, &bar)
        .await
        .unwrap();
    assert_eq!(deleted, dry);
    // Four snapshots were read; two of them and one object were deleted.
    assert_eq!((bar.length(), bar.position()), (Some(7), 7));
    let deleted = collect(&remote, retention(1), later, Mode::Delete, &bar)
        .await
        .unwrap();
    assert_eq!(
        (deleted.kept.as_slice(), deleted.snapshots.as_slice()),
        ([4].as_slice(), [3].as_slice())
    );
    assert!(deleted.objects > 3, "{deleted:?}");
    let replica = tempfile::tempdir().unwrap();
    assert_eq!(follow(replica.path(), &remote).await.unwrap(), Some(4));
    assert_eq!(seen(replica.path()), writer.seen[1]);
    let left = objects(&store).await;
    let again = collect(&remote, retention(1), later, Mode::Delete, &bar)
        .await
        .unwrap();
    assert_eq!(again.objects, 0);
    assert_eq!(objects(&store).await, left);
}

#[tokio::test]
async fn a_folder_is_published_to_like_an_object_store() {
    let (writer, folder) = (Writer::new(), tempfile::tempdir().unwrap());
    let url = url::Url::from_directory_path(folder.path()).unwrap();
    let remote = Remote::open(url.as_str(), patient()).unwrap();
    let stale = published(&writer.first, &remote).await;
    assert_eq!(stale.number, 1);
    let before = remote.pointer().await.unwrap().unwrap();
    assert!(remote.pointer_if_changed(&before).await.unwrap().is_none());
    published(&writer.second, &remote).await;
    let now = remote.pointer_if_changed(&before).await.unwrap().unwrap();
    assert_eq!(now.pointer.number, 2);
    // A publisher that still has the previous pointer loses.
    let lost = remote
        .exchange_pointer(&before.pointer, Some(&before))
        .await
        .unwrap();
    assert!(matches!(lost, super::remote::Exchange::Lost(Some(found)) if found == now.pointer));
    let replica = tempfile::tempdir().unwrap();
    follow(replica.path(), &remote).await.unwrap();
    assert_eq!(seen(replica.path()), writer.seen[1]);
    for wrong in ["nowhere", "ftp://host/x", "memory:///"] {
        let refused = Remote::open(wrong, patient()).unwrap_err();
        assert!(refused.to_string().starts_with(wrong), "{refused}");
    }
}
