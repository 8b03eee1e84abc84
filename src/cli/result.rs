//! Result type of commands, and the rule that a command which finds nothing in a file fails.
//!
//! The exit code is 0 if a command succeeded, 1 if it failed, 2 if its arguments are wrong, and 3 if it succeeded in
//! part. A command that reads a file fails if the file has no rows, or if no row gives a result. Most likely it is then
//! the wrong file, or its columns have other names. docs/errors.md lists the cases.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use toise_input::reading::{self, ReadFile};

/// Any error that makes a command fail.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Result of a command. An error is printed after `error:` and the exit code is 1.
pub type CommandResult = Result<(), Failure>;

/// Exit code of a command that did a part of what it was asked.
pub const PARTIAL_FAILURE: u8 = 3;

/// The error of a command that did a part of what it was asked, with what it did not do.
#[derive(Debug)]
pub struct PartialFailure(pub String);

impl fmt::Display for PartialFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Error for PartialFailure {}

/// Codes that a message lists in full.
const CODES_LISTED_MAX: usize = 12;

/// Lists codes of departments for a message, or says how many there are.
pub(crate) fn listed_codes(codes: &[String]) -> String {
    if codes.len() > CODES_LISTED_MAX {
        return format!("{} departments", codes.len());
    }
    codes.join(", ")
}

/// Returns an error unless a file had rows and at least one of them gave a result. `advice` says what to do if none
/// did.
///
/// # Errors
/// The file has no rows, or none of its rows gave a result.
pub(crate) fn require_results(file: &Path, rows: u64, results: u64, advice: &str) -> CommandResult {
    let file = file.display();
    match (rows, results) {
        (0, _) => Err(no_rows(&file.to_string()).into()),
        (rows, 0) => Err(format!("{file}: none of its {rows} rows gave a result: {advice}").into()),
        _ => Ok(()),
    }
}

/// Advice for a portfolio none of whose rows gave a result.
pub(crate) const MAP_ADVICE: &str =
    "the output has the errors; --map FIELD=COLUMN reads a column under another name";

/// Numbers of rows by name.
pub(crate) type RowCounts = BTreeMap<Cow<'static, str>, u64>;

/// Lists numbers of rows for a message: `3 HIGH, 1 LOW`.
pub(crate) fn listed_counts(counts: &RowCounts) -> String {
    let counts = counts.iter();
    let counts: Vec<String> = counts
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    counts.join(", ")
}

/// Prints numbers of rows in one line, if there are any.
pub(crate) fn print_counts(what: &str, counts: &RowCounts) {
    if !counts.is_empty() {
        println!("{what}: {}", listed_counts(counts));
    }
}

/// Prints how the files of a job were interpreted, and where its output is.
pub(crate) fn print_files(files: &[ReadFile], output: &Path) {
    print!("{}", reading::to_text(files.iter()));
    println!("written to {}", output.display());
}

/// Prints a report that was written to a file: as JSON, or as a text with the path. Copies the file if asked.
///
/// # Errors
/// The file cannot be copied.
pub(crate) fn show_report(
    as_json: bool,
    (report, text): (&impl Serialize, String),
    path: &Path,
    copy: Option<&Path>,
) -> CommandResult {
    if let Some(copy) = copy {
        std::fs::copy(path, copy)?;
    }
    if as_json {
        println!("{}", serde_json::to_string(report)?);
    } else {
        print!("{text}");
        println!("report: {}", path.display());
    }
    Ok(())
}

/// Lists files for a message.
pub(crate) fn listed(files: &[PathBuf]) -> String {
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    files.join(", ")
}

/// Returns the message about files without rows.
pub(crate) fn no_rows(files: &str) -> String {
    format!("{files}: no rows: check that it is the right file, and has rows after its header")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_rows_or_results_is_an_error_that_names_it() {
        let outcome = |rows, results| {
            let outcome = require_results(Path::new("a.csv"), rows, results, "use --map");
            outcome.map_err(|error| error.to_string())
        };
        assert!(outcome(0, 0).unwrap_err().starts_with("a.csv: no rows"));
        let refused = outcome(2, 0).unwrap_err();
        assert_eq!(
            refused,
            "a.csv: none of its 2 rows gave a result: use --map"
        );
        assert_eq!(outcome(2, 1), Ok(()));
    }
}
