//! Files of the user as tables, for the command line: `--file name=path`.
//!
//! Only local sessions have these tables; a query that comes over the network cannot name a file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Component, Path, PathBuf};

use datafusion::execution::options::ArrowReadOptions;
use datafusion::prelude::{CsvReadOptions, JsonReadOptions, ParquetReadOptions, SessionContext};
use glob::Pattern;

use crate::SqlError;
use crate::names::KnownNames;
use toise_lake::foreign::ForeignParquet;
use toise_opendata::source::files::expand;

/// A file as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTable {
    /// Name of the table.
    pub name: String,
    /// Path of the file, of a folder, or a pattern of several files.
    pub path: String,
}

impl std::str::FromStr for FileTable {
    type Err = String;

    /// Parses `name=path`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?}: write it as name=path"))?;
        let is_name = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name {
            Ok(Self {
                name: name.to_owned(),
                path: path.to_owned(),
            })
        } else {
            Err(format!(
                "{name:?} cannot name a table: use letters, digits and _"
            ))
        }
    }
}

/// Registers a file as a table of a session: CSV, Parquet, NDJSON or Arrow, by its extension.
///
/// # Errors
/// The file cannot be read, has none of the known extensions, or is a Parquet file that announces too much; or its name
/// is that of another table.
pub async fn register(context: &SessionContext, file: &FileTable) -> Result<(), SqlError> {
    let FileTable { name, path } = file;
    let lower = name.to_lowercase();
    if KnownNames::of(context).tables.contains(&lower) {
        return Err(SqlError::invalid(format!(
            "there is a table {lower} already: give the file another name"
        )));
    }
    let extension = Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str());
    let extension = extension.unwrap_or_default();
    let dotted = format!(".{extension}");
    if !path.contains('*') && !Path::new(path).exists() {
        return Err(SqlError::invalid(format!("{path}: no such file")));
    }
    require_rows(path, extension)?;
    let registered = match extension.to_ascii_lowercase().as_str() {
        "csv" | "tsv" | "txt" => {
            let delimiter = if extension == "tsv" {
                b'\t'
            } else {
                delimiter_of(path)
            };
            let options = CsvReadOptions::new()
                .file_extension(&dotted)
                .delimiter(delimiter);
            context.register_csv(&lower, path, options).await
        }
        "parquet" => {
            examine(context, path, &dotted)?;
            context
                .register_parquet(&lower, path, ParquetReadOptions::default())
                .await
        }
        "ndjson" | "jsonl" | "json" => {
            let options = JsonReadOptions::default().file_extension(&dotted);
            context.register_json(&lower, path, options).await
        }
        "arrow" => {
            context
                .register_arrow(&lower, path, ArrowReadOptions::default())
                .await
        }
        _ => {
            return Err(SqlError::invalid(format!(
                "{path}: name it .csv, .tsv, .parquet, .ndjson or .arrow"
            )));
        }
    };
    registered.map_err(|error| SqlError::invalid(format!("{path}: {}", error.strip_backtrace())))
}

/// Returns an error if a text file has nothing, or nothing after its header.
fn require_rows(path: &str, extension: &str) -> Result<(), SqlError> {
    let header_lines = match extension.to_ascii_lowercase().as_str() {
        "csv" | "tsv" | "txt" => 1,
        "ndjson" | "jsonl" | "json" => 0,
        _ => return Ok(()),
    };
    let failed = |error: std::io::Error| SqlError::invalid(format!("{path}: {error}"));
    if !Path::new(path).is_file() {
        return Ok(());
    }
    let mut lines = 0;
    for byte in BufReader::new(File::open(path).map_err(failed)?).bytes() {
        match byte.map_err(failed)? {
            b'\n' | b'\r' => lines = lines.max(1),
            byte if byte.is_ascii_whitespace() => {}
            _ if lines >= header_lines => return Ok(()),
            _ => {}
        }
    }
    Err(SqlError::invalid(format!(
        "{path}: no rows: check that it is the right file, and has rows after its header"
    )))
}

/// Examines the Parquet files of a table, and sets the session's batch size to the rows that they allow.
fn examine(context: &SessionContext, path: &str, dotted: &str) -> Result<(), SqlError> {
    let mut rows = context.state_ref().read().config().batch_size();
    for file in parquet_files(path, dotted)? {
        let of_file = |error: &dyn std::error::Error| {
            SqlError::invalid(format!("{}: {error}", file.display()))
        };
        let opened = File::open(&file).map_err(|error| of_file(&error))?;
        rows = ForeignParquet::examine(&opened, rows).map_err(|error| of_file(&error))?;
    }
    let state = context.state_ref();
    let mut state = state.write();
    let config = state.config().clone().with_batch_size(rows);
    *state.config_mut() = config;
    Ok(())
}

/// Returns the files of a table: a single file, those of a folder, or those that match a pattern, whose asterisk also
/// matches folders.
fn parquet_files(path: &str, dotted: &str) -> Result<Vec<PathBuf>, SqlError> {
    if Path::new(path).is_file() {
        return Ok(vec![PathBuf::from(path)]);
    }
    let pattern =
        Pattern::new(path).map_err(|error| SqlError::invalid(format!("{path}: {error}")))?;
    let is_folder = Path::new(path).is_dir();
    let parts = Path::new(path).components();
    let plain =
        |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let folder: PathBuf = if is_folder {
        PathBuf::from(path)
    } else {
        Path::new(".").join(parts.take_while(plain).collect::<PathBuf>())
    };
    let all = format!("{}/**/*", Pattern::escape(&folder.to_string_lossy()));
    let found =
        expand(&[PathBuf::from(all)]).map_err(|error| SqlError::invalid(error.to_string()))?;
    let is_taken = |file: &PathBuf| {
        let name = file.strip_prefix(".").unwrap_or(file);
        name.to_string_lossy().ends_with(dotted) && (is_folder || pattern.matches_path(name))
    };
    Ok(found.into_iter().filter(is_taken).collect())
}

/// Returns the delimiter that occurs most often in the first line of a CSV file; a comma if there is none or the file
/// cannot be read.
fn delimiter_of(path: &str) -> u8 {
    use std::io::BufRead;
    /// Maximum bytes of a first line that are read.
    const LINE_BYTES_MAX: u64 = 64 << 10;
    let Ok(file) = std::fs::File::open(path) else {
        return b',';
    };
    let mut line = Vec::new();
    if BufReader::new(file.take(LINE_BYTES_MAX))
        .read_until(b'\n', &mut line)
        .is_err()
    {
        return b',';
    }
    let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
    // On a tie the last one is taken.
    let found = [b'\t', b'|', b';', b',']
        .into_iter()
        .max_by_key(|delimiter| count(*delimiter));
    found.unwrap_or(b',')
}
