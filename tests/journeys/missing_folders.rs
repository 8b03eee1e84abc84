//! A missing data folder: commands that read it fail, name it and create nothing.

use std::path::Path;

use crate::support::process::{errors, executable, run, try_run};

/// A property, advert or alert that does not exist.
const NOTHING: &str = "019bb126-cee2-7a45-a98c-3cba58e89b2d";

#[test]
fn commands_that_read_a_missing_folder_fail_and_say_how_to_make_one() {
    let outer = tempfile::tempdir().unwrap();
    let missing = outer.path().join("typo");
    let table = outer.path().join("flats.csv");
    std::fs::write(&table, "id,lat,lon,address\n1,44.5,3.5,Mende\n").unwrap();
    let (table, output) = (table.to_str().unwrap(), outer.path().join("out.csv"));
    let output = output.to_str().unwrap();
    let homes = format!("homes={table}");
    for arguments in [
        &["sql", "select count(*) from dvf"][..],
        &["sql", "summarize properties"],
        &["sql", "--file", &homes, "select count(*) from homes, dvf"],
        &["sql", "--audit", "3"],
        &["geocode", table, "--output", output],
        &["match", "dvf", "--input", table, "--output", output],
        &["estimate", "--input", table, "--output", output],
        &["market", "--level", "commune"],
        &["train"],
        &["evaluate", "estimate"],
        &["evaluate", "dedup"],
        &[
            "rent", "--address", "48000 Mende", "--type", "flat", "--surface", "45",
        ],
        &["evaluate", "rent"],
        &[
            "report", "--address", "48000 Mende", "--type", "flat", "--surface", "45",
        ],
        &["portfolio", "list"],
        &["layers", "list"],
        &["check"],
        &["compact"],
        &["properties", "candidates"],
        &["properties", "show", NOTHING],
        &["explain", NOTHING, NOTHING],
        &["jobs"],
        &["reports", "list"],
        &["accounts", "list"],
        &["accounts", "show"],
        &["keys", "list"],
        &["alerts", "list"],
        &["audit"],
        &["backup", output],
        &["erase", "--phone", "0612345678"],
        &["publish", "file:///nowhere"],
        &["mcp"],
    ] {
        let ended = try_run(&missing, arguments);
        let told = errors(&ended);
        assert_eq!(ended.status.code(), Some(1), "{arguments:?}: {told}");
        let start = format!("error: no data folder at {}: ", missing.display());
        assert!(told.contains(&start), "{arguments:?}: {told}");
        assert!(
            told.contains("toise start") && told.contains("--data"),
            "{told}"
        );
        assert!(!missing.exists(), "{arguments:?} made it");
    }
}

#[test]
fn files_alone_are_queried_without_a_folder_and_a_key_makes_one() {
    let outer = tempfile::tempdir().unwrap();
    let missing = outer.path().join("new");
    let table = outer.path().join("flats.csv");
    std::fs::write(&table, "id,surface\n1,30\n2,50\n").unwrap();
    let homes = format!("homes={}", table.display());
    let rows = run(
        &missing,
        &[
            "sql",
            "--file",
            &homes,
            "select sum(surface) as m2 from homes",
        ],
    );
    assert_eq!(rows[0]["m2"], 80);
    assert!(!missing.exists());
    run(&missing, &["keys", "create"]);
    assert!(missing.is_dir());
}

#[test]
fn the_environment_names_the_folder_unless_an_option_does() {
    let outer = tempfile::tempdir().unwrap();
    let named = outer.path().join("named");
    run(&named, &["keys", "create", "--name", "first"]);
    let listed = |data: Option<&Path>| {
        let mut command = std::process::Command::new(executable());
        command.current_dir(outer.path()).env("TOISE_DATA", &named);
        if let Some(data) = data {
            command.arg("--data").arg(data);
        }
        command.args(["keys", "list"]).output().unwrap()
    };
    let found = listed(None);
    assert!(found.status.success(), "{}", errors(&found));
    assert!(String::from_utf8_lossy(&found.stdout).contains("first"));
    let other = listed(Some(&outer.path().join("other")));
    assert!(errors(&other).contains("other"), "{}", errors(&other));
}
