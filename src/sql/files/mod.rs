//! Files of the user as tables, for the command line: `--file name=path`.
//!
//! A file is read like any other foreign file (`toise_input`): it is unpacked and decoded, and may be a spreadsheet. A
//! delimited text is converted to Parquet first (`input/typed.rs`), because the types of its columns depend on the
//! whole file. In JSON, texts that mean a missing value become null, integers of more than 18 digits become texts, and
//! so do keys with values of several types (`mixed.rs`). Parquet and Arrow have nulls, so only texts that the user adds
//! become null. Only local sessions have these tables; a query that comes over the network cannot name a file.

mod mixed;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::functions::expr_fn::{lower, trim};
use datafusion::logical_expr::{cast, ident, lit, when};
use datafusion::prelude::{CsvReadOptions, JsonReadOptions, ParquetReadOptions, SessionContext};
use glob::Pattern;
use tempfile::{NamedTempFile, TempPath};

use crate::SqlError;
use crate::names::KnownNames;
use toise_engine::csv_rows::is_text;
pub use toise_input::typed::TextColumns;
use toise_input::typed::{self, NO_ROWS, temporary};
use toise_input::{FileForm, Input, SharedForm, TextConversion, json, missing};
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

/// How several CSV files are read, which are not converted.
const SEVERAL_CSV: &str = "several CSV files are read as they are: UTF-8, commas between cells, types from the first \
    rows, and no --text-columns; name one file per table to have it examined";

/// The format of a file that DataFusion can read.
#[derive(Debug)]
enum ReadyFormat {
    Parquet,
    NdJson,
    Csv,
}

/// A file that was converted where needed. The converted copy is deleted with the value.
#[derive(Debug)]
pub struct ReadyFile {
    name: String,
    /// Path as the user gave it, for messages.
    source: String,
    /// Path of the file, or of its converted copy.
    path: String,
    format: ReadyFormat,
    form: SharedForm,
    /// How the file was interpreted, if a person would want to know.
    pub note: Option<String>,
    _copy: Option<TempPath>,
}

impl ReadyFile {
    /// Prepares a file: CSV and other delimited text, a spreadsheet, JSON, Parquet or Arrow, in any container. Blocks.
    ///
    /// # Errors
    /// The file cannot be read, is not a table, has no rows, or is malformed; the message says where.
    pub fn new(file: &FileTable, text_columns: &TextColumns) -> Result<Self, SqlError> {
        let FileTable { name, path } = file;
        let invalid = |reason: String| SqlError::invalid(format!("{path}: {reason}"));
        let ready = |format, form: &SharedForm, copy: Option<TempPath>, note| Self {
            name: name.to_lowercase(),
            source: path.clone(),
            path: copy
                .as_ref()
                .map_or_else(|| path.clone(), |copy| copy.display().to_string()),
            format,
            form: form.clone(),
            note,
            _copy: copy,
        };
        let of_lines = |lines: TempPath, form: &SharedForm| -> Result<Self, SqlError> {
            let normalised = mixed::normalised(lines);
            let (copy, keys) = normalised.map_err(|error| invalid(error.to_string()))?;
            let note = format!(
                "{path}: of several types, kept as text: {}",
                keys.join(", ")
            );
            let note = (!keys.is_empty()).then_some(note);
            Ok(ready(ReadyFormat::NdJson, form, Some(copy), note))
        };
        if !Path::new(path).is_file() {
            if !path.contains('*') && !Path::new(path).exists() {
                return Err(invalid("no such file".into()));
            }
            let format = format_of_name(path).map_err(invalid)?;
            if matches!(format, ReadyFormat::NdJson) {
                return of_lines(lines_of_several(path)?, &SharedForm::default());
            }
            let note = matches!(format, ReadyFormat::Csv).then(|| format!("{path}: {SEVERAL_CSV}"));
            return Ok(ready(format, &SharedForm::default(), None, note));
        }
        let input = open(path).map_err(invalid)?;
        let form = input.form.clone();
        if input.is_parquet {
            if form.found().containers.is_empty() {
                return Ok(ready(ReadyFormat::Parquet, &form, None, None));
            }
            let copy = copied(input, ".parquet").map_err(|error| invalid(error.to_string()))?;
            return Ok(ready(ReadyFormat::Parquet, &form, Some(copy), None));
        }
        let mut reader = input.reader;
        let start = reader
            .fill_buf()
            .map_err(|error| invalid(error.to_string()))?;
        match start.trim_ascii_start().first() {
            None => Err(invalid(NO_ROWS.into())),
            Some(b'{' | b'[') => {
                let mut copy = json_copy().map_err(invalid)?;
                copy_json(reader, &mut copy).map_err(invalid)?;
                of_lines(finished(copy).map_err(invalid)?, &form)
            }
            Some(_) => {
                drop(reader);
                let open = || open(path).map(|input| input.reader);
                let (copy, note) = typed::convert(open, text_columns, &form).map_err(invalid)?;
                // The encoding is known once the beginning was read.
                let found = form.found();
                let notable = found.is_notable().then(|| found.to_string());
                let note = notable
                    .into_iter()
                    .chain(note)
                    .collect::<Vec<_>>()
                    .join("; ");
                let note = (!note.is_empty()).then(|| format!("{path}: {note}"));
                Ok(ready(ReadyFormat::Parquet, &form, Some(copy), note))
            }
        }
    }

