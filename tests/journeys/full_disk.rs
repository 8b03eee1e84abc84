//! A full disk: the server says so, loses nothing it acknowledged, and is ready again once there is room.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::process::{Server, run};
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
    let made = run(&data, &["keys", "create", "--scopes", "admin"]);
    let key = made["key"].as_str().unwrap();
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

    // None is left: what cannot be written is not acknowledged.
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
