//! `toise doctor`: what a folder holds, what is missing, and the command that helps, for a folder in any state.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::files::files_in;
use crate::support::process::{Server, errors, run, try_run};

/// Runs `doctor`; returns its exit code and its result.
fn doctor(data: &Path) -> (Option<i32>, Value) {
    let output = try_run(data, &["doctor"]);
    let result = serde_json::from_slice(&output.stdout);
    let result = result.unwrap_or_else(|_| panic!("{}", errors(&output)));
    (output.status.code(), result)
}

/// Whether a finding says this, and which command it gives.
fn command_of(examined: &Value, message: &str) -> Option<String> {
    let findings = examined["findings"].as_array().unwrap().iter();
    let mut found =
        findings.filter(|finding| finding["message"].as_str().unwrap().contains(message));
    let finding = found.next()?;
    Some(finding["command"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_folder_that_is_missing_or_empty_gets_the_command_that_fills_it() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    let named = format!("--data {}", data.display());
    let (code, examined) = doctor(&data);
    assert_eq!(code, Some(1), "{examined}");
    assert_eq!(examined["exists"], false);
    assert_eq!(
        command_of(&examined, "no data folder").unwrap(),
        format!("toise start --departments 48 {named}")
    );
    assert!(!data.exists(), "it was made");
    fs::create_dir(&data).unwrap();
    let (code, examined) = doctor(&data);
    assert_eq!(code, Some(0), "{examined}");
    let demo = command_of(&examined, "to try it").unwrap();
    assert_eq!(demo, format!("toise demo {named}"));
    assert!(files_in(&data).is_empty(), "{:?}", files_in(&data));
}

#[test]
fn each_finding_ends_with_the_command_that_removes_it() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    run(&data, &["synth", "--lake", "--dvf", "300", "--dpe", "200"]);
    let before = files_in(&data);
    let (code, examined) = doctor(&data);
    assert_eq!(code, Some(0), "{examined}");
    assert_eq!(files_in(&data), before);
    let sales = &examined["tables"][0];
    assert_eq!(sales["table"], "dvf");
    assert!(sales["rows"].as_u64().unwrap() >= 200, "{sales}");
    assert_eq!(sales["is_invented"], true);
    for (message, command) in [
        ("the sales are invented", "start --departments"),
        ("no addresses", "import ban --departments 48"),
        ("no model is trained", "train"),
        ("no API key", "keys create"),
    ] {
        let given =
            command_of(&examined, message).unwrap_or_else(|| panic!("{message}: {examined}"));
        assert!(
            given.starts_with(&format!("toise {command}")),
            "{message}: {given}"
        );
    }

    run(&data, &["keys", "create", "--name", "mine"]);
    let (_, examined) = doctor(&data);
    assert_eq!(command_of(&examined, "no API key"), None);
    let backup = command_of(&examined, "no backup is known").unwrap();
    assert!(backup.contains("backup ./backup-"), "{backup}");
    let to = outer.path().join("backup");
    run(&data, &["backup", to.to_str().unwrap()]);
    let (_, examined) = doctor(&data);
    assert_eq!(command_of(&examined, "backup"), None);
    let place = examined["store"]["backup"].as_str().unwrap();
    assert!(place.contains(to.to_str().unwrap()), "{place}");
}

#[test]
fn what_does_not_work_is_a_problem_and_an_exit_code() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    run(&data, &["synth", "--lake", "--dvf", "300", "--dpe", "200"]);
    fs::create_dir(data.join("models")).unwrap();
    fs::write(data.join("models/current.json"), "{").unwrap();
    let lost = files_in(&data.join("lake/_dpe")).into_iter();
    let mut lost = lost.filter(|file| file.extension().is_some_and(|end| end == "parquet"));
    fs::remove_file(lost.next().unwrap()).unwrap();
    let (code, examined) = doctor(&data);
    assert_eq!(code, Some(1), "{examined}");
    let first = &examined["findings"][0];
    assert_eq!(first["severity"], "problem", "{examined}");
    let mut damaged: Vec<&str> = examined["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["damaged"].as_str())
        .collect();
    damaged.sort_unstable();
    assert_eq!(damaged, ["model", "table"], "{examined}");
    let check = command_of(&examined, "lake/_dpe").unwrap();
    assert!(check.starts_with("toise check"), "{check}");
    let train = command_of(&examined, "models/current.json").unwrap();
    assert!(train.starts_with("toise train"), "{train}");
}

#[test]
fn a_server_logs_what_is_missing_when_it_starts() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    run(&data, &["synth", "--lake", "--dvf", "300"]);
    let log = outer.path().join("log");
    let stderr = Stdio::from(fs::File::create(&log).unwrap());
    let server = Server::start_with(&data, "serve", &[], stderr);
    server.terminate();
    let log = fs::read_to_string(&log).unwrap();
    let line = log
        .lines()
        .find(|line| line.contains("no model is trained"));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("toise train"), "{line}");
}
