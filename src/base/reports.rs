//! Reports of imports and ingestions: one JSON file each, in a folder of the data folder.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Folder of the reports in a data folder.
pub const FOLDER: &str = "reports";

/// Writes a report to `<data>/reports/<name>-<moment>.json` and returns the path. `moment` is a time in ISO 8601; only
/// its letters and digits are used.
///
/// # Errors
/// The folder cannot be written.
pub fn write(
    data: &Path,
    name: &str,
    moment: &str,
    report: &impl Serialize,
) -> io::Result<PathBuf> {
    let folder = data.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let stamp: String = moment.chars().filter(char::is_ascii_alphanumeric).collect();
    let path = folder.join(format!("{name}-{stamp}.json"));
    std::fs::write(&path, serde_json::to_vec_pretty(report)?)?;
    Ok(path)
}