    /// Returns the containers, the encoding, the delimiter and the decimal mark of the file.
    pub fn form(&self) -> FileForm {
        self.form.found()
    }

    /// Registers the file as a table of a session.
    ///
    /// # Errors
    /// There is a table of this name, or the file cannot be read or is a Parquet file that announces too much.
    pub async fn register(&self, context: &SessionContext) -> Result<(), SqlError> {
        let Self {
            name,
            source,
            path,
            format,
            ..
        } = self;
        if KnownNames::of(context).tables.contains(name) {
            return Err(SqlError::invalid(format!(
                "there is a table {name} already: give the file another name"
            )));
        }
        let dotted = dotted_extension(path);
        let registered = match format {
            ReadyFormat::Csv => {
                let options = CsvReadOptions::new().file_extension(&dotted);
                context.register_csv(name, path, options).await
            }
            ReadyFormat::Parquet => {
                examine(context, path, &dotted)?;
                let options = ParquetReadOptions::default().file_extension(&dotted);
                context.register_parquet(name, path, options).await
            }
            ReadyFormat::NdJson => {
                let options = JsonReadOptions::default().file_extension(&dotted);
                context.register_json(name, path, options).await
            }
        };
        let failed = |error: DataFusionError| {
            let reason = error.strip_backtrace().replace(path.as_str(), source);
            SqlError::invalid(format!("{source}: {reason}"))
        };
        registered.map_err(failed)?;
        if matches!(format, ReadyFormat::Parquet) {
            let added = missing::added();
            make_null(context, name, added).await.map_err(failed)?;
        }
        Ok(())
    }
}

/// Makes the values null that are one of these texts, given in lower case, in the text columns of a table.
async fn make_null(
    context: &SessionContext,
    name: &str,
    texts: &[String],
) -> Result<(), DataFusionError> {
    if texts.is_empty() {
        return Ok(());
    }
    let frame = context.table(name).await?;
    let mut columns = Vec::new();
    for field in frame.schema().fields() {
        let column = ident(field.name());
        if !is_text(field.data_type()) || missing::may_name_section(field.name()) {
            columns.push(column);
            continue;
        }
        let text = lower(trim(vec![cast(column.clone(), DataType::Utf8)]));
        let texts = texts.iter().map(|text| lit(text.as_str())).collect();
        let null = lit(ScalarValue::try_from(field.data_type())?);
        let value = when(text.in_list(texts, false), null).otherwise(column)?;
        columns.push(value.alias(field.name()));
    }
    let view = frame.select(columns)?.into_view();
    context.deregister_table(name)?;
    context.register_table(name, view)?;
    Ok(())
}

fn open(path: &str) -> Result<Input<'static>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    toise_input::open(file, TextConversion::Utf8).map_err(|error| error.to_string())
}

