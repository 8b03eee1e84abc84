//! Tests of files that others open, replace, cut short or link while a process has them open.

use std::process::Command;

use rusqlite::Connection;
use rustix::fs::{FlockOperation, fcntl_lock};
use toise_base::supervise::Supervisor;

use super::super::{FILE_NAME, LEDGER_FILE_NAME, Store};
use super::*;

/// Names the file that this test program reads if it runs as another process.
const READ: &str = "TOISE_TEST_READ";
const INSERT: &str = "INSERT INTO accounts VALUES (?1, ?1, 0)";

fn insert(store: &Store, name: &str) -> Result<usize> {
    let name = name.to_owned();
    store.write(move |transaction| transaction.execute(INSERT, [name]))
}

fn names(data: &Path) -> Vec<String> {
    let reading = |connection: &Connection| {
        let mut statement = connection.prepare("SELECT name FROM accounts ORDER BY name")?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect()
    };
    Store::open(data).unwrap().read(reading).unwrap()
}

#[test]
fn an_unreadable_log_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (data, killed) = (folder.path().join("data"), folder.path().join("killed"));
    let store = Store::open(&data).unwrap();
    insert(&store, "acknowledged").unwrap();
    // The files as a killed process leaves them.
    std::fs::create_dir(&killed).unwrap();
    for name in [FILE_NAME.to_owned(), format!("{FILE_NAME}-wal")] {
        std::fs::copy(data.join(&name), killed.join(&name)).unwrap();
    }
    let log = killed.join(format!("{FILE_NAME}-wal"));
    let whole = std::fs::read(&log).unwrap();
    let mut flipped = whole.clone();
    flipped[20] ^= 4;
    std::fs::write(&log, &flipped).unwrap();
    for _ in 0..2 {
        let refused = Store::open(&killed);
        assert!(
            matches!(&refused, Err(Error::DamagedLog { path }) if *path == log),
            "{refused:?}"
        );
    }
    assert_eq!(std::fs::read(&log).unwrap(), flipped);
    std::fs::write(&log, whole).unwrap();
    assert_eq!(names(&killed), ["acknowledged"]);
}

#[test]
fn a_log_that_is_cut_short_is_noticed_and_one_that_sqlite_empties_is_not() {
    for bytes in [0, 40, 32 + 3 * 4_120] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        insert(&store, "a").unwrap();
        let path = folder.path().join(FILE_NAME);
        let foreign = Connection::open(&path).unwrap();
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        foreign.query_row(sql, [], |_| Ok(())).unwrap();
        for number in 0..5 {
            insert(&store, &number.to_string()).unwrap();
        }
        let log = folder.path().join(format!("{FILE_NAME}-wal"));
        let file = OpenOptions::new().write(true).open(&log).unwrap();
        assert!(file.metadata().unwrap().len() > bytes);
        file.set_len(bytes).unwrap();
        let refused = insert(&store, "late").unwrap_err();
        let is_named = matches!(&refused, Error::Replaced(file) if file.path == log);
        assert!(is_named, "{bytes}: {refused:?}");
    }
}

#[test]
fn read_in_another_process() {
    let Ok(path) = std::env::var(READ) else {
        return;
    };
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT count(*) FROM sqlite_master";
    let tables: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(tables > 0);
    drop(connection);
    // A process that gets this lock deletes the log. The SQLite of this program takes further locks; other programs'
    // SQLite does not.
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let exclusive = FlockOperation::NonBlockingLockExclusive;
    assert!(fcntl_lock(&file, exclusive).is_err(), "not locked");
}

#[test]
fn a_reader_in_another_process_leaves_the_log_of_a_store_that_was_opened_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (data, killed) = (folder.path().join("data"), folder.path().join("killed"));
    let store = Store::open(&data).unwrap();
    drop(Store::open(&data).unwrap());
    let backup = folder.path().join("backup");
    std::fs::create_dir(&backup).unwrap();
    store.backup(&backup).unwrap();
    insert(&store, "before").unwrap();
    assert!(store.bytes() > 0);
    let reader = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "files::tests::read_in_another_process"])
        .env(READ, data.join(FILE_NAME))
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&reader.stdout);
    assert!(
        reader.status.success() && output.contains("1 passed"),
        "{output}"
    );
    insert(&store, "after").unwrap();
    // A killed process would leave what is on disk now. `cp` does not drop locks of this process.
    let copied = Command::new("cp").arg("-a").args([&data, &killed]).status();
    assert!(copied.unwrap().success());
    assert_eq!(names(&killed), ["after", "before"]);
}

