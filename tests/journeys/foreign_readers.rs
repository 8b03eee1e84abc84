//! Other programs read the SQLite files of a running server, or the files are moved: no acknowledged write is lost.
//!
//! A process that closes a descriptor of an SQLite file loses the locks that its connections hold on it. The next
//! reader from outside then deletes the server's log as it leaves. `/proc/locks` shows the locks of every process.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::crashes::ids_in_ledger;
use crate::support::files::files_in;
use crate::support::process::{Server, new_key, run, variable};
use crate::support::skip::skipped;

/// Trials for each reader and signal, unless `TOISE_TRIALS` overrides it.
const TRIALS: usize = 1;
/// Writes of each kind before and after a reader.
const WRITES: usize = 5;
/// Maximum time from a file's loss to the end of the server: a check each second, then the drain.
const ENDS_WITHIN: Duration = Duration::from_secs(60);
/// The locks of all processes.
const PROC_LOCKS: &str = "/proc/locks";
/// How often the list is read for one answer.
const READINGS: usize = 5;
/// The files of a store that carry locks. `-shm` belongs to a log in use.
const LOCKED: [&str; 4] = [
    "store.sqlite",
    "store.sqlite-shm",
    "ledger.sqlite",
    "ledger.sqlite-shm",
];

/// A folder with some sales, and an admin key.
fn filled() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["synth", "--lake", "--dvf", "200"]);
    let key = new_key(folder.path(), &["--scopes", "admin,search"]);
    (folder, key)
}

fn start(data: &Path, command: &str) -> Server {
    let more: &[&str] = match command {
        "demo" => &["--no-model"],
        _ => &[],
    };
    Server::start_with(data, command, more, Stdio::null())
}

/// Fails unless a process holds a shared lock on every file.
fn assert_locked(process: u32, data: &Path, after: &str) {
    for name in LOCKED {
        let inode = fs::metadata(data.join(name)).unwrap().ino();
        let (owner, file) = (process.to_string(), format!(":{inode}"));
        // The list is read in pieces, between which it moves up when a process ends: one reading may miss a lock.
        let locks: String = (0..READINGS)
            .map(|_| fs::read_to_string(PROC_LOCKS).unwrap())
            .collect();
        let is_lock = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.contains(&"POSIX")
                && words.contains(&"READ")
                && words.contains(&owner.as_str())
                && words.iter().any(|word| word.ends_with(&file))
        };
        assert!(
            locks.lines().any(is_lock),
            "after {after}, {name} is not locked"
        );
    }
}

#[tokio::test]
async fn a_server_keeps_its_locks_through_its_whole_life() {
    if !Path::new(PROC_LOCKS).exists() {
        skipped(&format!("there is no {PROC_LOCKS}"));
        return;
    }
    let (folder, key) = filled();
    let data = folder.path();
    for command in ["serve", "demo"] {
        let outer = tempfile::tempdir().unwrap();
        let beside = |name: &str| outer.path().join(name).to_str().unwrap().to_owned();
        let server = start(data, command);
        let is_locked = |after: &str| {
            assert_locked(server.id(), data, &format!("{command}, {after}"));
        };
        is_locked("start");
        written(&server, &key, &mut Written::default()).await;
        is_locked("writes");
        let metrics = format!("{}/metrics", server.address);
        let sizes = crate::support::http_client().get(metrics).send().await;
        assert_eq!(sizes.unwrap().status(), 200);
        is_locked("sizes");
        let (backup, archive) = (beside("backup"), beside("backup.tar"));
        for arguments in [
            &["keys", "create"] as &[&str],
            &["keys", "list"],
            &["backup", &backup],
            &["backup", &archive],
            &["check"],
            &["compact"],
            &["sql", "select count(*) from properties"],
        ] {
            run(data, arguments);
            is_locked(arguments[0]);
        }
        for from in [&backup, &archive] {
            let restored = PathBuf::from(beside("restored"));
            run(&restored, &["restore", from]);
            is_locked("restore");
            let other = start(&restored, command);
            assert_locked(other.id(), &restored, "restore");
            assert_eq!(other.terminate(), Some(0));
            fs::remove_dir_all(&restored).unwrap();
        }
        is_locked("another server");
        assert_eq!(server.terminate(), Some(0));
    }
}