/// Returns the format of the files of a folder or a pattern by their extension.
fn format_of_name(path: &str) -> Result<ReadyFormat, String> {
    let lower = path.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    if ends(&[".csv"]) {
        Ok(ReadyFormat::Csv)
    } else if ends(&[".ndjson", ".jsonl", ".json"]) {
        Ok(ReadyFormat::NdJson)
    } else if ends(&[".parquet"]) || Path::new(path).is_dir() {
        Ok(ReadyFormat::Parquet)
    } else {
        Err("several files must be .parquet, .csv or .ndjson".into())
    }
}

fn copied(mut input: Input<'_>, suffix: &str) -> std::io::Result<TempPath> {
    let mut copy = temporary(suffix)?;
    std::io::copy(&mut input.reader, &mut copy)?;
    Ok(copy.into_temp_path())
}

fn dotted_extension(path: &str) -> String {
    let extension = Path::new(path).extension();
    let extension = extension.and_then(|extension| extension.to_str());
    format!(".{}", extension.unwrap_or_default())
}

/// Copies the objects of all JSON files of a pattern to one file of lines.
fn lines_of_several(path: &str) -> Result<TempPath, SqlError> {
    let invalid = |reason: String| SqlError::invalid(format!("{path}: {reason}"));
    let mut copy = json_copy().map_err(invalid)?;
    for file in table_files(path, &dotted_extension(path))? {
        let name = file.display().to_string();
        let copied = open(&name).and_then(|input| copy_json(input.reader, &mut copy));
        copied.map_err(|reason| SqlError::invalid(format!("{name}: {reason}")))?;
    }
    finished(copy).map_err(invalid)
}

fn json_copy() -> Result<BufWriter<NamedTempFile>, String> {
    let copy = temporary(".ndjson").map_err(|error| error.to_string())?;
    Ok(BufWriter::new(copy))
}

/// Returns the path of a copy, unless nothing was written to it.
fn finished(copy: BufWriter<NamedTempFile>) -> Result<TempPath, String> {
    let copy = copy.into_inner().map_err(|error| error.to_string())?;
    let metadata = copy.as_file().metadata();
    if metadata.map_err(|error| error.to_string())?.len() == 0 {
        return Err(NO_ROWS.into());
    }
    Ok(copy.into_temp_path())
}

/// Copies lines of JSON, or the items of an array or of the only list in an object, one per line.
fn copy_json(mut reader: impl BufRead, out: &mut impl Write) -> Result<(), String> {
    let start = reader.fill_buf().map_err(|error| error.to_string())?;
    let is_document = json::is_document(start);
    match start.trim_ascii_start().first() {
        Some(b'[') => copy_items(reader, out),
        _ if is_document => copy_document(reader, out),
        _ => copy_lines(reader, out),
    }
}

/// Writes the rows of a JSON object one per line. The object is held in memory.
fn copy_document(mut reader: impl BufRead, out: &mut impl Write) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut text = Vec::new();
    reader.read_to_end(&mut text).map_err(failed)?;
    let lines = json::lines_of_document(&text)?;
    let lines = lines.map_or(text, String::into_bytes);
    copy_lines(lines.as_slice(), out)
}

/// Copies lines of JSON; values that are not numbers become null, and long integers texts.
fn copy_lines(reader: impl BufRead, out: &mut impl Write) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    for line in reader.split(b'\n') {
        let line = line.map_err(failed)?;
        let line = json::with_nulls(&line).unwrap_or(line);
        let line = json::with_long_integers(&line).unwrap_or(line);
        out.write_all(&line).map_err(failed)?;
        out.write_all(b"\n").map_err(failed)?;
    }
    Ok(())
}

/// Writes the items of a JSON array one per line. The array is held in memory.
fn copy_items(mut reader: impl BufRead, out: &mut impl Write) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut text = Vec::new();
    reader.read_to_end(&mut text).map_err(failed)?;
    let lines = json::lines_of_array(&text)?.into_bytes();
    let lines = json::with_long_integers(&lines).unwrap_or(lines);
    out.write_all(&lines).map_err(failed)
}

/// Examines the Parquet files of a table, and sets the session's batch size to the rows that they allow.
fn examine(context: &SessionContext, path: &str, dotted: &str) -> Result<(), SqlError> {
    let mut rows = context.state_ref().read().config().batch_size();
    for file in table_files(path, dotted)? {
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
fn table_files(path: &str, dotted: &str) -> Result<Vec<PathBuf>, SqlError> {
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