#[test]
fn a_deleted_log_refuses_writes_with_its_name_and_keeps_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let supervisor = Supervisor::default();
    let store = Store::open_supervised(data, &supervisor).unwrap();
    insert(&store, "before").unwrap();
    let log = data.join("store.sqlite-wal");
    std::fs::remove_file(&log).unwrap();
    for _ in 0..2 {
        let refused = insert(&store, "after");
        assert!(
            matches!(&refused, Err(Error::Replaced(file)) if file.path == log),
            "{refused:?}"
        );
        // A file that another program puts there later does not change this.
        std::fs::write(&log, "").unwrap();
    }
    std::fs::remove_file(&log).unwrap();
    let failed = supervisor.failed().unwrap();
    assert_eq!(failed.worker, "store-writer");
    assert!(failed.reason.contains("store.sqlite-wal was replaced"));
    let refused = store.connect_reader();
    assert!(matches!(refused, Err(Error::Replaced(_))), "{refused:?}");
    // The file alone holds the acknowledged writes, even if this process is killed.
    let killed = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .arg(data.join(FILE_NAME))
        .arg(killed.path())
        .status();
    assert!(copied.unwrap().success());
    assert!(names(killed.path()).contains(&"before".to_owned()));
}

#[test]
fn a_replaced_database_file_is_noticed_without_a_write() {
    let folder = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::default();
    let store = Store::open_supervised(folder.path(), &supervisor).unwrap();
    let file = folder.path().join(FILE_NAME);
    std::fs::rename(&file, folder.path().join("aside")).unwrap();
    std::fs::write(&file, "").unwrap();
    let since = std::time::Instant::now();
    while supervisor.is_well() && since.elapsed().as_secs() < 30 {
        std::thread::yield_now();
    }
    let reason = supervisor.failed().unwrap().reason;
    assert!(reason.contains("store.sqlite was replaced"), "{reason}");
    assert!(insert(&store, "late").is_err());
    // The new file is neither written nor used as a database.
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
}

#[test]
fn files_with_two_names_are_refused_until_each_folder_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let store = Store::open(&data).unwrap();
    insert(&store, "before").unwrap();
    let linked = Command::new("cp").arg("-al").args([&data, &copy]).status();
    assert!(linked.unwrap().success());
    let refused = || {
        for folder in [&copy, &data] {
            let refused = Store::open(folder);
            assert!(matches!(refused, Err(Error::Linked { .. })), "{refused:?}");
        }
    };
    refused();
    insert(&store, "after").unwrap();
    for name in [FILE_NAME, LEDGER_FILE_NAME] {
        replace_with_copy(&copy.join(name));
    }
    // The two folders still share the logs.
    refused();
    for name in [FILE_NAME, LEDGER_FILE_NAME] {
        for suffix in ["-wal", "-shm"] {
            replace_with_copy(&copy.join(format!("{name}{suffix}")));
        }
    }
    insert(&Store::open(&copy).unwrap(), "elsewhere").unwrap();
    insert(&store, "here").unwrap();
    drop(store);
    assert_eq!(names(&data), ["after", "before", "here"]);
    assert_eq!(names(&copy), ["after", "before", "elsewhere"]);
}

/// Replaces the file at a path with a copy of it.
fn replace_with_copy(path: &Path) {
    let own = path.with_extension("own");
    std::fs::copy(path, &own).unwrap();
    std::fs::rename(&own, path).unwrap();
}

#[test]
fn an_existing_file_is_never_opened_to_create_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    drop(create_private(&path).unwrap());
    let again = create_private(&path);
    assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
    ensure_created(&path).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    require_writable(folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    // Even root cannot create a file where there is a folder.
    std::fs::create_dir(folder.path().join(TRIAL_FILE)).unwrap();
    let refused = require_writable(folder.path()).unwrap_err().to_string();
    let path = folder.path().display().to_string();
    assert!(refused.starts_with(&path), "{refused}");
}