/// What a server acknowledged: identifiers of keys, which are in the store, and of calls, which are in the ledger.
#[derive(Default)]
struct Written {
    keys: Vec<String>,
    calls: Vec<String>,
}

/// Creates keys and makes charged calls; records what was acknowledged.
async fn written(server: &Server, key: &str, written: &mut Written) {
    let client = crate::support::http_client();
    let post = |path: &str, body: Value| {
        let url = format!("{}/v2/protected/{path}", server.address);
        client.post(url).header("x-api-key", key).json(&body).send()
    };
    for _ in 0..WRITES {
        let made = post("admin/keys", json!({"kind": "production"}))
            .await
            .unwrap();
        assert_eq!(made.status(), 200);
        let made: Value = made.json().await.unwrap();
        let id = made["data"]["key_id"].as_str().unwrap();
        written.keys.push(id.to_owned());
        let call = post("opendata/dvf/search", json!({"size": 1})).await;
        let call = call.unwrap();
        assert_eq!(call.status(), 200);
        let id = call.headers()["x-request-id"].to_str().unwrap();
        written.calls.push(id.replace('-', ""));
    }
}

/// Number of acknowledged writes that are missing in a data folder.
fn lost(data: &Path, written: &Written) -> usize {
    let keys = run(data, &["keys", "list"]);
    let keys = keys.as_array().unwrap().iter();
    let keys: HashSet<&str> = keys.map(|key| key["key_id"].as_str().unwrap()).collect();
    let calls = HashSet::<String>::from_iter(ids_in_ledger(data));
    let is_lost = |id: &&String| !keys.contains(id.as_str());
    let is_call_lost = |id: &&String| !calls.contains(*id);
    written.keys.iter().filter(is_lost).count() + written.calls.iter().filter(is_call_lost).count()
}

/// Programs that read a data folder while a server writes to it.
const READERS: [&str; 3] = ["sqlite3", "python3", "cp"];
const QUERY: &str = "select count(*) from sqlite_master";
const PYTHON_READER: &str = "
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute(sys.argv[2]).fetchone()
connection.close()";

/// Reads the files of a data folder with another program, which must succeed.
fn read_with(program: &str, data: &Path) {
    let copies = tempfile::tempdir().unwrap();
    for name in ["store.sqlite", "ledger.sqlite"] {
        let file = data.join(name);
        let mut command = Command::new(program);
        match program {
            "sqlite3" => command.arg(file).arg(QUERY),
            "python3" => command.args(["-c", PYTHON_READER]).arg(file).arg(QUERY),
            _ => command.arg("-a").arg(data).arg(copies.path().join(name)),
        };
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {said}");
    }
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null());
    command.stderr(Stdio::null()).status().is_ok()
}

#[tokio::test]
async fn a_reader_from_outside_costs_no_acknowledged_write() {
    let trials = variable("TOISE_TRIALS", TRIALS);
    let (folder, key) = filled();
    let data = folder.path();
    let mut acknowledged = Written::default();
    let mut figures = Vec::new();
    for reader in READERS {
        if !is_installed(reader) {
            skipped(&format!("{reader} is not installed"));
            continue;
        }
        for signal in ["-TERM", "-KILL"] {
            let mut failed = 0;
            for trial in 0..trials {
                // A demo opens its store twice, once to create keys.
                let command = if trial % 4 == 3 { "serve" } else { "demo" };
                let server = start(data, command);
                written(&server, &key, &mut acknowledged).await;
                read_with(reader, data);
                written(&server, &key, &mut acknowledged).await;
                server.signal(signal);
                server.ended();
                let count = lost(data, &acknowledged);
                failed += usize::from(count > 0);
                if count > 0 {
                    println!("{reader} {signal} {command}: {count} writes lost");
                    acknowledged = Written::default();
                }
            }
            figures.push((reader, signal, failed));
        }
    }
    println!(
        "{trials} trials each, {} keys and {} calls acknowledged; trials that lost some: {figures:?}",
        acknowledged.keys.len(),
        acknowledged.calls.len()
    );
    assert!(figures.iter().all(|(.., failed)| *failed == 0));
}

