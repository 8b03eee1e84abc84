//! A backup during imports and key changes, restored elsewhere: same responses, same keys.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::json;
use toise::listings::search::texts;

use super::publishing::content;
use crate::support::client::Client;
use crate::support::process::{Server, errors, new_key, run, try_run, write_sales};

const SEARCH: &str = "opendata/dvf/search";

#[tokio::test]
async fn a_backup_taken_during_writes_restores_the_same_data_and_keys() {
    let outer = tempfile::tempdir().unwrap();
    let (data, files) = (outer.path().join("data"), outer.path().join("files"));
    for seed in ["1", "2", "3"] {
        write_sales(&files.join(seed), "800", seed);
    }
    let file = |seed: &str| format!("{}/{seed}/dvf-synth.csv", files.display());
    run(&data, &["import", "dvf", &file("1")]);
    let key = new_key(&data, &[]);
    let server = Server::start(&data, "serve");
    let query = json!({"sortBy": "price_eur", "sortOrder": "desc", "size": 50});
    let client = Client::new(&server, &key);
    let before = client.post(SEARCH, &query).await;
    assert_eq!(before.0, 200);

    // Imports and new keys continue while backups are taken.
    let stop = AtomicBool::new(false);
    let backups: Vec<String> = std::thread::scope(|scope| {
        let keys = scope.spawn(|| {
            let mut made = 0;
            while !stop.load(Ordering::Relaxed) {
                new_key(&data, &[]);
                made += 1;
            }
            made
        });
        let imports = scope.spawn(|| {
            for seed in ["2", "3"] {
                run(&data, &["import", "dvf", &file(seed)]);
            }
        });
        let mut taken = Vec::new();
        while taken.len() < 2 || !imports.is_finished() {
            let end = if taken.len() % 2 == 0 { "" } else { ".tar" };
            let path = outer.path().join(format!("backup{}{end}", taken.len()));
            let path = path.to_str().unwrap().to_owned();
            let report = run(&data, &["backup", &path]);
            assert!(report["files"].as_u64().unwrap() >= 4, "{report}");
            taken.push(path);
        }
        imports.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        assert!(keys.join().unwrap() > 0);
        taken
    });
    let after = client.post(SEARCH, &query).await;

    // Content of the folder after each import, from separate folders.
    let mut published = Vec::new();
    for seeds in 1..=3 {
        let fresh = outer.path().join(format!("fresh{seeds}"));
        for seed in ["1", "2", "3"].iter().take(seeds) {
            run(&fresh, &["import", "dvf", &file(seed)]);
        }
        published.push(content(&fresh));
    }
    for (index, backup) in backups.iter().enumerate() {
        let restored = outer.path().join(format!("restored{index}"));
        run(&restored, &["restore", backup]);
        assert!(
            published.contains(&content(&restored)),
            "{backup} is not one snapshot"
        );
        let keys = run(&restored, &["keys", "list"]);
        assert!(!keys.as_array().unwrap().is_empty());
    }

    // Without concurrent writes, the restored folder answers as the original does, with the same keys; later keys
    // are not in it.
    let backup = outer.path().join("last.tar");
    run(&data, &["backup", backup.to_str().unwrap()]);
    let late = new_key(&data, &[]);
    let restored = outer.path().join("restored");
    let report = run(&restored, &["restore", backup.to_str().unwrap()]);
    assert_eq!(report["data"], restored.to_str().unwrap());
    for file in ["store.sqlite", "ledger.sqlite", "../last.tar"] {
        let mode = std::fs::metadata(restored.join(file)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "{file} can be read by others");
    }
    let (other, restored) = Client::start(&restored, &key);
    let stranger = Client::new(&other, &late);
    assert_eq!(restored.post(SEARCH, &query).await, after);
    assert_eq!(stranger.post(SEARCH, &query).await.0, 401);
    // Cursors are signed with a secret that is in the backup.
    let cursor = after.1["cursor"].clone();
    let mut next = query;
    next["cursor"] = cursor;
    let page = client.post(SEARCH, &next).await;
    assert_eq!((page.0, restored.post(SEARCH, &next).await), (200, page));
    assert_eq!((server.terminate(), other.terminate()), (Some(0), Some(0)));
}

#[test]
fn restore_and_backup_never_overwrite_an_existing_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    new_key(&data, &[]);
    let backup = folder.path().join("backup");
    let backup = backup.to_str().unwrap();
    run(&data, &["backup", backup]);
    for arguments in [["restore", backup], ["backup", backup]] {
        let output = try_run(&data, &arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        assert!(
            errors(&output).starts_with("error: "),
            "{}",
            errors(&output)
        );
    }
    let nothing = folder.path().join("nothing");
    let output = try_run(&nothing, &["backup", "x.tar"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!nothing.exists() && !Path::new("x.tar").exists());
}

#[test]
fn a_server_that_starts_deletes_what_killed_processes_left() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    new_key(&data, &[]);
    let mut left: Vec<PathBuf> = Vec::new();
    for name in [".toise-backup-killed", ".toise-restore-killed"] {
        for folder in [outer.path(), &data] {
            let stage = folder.join(name);
            fs::create_dir_all(stage.join("lake")).unwrap();
            left.push(stage);
        }
    }
    let index = data.join(texts::FOLDER).join("damaged");
    fs::create_dir_all(&index).unwrap();
    let [draft, young] = [".tmpold", ".tmpyoung"].map(|name| index.join(name));
    File::create(&young).unwrap();
    let hours_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    let file = File::create(&draft).unwrap();
    file.set_modified(hours_ago).unwrap();
    left.push(draft);
    let server = Server::start(&data, "serve");
    for path in &left {
        assert!(!path.exists(), "{}", path.display());
    }
    // A running process may be writing it.
    assert!(young.exists());
    assert_eq!(server.terminate(), Some(0));
}
