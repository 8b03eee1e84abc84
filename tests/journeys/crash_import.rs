//! An import killed at any moment leaves the old table or the new one and does not block the next import.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::assertions::pick;
use crate::support::draw::Draw;
use crate::support::process::{run, sql_number, toise, write_sales};

const KILLS: usize = 10;

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "snapshots" && name != "import.lock")
        .collect();
    names.sort();
    names
}

fn writes_files(incoming: &Path) -> bool {
    std::fs::read_dir(incoming).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.path().extension().is_some_and(|end| end == "parquet"))
    })
}

#[test]
fn a_killed_import_leaves_the_old_table_or_the_new_one() {
    let outer = tempfile::tempdir().unwrap();
    let (data, files_folder) = (outer.path().join("data"), outer.path().join("files"));
    let [old, new] = ["1", "2"].map(|seed| write_sales(&files_folder.join(seed), "4000", seed));
    run(&data, &["import", "dvf", &old]);
    let count = "select count(*) from dvf";
    let digest = "select cast(sum(octet_length(record)) as bigint) from dvf";
    let before = (sql_number(&data, count), sql_number(&data, digest));

    // Duration of an import on this machine, measured on a copy of the lake.
    let copy = outer.path().join("copy");
    run(&copy, &["import", "dvf", &old]);
    let started = Instant::now();
    run(&copy, &["import", "dvf", &new]);
    let takes = started.elapsed();
    let after = (sql_number(&copy, count), sql_number(&copy, digest));
    assert!(after.0 > before.0);

    let mut draw = Draw::new(std::process::id().into());
    let (mut killed, mut published) = (0, 0);
    for attempt in 0..KILLS {
        let mut import = toise(&data, &["import", "dvf", &new])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let spawned = Instant::now();
        let moment = if attempt % 2 == 0 {
            takes.mul_f64(draw.below(900) as f64 / 1_000.0)
        } else {
            // While new files are written and published, which is the shorter part.
            while spawned.elapsed() < takes && !writes_files(&data.join("lake/_dvf/incoming")) {
                std::thread::sleep(Duration::from_micros(200));
            }
            Duration::from_micros(draw.below(120_000) as u64)
        };
        std::thread::sleep(moment);
        import.kill().unwrap();
        let ended = import.wait().unwrap().success();
        killed += usize::from(!ended);
        let found = (sql_number(&data, count), sql_number(&data, digest));
        assert!(
            found == before || found == after,
            "after {:?}: {found:?}, not {before:?} or {after:?}",
            spawned.elapsed()
        );
        assert!(
            found == after || !ended,
            "an import that succeeded published nothing"
        );
        if found == after {
            published += usize::from(!ended);
            // Back to the old table, from the same files.
            std::fs::remove_dir_all(data.join("lake")).unwrap();
            run(&data, &["import", "dvf", &old]);
        }
    }
    println!(
        "{killed} of {KILLS} killed, {published} of them after publishing; an import takes {takes:?}"
    );
    assert!(killed > 0);

    let report = run(&data, &["import", "dvf", &new]);
    assert_eq!(report["outcome"]["total"], after.0, "{report}");
    assert_eq!((sql_number(&data, count), sql_number(&data, digest)), after);
    // Nothing is left of the killed imports: the snapshot, or the one before, names every file.
    let table = data.join("lake/_dvf");
    let mut snapshot = std::fs::read_to_string(table.join("snapshot.json")).unwrap();
    for former in files(&table.join("snapshots")) {
        let former = std::fs::read_to_string(table.join("snapshots").join(former));
        snapshot.push_str(&former.unwrap());
    }
    for name in files(&table) {
        // The former folder for other programs, which remains until the next publication.
        if name == "shared.old" {
            continue;
        }
        let stem = name.split('.').next().unwrap();
        assert!(
            name == "snapshot.json" || snapshot.contains(stem),
            "{name} is left over"
        );
    }
    // Importing again changes nothing.
    let report = run(&data, &["import", "dvf", &new, &old]);
    let outcome = &report["outcome"];
    assert_eq!(
        pick(outcome, ["added", "replaced"]),
        json!([0, 0]),
        "{report}"
    );
}
