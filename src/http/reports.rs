//! Reads the reports that commands left in the data folder: one JSON file each, named `<name>-<time>.json`.
//!
//! Blocks. A file that is too large or not JSON is skipped: reports are only for information.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use serde_json::Value;

use toise_base::missing::optional;

/// Maximum length of a report that is read, bytes.
const REPORT_BYTES_MAX: u64 = 4 << 20;
/// Maximum number of files of a folder that are considered.
const FILES_MAX: usize = 10_000;
/// Suffix of the file names of reports.
const ENDING: &str = ".json";

/// Returns the reports of a folder with their names, newest first: at most `take`, after the first `skip`. The time at
/// the end of the name says how old a report is.
///
/// # Errors
/// The folder cannot be read. A folder that does not exist holds no reports.
pub fn list(folder: &Path, skip: usize, take: usize) -> io::Result<Vec<(String, Value)>> {
    let mut names: Vec<String> = files(folder)?
        .into_iter()
        .filter_map(|file| report_name(&file))
        .collect();
    names.sort_by(|one, other| moment(other).cmp(moment(one)).then(one.cmp(other)));
    let reports = names.into_iter().filter_map(|name| {
        let report = read(&folder.join(format!("{name}{ENDING}")))?;
        Some((name, report))
    });
    Ok(reports.skip(skip).take(take).collect())
}

/// Returns the last written report of a folder whose name starts with `beginning` and whose content `is_wanted`
/// accepts.
///
/// # Errors
/// The folder cannot be read. A folder that does not exist holds no reports.
pub fn last_written(
    folder: &Path,
    beginning: &str,
    is_wanted: impl Fn(&Value) -> bool,
) -> io::Result<Option<(String, Value)>> {
    let mut written: Vec<_> = files(folder)?
        .into_iter()
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, report_name(&file)?)))
        .filter(|(_, name)| name.starts_with(beginning))
        .collect();
    written.sort_by(|one, other| other.cmp(one));
    let mut reports = written.into_iter().filter_map(|(_, name)| {
        let report = read(&folder.join(format!("{name}{ENDING}")))?;
        Some((name, report))
    });
    Ok(reports.find(|(_, report)| is_wanted(report)))
}

fn files(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let entries = optional(fs::read_dir(folder))?;
    entries.into_iter().flatten().take(FILES_MAX).collect()
}

fn report_name(file: &DirEntry) -> Option<String> {
    let name = file.file_name().into_string().ok()?;
    Some(name.strip_suffix(ENDING)?.to_owned())
}

/// Returns the time in the name of a report.
fn moment(name: &str) -> &str {
    name.rsplit('-').next().unwrap_or_default()
}

fn read(path: &Path) -> Option<Value> {
    let is_small = fs::metadata(path).ok()?.len() <= REPORT_BYTES_MAX;
    let bytes = is_small.then(|| fs::read(path)).and_then(Result::ok)?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_newest_first_and_what_is_none_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert_eq!(list(&path.join("nothing"), 0, 10).unwrap(), []);
        for (name, text) in [
            ("import-dvf-20261120T100000000Z.json", r#"{"table":"dvf"}"#),
            ("import-dpe-20261121T100000000Z.json", r#"{"table":"dpe"}"#),
            (
                "ingest-adverts-20261119T100000000Z.json",
                r#"{"table":"adverts"}"#,
            ),
            ("import-dvf-20261122T100000000Z.json", "{"),
            ("notes.txt", "{}"),
        ] {
            fs::write(path.join(name), text).unwrap();
        }
        let names = |skip, take| -> Vec<String> {
            let reports = list(path, skip, take).unwrap();
            reports
                .iter()
                .map(|(_, report)| report["table"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names(0, 10), ["dpe", "dvf", "adverts"]);
        assert_eq!(names(1, 1), ["dvf"]);
        let found = last_written(path, "import-", |report| report["table"] == "dvf").unwrap();
        assert_eq!(found.unwrap().0, "import-dvf-20261120T100000000Z");
    }
}