#[tokio::test]
async fn a_server_whose_files_are_taken_away_stops_and_keeps_what_it_acknowledged() {
    let (folder, key) = filled();
    let data = folder.path();
    let mut acknowledged = Written::default();
    for name in ["store.sqlite-wal", "ledger.sqlite-wal"] {
        let log = tempfile::NamedTempFile::new().unwrap();
        let stderr = Stdio::from(log.reopen().unwrap());
        let server = Server::start_with(data, "serve", &[], stderr);
        written(&server, &key, &mut acknowledged).await;
        fs::remove_file(data.join(name)).unwrap();
        assert_eq!(server.ends_within(ENDS_WITHIN, || {}), Some(1));
        let said = fs::read_to_string(log.path()).unwrap();
        let message = format!("{name} was replaced, deleted or cut short while it was in use");
        assert!(said.contains(&message), "{said}");
        assert_eq!(lost(data, &acknowledged), 0, "{name}: {said}");
    }
}

/// The text of a source file without its tests.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let begins = ["#[cfg(test)]\nmod ", "#[cfg(test)]\npub(crate) mod "];
    let tests = begins.iter().filter_map(|begin| text.find(begin)).min();
    text[..tests.unwrap_or(text.len())].to_owned()
}

#[test]
fn no_other_code_opens_the_files_of_the_store() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = files_in(&src);
    files.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    let store = src.join("store");
    assert!(files.contains(&store.join("files.rs")));
    for path in files {
        let is_test = path.file_stem().is_some_and(|stem| {
            let stem = stem.to_string_lossy();
            stem == "tests" || stem.ends_with("_tests")
        });
        // The others have lock files of their own, which are no databases.
        let openers = ["files.rs", "byte_locks.rs", "sealed_store.rs"];
        if is_test || openers.iter().any(|name| path == store.join(name)) {
            continue;
        }
        // In the store, one module opens files. No other code knows their names or has its own connection.
        let forbidden: &[&str] = if path.starts_with(&store) {
            &[
                "File::", "OpenOptions", "fs::read(", "fs::copy", "fs::write",
            ]
        } else {
            &[".sqlite", "-wal\"", "-shm\"", "Connection::open"]
        };
        let code = code_of(&path);
        for word in forbidden {
            assert!(!code.contains(word), "{}: {word}", path.display());
        }
    }
}

/// Takes the write lock of a file, says so, and holds it until its input ends.
const PYTHON_WRITER: &str = "
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute('BEGIN IMMEDIATE')
print('locked', flush=True)
sys.stdin.read()
connection.execute('ROLLBACK')
connection.close()";

#[tokio::test]
async fn a_call_waits_for_a_foreign_lock_no_longer_than_for_anything_else() {
    if !is_installed("python3") {
        skipped("python3 is not installed");
        return;
    }
    let (folder, key) = filled();
    let data = folder.path();
    let more = [
        "--set",
        "server.request_timeout_s=2",
        "--price",
        "API_OPENDATA_DVF_SEARCH=1",
    ];
    let server = Server::start_with(data, "serve", &more, Stdio::null());
    let client = crate::support::http_client();
    let call = async || {
        let url = format!("{}/v2/protected/opendata/dvf/search", server.address);
        let request = client.post(url).header("x-api-key", &key);
        let answer = request.json(&json!({"size": 1})).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap())
    };
    assert_eq!(call().await.0, 200);
    let mut writer = Command::new("python3")
        .args(["-c", PYTHON_WRITER])
        .arg(data.join("ledger.sqlite"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 7];
    std::io::Read::read_exact(writer.stdout.as_mut().unwrap(), &mut line).unwrap();
    assert_eq!(&line, b"locked\n");
    // The lock is held until this is answered.
    let (status, refused) = call().await;
    assert_eq!(status, 503, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("took too long"), "{message}");
    drop(writer.stdin.take());
    assert!(writer.wait().unwrap().success());
    // Calls are answered again as soon as the writer continues.
    let since = std::time::Instant::now();
    while call().await.0 != 200 {
        assert!(since.elapsed() < ENDS_WITHIN);
    }
}
