//! Files in which a command finds nothing: it fails, names the file and says what to do.

use std::fs;
use std::path::Path;

use crate::support::process::{errors, run, try_run};

/// Runs a command on a file, which must fail; returns its errors.
fn refused(data: &Path, file: &Path, arguments: &[&str]) -> String {
    let output = try_run(data, arguments);
    let message = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
    let name = file.file_name().unwrap().to_str().unwrap();
    let last = message.lines().rfind(|line| line.starts_with("error: "));
    let last = last.unwrap_or_else(|| panic!("{arguments:?}: {message}"));
    assert!(last.contains(name), "{arguments:?}: {message}");
    last.to_owned()
}

#[test]
fn a_command_that_finds_nothing_in_a_file_fails_and_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let output = folder.path().join("output.csv").display().to_string();
    // An empty file, only a header, and columns that no command knows.
    let files = [
        ("empty.csv", ""),
        ("header.csv", "colour,shape\n"),
        ("unknown.csv", "colour,shape\nred,round\n"),
    ];
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let path = file.display().to_string();
        for arguments in [
            &["ingest", &path][..],
            &["ingest", &path, "--dry-run"],
            &["ingest", &path, "--map", "url=link"],
            &["import", "dvf", &path],
            &["import", "dpe", &path],
            &["import", "dpe", &path, "--allow-partial"],
            &["import", "ban", &path],
            &["match", "dvf", "--input", &path, "--output", &output],
            &["match", "dpe", "--input", &path, "--output", &output],
            &["geocode", &path, "-o", &output],
            &["geocode", &path, "-o", &output, "--columns", "street"],
        ] {
            refused(&data, &file, arguments);
        }
        if name != "unknown.csv" {
            let table = format!("homes={path}");
            let query = "select count(*) from homes";
            refused(&data, &file, &["sql", "--file", &table, query]);
        }
    }
}

#[test]
fn an_import_without_a_usable_row_fails() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let made = folder.path().display().to_string();
    run(
        &data,
        &["synth", "--dvf", "20", "--dpe", "20", "--output", &made],
    );
    for table in ["dvf", "dpe"] {
        let text = fs::read_to_string(folder.path().join(format!("{table}-synth.csv"))).unwrap();
        let header = text.lines().next().unwrap();
        let cells = header.matches(',').count();
        let rows = format!(
            "{header}\n{}\n",
            [",".repeat(cells), ",".repeat(cells)].join("\n")
        );
        let file = folder.path().join("file.csv");
        for (text, said) in [(header.to_owned(), "no rows"), (rows, "none of the 2 rows")] {
            fs::write(&file, text).unwrap();
            let path = file.display().to_string();
            let message = refused(&data, &file, &["import", table, &path]);
            assert!(message.contains(said), "{message}");
        }
    }
}
