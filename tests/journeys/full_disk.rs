//! A full disk: the server reports it, loses nothing that it acknowledged, and is ready again once there is space. Free
//! calls continue, and their ledger rows are written later.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::support::crashes::ids_in_ledger;
use crate::support::failing_disks::NOTICED_WITHIN;
use crate::support::http_client;
use crate::support::process::{Server, new_key, run};
use crate::support::skip::skipped;

const MIB: u64 = 1 << 20;

/// A file system in memory; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one; `None` where this may not be done.
    fn mount(at: &Path, mib: u64) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "none"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        matches!(mounted, Ok(status) if status.success()).then(|| Self(at.to_owned()))
    }

    /// Fills it with a file until at most `left` bytes are free.
    fn fill(&self, left: u64) -> PathBuf {
        let path = self.0.join("filler");
        let free = || {
            let disk = rustix::fs::statvfs(&self.0).unwrap();
            disk.f_bavail * disk.f_frsize
        };
        let mut file = OpenOptions::new();
        let mut file = file.create(true).append(true).open(&path).unwrap();
        while free() > left {
            let bytes = (free() - left).min(MIB) as usize;
            if file.write_all(&vec![1; bytes]).is_err() {
                break;
            }
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server that has it open may still be ending.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_not_ready_by_name_and_ready_again_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), 64) else {
        skipped("no file system can be mounted here");
        return;
    };
    let data = folder.path().join("data");
    let key = &new_key(&data, &["--scopes", "admin"]);
    let more = ["--set", "server.disk_free_min_mib=8"];
    let server = Server::start_with(&data, "serve", &more, Stdio::null());
    server.becomes("/healthz", 200, "").await;
    let mut acknowledged = vec![server.make_account(key, "before").await.unwrap()];

    // Some space is left: not ready, while writes still succeed.
    let filler = disk.fill(4 * MIB);
    server
        .becomes("/healthz", 503, "server.disk_free_min_mib")
        .await;
    acknowledged.push(server.make_account(key, "between").await.unwrap());
    fs::remove_file(&filler).unwrap();
    server.becomes("/healthz", 200, "").await;

    // None is left: data that cannot be written is not acknowledged.
    let filler = disk.fill(0);
    server.becomes("/healthz", 503, "not ready").await;
    let mut refused = 0;
    for number in 0..2_000 {
        match server.make_account(key, &format!("during {number}")).await {
            Ok(id) => acknowledged.push(id),
            Err(status) => {
                assert!(status >= 500, "{status}");
                refused += 1;
            }
        }
        if refused == 3 {
            break;
        }
    }
    assert_eq!(refused, 3, "the disk was not full");
    fs::remove_file(&filler).unwrap();
    server.becomes("/healthz", 200, "").await;
    acknowledged.push(server.make_account(key, "after").await.unwrap());
    assert_eq!(server.terminate(), Some(0));

    let accounts = run(&data, &["accounts", "list"]).to_string();
    for id in &acknowledged {
        assert!(accounts.contains(id.as_str()), "{id} is lost");
    }
    drop(disk);
}

/// Free calls whose rows must wait before there is space again.
const WAITING: f64 = 50.0;

impl Server {
    /// Searches a table; returns the status, the request id without dashes, and `Retry-After`.
    async fn searches(&self, table: &str, key: &str) -> (u16, String, Option<String>) {
        let url = format!("{}/v2/protected/opendata/{table}/search", self.address);
        let request = http_client().post(url).header("x-api-key", key);
        let response = request.json(&json!({})).send().await.unwrap();
        let header = |name| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let id = header("x-request-id").unwrap().replace('-', "");
        (response.status().as_u16(), id, header("retry-after"))
    }

    /// Returns a metric without labels.
    async fn metric(&self, name: &str) -> f64 {
        let metrics = http_client().get(format!("{}/metrics", self.address));
        let metrics = metrics.send().await.unwrap().text().await.unwrap();
        let value = metrics
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap().parse().unwrap()
    }

    /// Makes free calls until the rows of `WAITING` of them wait; adds the ids of all to `answered`.
    async fn fills_the_queue(&self, key: &str, answered: &mut Vec<String>) {
        for call in 0.. {
            let (status, id, _) = self.searches("dvf", key).await;
            assert_eq!(status, 200);
            answered.push(id);
            if self.metric("toise_ledger_rows_waiting").await >= WAITING {
                return;
            }
            assert!(call < 20_000, "the disk is not full");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn free_calls_go_on_with_a_full_disk_and_their_rows_are_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), 64) else {
        skipped("no file system can be mounted here");
        return;
    };
    let data = folder.path().join("data");
    let key = &new_key(&data, &["--scopes", "search", "--rate", "100000"]);
    let more = [
        "--price",
        "API_OPENDATA_DVF_SEARCH=0",
        "--price",
        "API_OPENDATA_DPE_SEARCH=1",
        "--set",
        "server.disk_free_min_mib=8",
    ];
    let server = Server::start_with(&data, "serve", &more, Stdio::null());
    let mut answered = Vec::new();
    for table in ["dvf", "dpe"] {
        let (status, id, _) = server.searches(table, key).await;
        assert_eq!(status, 200);
        answered.push(id);
    }

    let filler = disk.fill(0);
    server.fills_the_queue(key, &mut answered).await;
    for _ in 0..3 {
        let (status, _, retry_after) = server.searches("dpe", key).await;
        assert_eq!(status, 503);
        assert!(retry_after.is_some());
    }
    server.becomes("/healthz", 503, "not ready").await;

    fs::remove_file(&filler).unwrap();
    server.becomes("/healthz", 200, "").await;
    let freed = Instant::now();
    while server.metric("toise_ledger_rows_waiting").await > 0.0 {
        assert!(freed.elapsed() < NOTICED_WITHIN, "rows still wait");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let (status, id, _) = server.searches("dpe", key).await;
    assert_eq!(status, 200);
    answered.push(id);

    // Rows that still wait when the server ends are written then.
    let filler = disk.fill(0);
    server.fills_the_queue(key, &mut answered).await;
    fs::remove_file(&filler).unwrap();
    assert_eq!(server.terminate(), Some(0));

    let mut rows = ids_in_ledger(&data);
    println!("{} calls answered, {} rows", answered.len(), rows.len());
    rows.sort_unstable();
    answered.sort_unstable();
    assert_eq!(rows, answered);
    drop(disk);
}
