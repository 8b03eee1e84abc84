//! Expands command-line arguments (files, globs, folders) to files, in a stable order.

use std::path::{Path, PathBuf};

use super::{Error, SourceLocation};

/// Endings of files that are taken from a folder.
const ENDINGS: [&str; 13] = [
    ".csv", ".tsv", ".txt", ".parquet", ".ndjson", ".jsonl", ".json", ".arrow", ".feather",
    ".xlsx", ".xls", ".ods", ".zip",
];
/// Endings of packed files, after those of [`ENDINGS`].
const PACKED: [&str; 2] = [".gz", ".zst"];

/// Expands `arguments` to files: a folder stands for every supported file directly in it, a glob for its matches.
///
/// # Errors
///
/// An argument matches no file; a misspelt path must not silently import less than requested.
pub fn expand(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files: Vec<PathBuf> = Vec::new();
    for argument in arguments {
        let found = expand_one(argument)?;
        if found.is_empty() {
            let place = SourceLocation::file(&argument.display().to_string());
            return Err(Error::malformed(
                place,
                "no such file, or nothing to import in it",
            ));
        }
        for file in found {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

fn expand_one(argument: &Path) -> Result<Vec<PathBuf>, Error> {
    if argument.is_dir() {
        return folder(argument);
    }
    if argument.is_file() {
        return Ok(vec![argument.to_owned()]);
    }
    let pattern = argument.to_string_lossy();
    let matches = glob::glob(&pattern)
        .map_err(|error| Error::malformed(SourceLocation::file(&pattern), error.to_string()))?;
    let mut files: Vec<PathBuf> = matches
        .filter_map(Result::ok)
        .filter(|path| path.is_file() && !is_hidden(path))
        .collect();
    files.sort();
    Ok(files)
}

/// Returns whether a file is not meant for people: macOS copies each file `a.csv` as `._a.csv`, and a spreadsheet that is
/// open has a lock file `~$a.xlsx`.
fn is_hidden(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name.starts_with("~$")
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let name = path.display().to_string();
    let failed = Error::io(&name);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(&failed)? {
        let file = entry.map_err(&failed)?.path();
        let name = file.to_string_lossy().to_lowercase();
        let bare = PACKED
            .iter()
            .find_map(|packed| name.strip_suffix(packed))
            .unwrap_or(&name);
        if file.is_file()
            && !is_hidden(&file)
            && ENDINGS.iter().any(|ending| bare.ends_with(ending))
        {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_globs_name_files_once() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv.gz", "notes.md", "._b.csv", "~$b.xlsx"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let found = expand(&[folder.path().to_owned(), folder.path().join("*.csv")]).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|file| file.file_name().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["a.csv.gz", "b.csv"]);
        assert!(expand(&[folder.path().join("none-*.csv")]).is_err());
    }
}
