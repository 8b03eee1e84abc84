//! An import killed at any moment leaves the old table or the new one, and nothing in the way of the next.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::draw::Draw;
use crate::support::process::{run, sql_number, toise};

const KILLS: usize = 10;

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "retired" && name != "import.lock")
        .collect();
    names.sort();
    names
}

#[test]
fn a_killed_import_leaves_the_old_table_or_the_new_one() {
    let outer = tempfile::tempdir().unwrap();
    let (data, files_folder) = (outer.path().join("data"), outer.path().join("files"));
    let (csv_old, csv_new) = (files_folder.join("old"), files_folder.join("new"));
    for (folder, seed) in [(&csv_old, "1"), (&csv_new, "2")] {
        let output = folder.to_str().unwrap();
        run(
            &data,
            &["synth", "--dvf", "1500", "--seed", seed, "--output", output],
        );
    }
    let file = |folder: &Path| folder.join("dvf-synth.csv").to_str().unwrap().to_owned();
    let (old, new) = (file(&csv_old), file(&csv_new));
    run(&data, &["import", "dvf", &old]);
    let count = "select count(*) from dvf";
    let digest = "select cast(sum(octet_length(record)) as bigint) from dvf";
    let before = (sql_number(&data, count), sql_number(&data, digest));

    // How long an import takes here, measured on a copy of the lake.
    let copy = outer.path().join("copy");
    run(&copy, &["import", "dvf", &old]);
    let started = Instant::now();
    run(&copy, &["import", "dvf", &new]);
    let takes = started.elapsed();
    let after = (sql_number(&copy, count), sql_number(&copy, digest));
    assert!(after.0 > before.0);

    let mut draw = Draw::new(std::process::id().into());
    let (mut killed, mut published) = (0, 0);
    for _ in 0..KILLS {
        let wait = takes.mul_f64(draw.below(1_000) as f64 / 1_000.0);
        let mut import = toise(&data, &["import", "dvf", &new])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(wait);
        import.kill().unwrap();
        killed += usize::from(!import.wait().unwrap().success());
        let found = (sql_number(&data, count), sql_number(&data, digest));
        assert!(
            found == before || found == after,
            "after {wait:?}: {found:?}, not {before:?} or {after:?}"
        );
        if found == after {
            published += 1;
            // Back to the old table, from the same files.
            std::fs::remove_dir_all(data.join("lake")).unwrap();
            run(&data, &["import", "dvf", &old]);
        }
    }
    println!(
        "{killed} of {KILLS} killed, {published} of them published, an import takes {takes:?}"
    );
    assert!(killed > 0);

    let report = run(&data, &["import", "dvf", &new]);
    assert_eq!(report["outcome"]["total"], after.0, "{report}");
    assert_eq!((sql_number(&data, count), sql_number(&data, digest)), after);
    // Nothing of the killed ones is left: every file is named by the snapshot.
    let table = data.join("lake/dvf");
    let snapshot = std::fs::read_to_string(table.join("snapshot.json")).unwrap();
    for name in files(&table) {
        let stem = name.split('.').next().unwrap();
        assert!(
            name == "snapshot.json" || snapshot.contains(stem),
            "{name} is left over"
        );
    }
    // And again changes nothing.
    let report = run(&data, &["import", "dvf", &new, &old]);
    let outcome = &report["outcome"];
    assert_eq!(
        (&outcome["added"], &outcome["replaced"]),
        (&0.into(), &0.into()),
        "{report}"
    );
    assert!(started.elapsed() < Duration::from_secs(240));
}
