//! Data folders with synthetic data, portfolios, and workers on them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Server, errors, run, toise};

/// Rows of a part. Parts are small, so that a portfolio of a few seconds has many.
const PART_ROWS: &str = "512";

/// A folder with sales, diagnostics, addresses and a model; shared, because training takes seconds.
pub fn data() -> &'static Path {
    static SHARED: OnceLock<TempDir> = OnceLock::new();
    SHARED.get_or_init(make).path()
}

fn make() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let files = tempfile::tempdir().unwrap();
    let output = files.path().to_str().unwrap();
    run(
        data,
        &[
            "synth", "--dvf", "2000", "--dpe", "2000", "--output", output,
        ],
    );
    run(
        data,
        &[
            "synth", "--ban", "2000", "--departments", "48", "--output", output,
        ],
    );
    for (table, name) in [("dvf", "dvf"), ("dpe", "dpe"), ("ban", "adresses")] {
        let files = std::fs::read_dir(output).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let named = |file: &PathBuf| {
            let file = file.file_name().unwrap().to_str().unwrap();
            file.starts_with(name)
        };
        let files: Vec<String> = files
            .filter(named)
            .map(|file| file.to_str().unwrap().to_owned())
            .collect();
        assert!(!files.is_empty(), "{table}");
        let mut arguments = vec!["import", table];
        arguments.extend(files.iter().map(String::as_str));
        run(data, &arguments);
    }
    run(data, &["train"]);
    folder
}

/// A worker of a folder.
pub fn worker(data: &Path) -> Server {
    Server::start_with(data, "worker", &[], Stdio::inherit())
}

/// The addresses of workers, as an argument.
pub fn list(workers: &[&Server]) -> String {
    let addresses = workers.iter().map(|worker| worker.address.as_str());
    addresses.collect::<Vec<_>>().join(",")
}

/// The command, with small parts.
pub fn command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = toise(data, arguments);
    command.env("TOISE_CLUSTER__PART_ROWS", PART_ROWS);
    command
}

/// Runs the command to its end.
pub fn outcome(data: &Path, arguments: &[&str]) -> Output {
    command(data, arguments).output().unwrap()
}

/// Runs the command, which must succeed, and returns its report.
pub fn report(data: &Path, arguments: &[&str]) -> Value {
    let output = outcome(data, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        errors(&output)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A portfolio of homes, some of them with faults, in CSV.
pub fn homes(rows: usize) -> String {
    let mut text = String::from("id,longitude,latitude,type,surface_m2,room_count,has_lift\n");
    for row in 0..rows {
        let (lon, lat) = (
            2.25 + (row % 97) as f64 / 600.0,
            48.82 + (row % 89) as f64 / 1_100.0,
        );
        let (kind, surface) = (["flat", "house"][row % 2], 18 + row * 7 % 140);
        let lift = ["", "true", "false"][row % 3];
        match row % 101 {
            7 => writeln!(text, "{row},{lat},{lon},{kind},{surface},2,{lift}"),
            13 => writeln!(text, "{row},{lon},{lat},castle,{surface},2,{lift}"),
            19 => writeln!(text, "{row},{lon},{lat}"),
            _ => writeln!(
                text,
                "{row},{lon},{lat},{kind},{surface},{},{lift}",
                1 + row % 6
            ),
        }
        .unwrap();
    }
    text
}

/// The bytes of a file.
pub fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of an answer, sorted.
pub fn sorted(rows: &Value) -> Vec<String> {
    let mut rows: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    rows.sort();
    rows
}
