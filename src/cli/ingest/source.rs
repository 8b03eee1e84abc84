//! Opens the files of an ingestion in their formats, and reads their rows.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, Read, stdin};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use indicatif::ProgressBar;
use serde_json::{Map, Value};
use tempfile::TempPath;

use super::columnar::ParquetRows;
use super::delimited::{CsvDialect, CsvRows};
use super::document::JsonRecords;
use super::lines::{Line, NdJson};
use crate::result::Failure;
use toise_base::bounded::FILE_COLUMNS_MAX;
use toise_collect::mapping::RowPath;
use toise_input::{Bounds, SharedForm};
use toise_opendata::source::files::expand;

/// File name that stands for standard input.
pub const STDIN: &str = "-";

/// File format; archives and spreadsheets are recognised by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IngestFormat {
    /// One JSON object per line
    Ndjson,
    /// A JSON array of objects, or a document that holds one
    Json,
    /// A header and rows, with cells separated by commas, semicolons, tabs or vertical bars
    Csv,
    /// A Parquet or Arrow file
    Parquet,
    /// An XML document, in which the adverts are elements
    Xml,
}

/// Rows of a file, in order.
pub type Rows<'r> = Box<dyn Iterator<Item = std::io::Result<Line>> + Send + 'r>;

/// An open file.
pub struct OpenSource<'r> {
    /// Its rows.
    pub rows: Rows<'r>,
    /// The names of its columns; `None` for JSON, whose objects may have different fields.
    pub header: Option<Vec<String>>,
    /// Unit of the numbers of its rows: `line` or `record`.
    pub counted: &'static str,
    /// Its containers and its encoding, as detected.
    pub form: SharedForm,
}

/// The names of the fields of rows without a header, in the order in which they first occur, as many as a table may
/// have columns.
#[derive(Default)]
pub struct FieldNames {
    /// The names.
    pub names: Vec<String>,
    known: HashSet<String>,
}

impl FieldNames {
    /// Adds the names of a row's fields.
    pub fn add(&mut self, row: &Map<String, Value>) {
        for name in row.keys() {
            if self.names.len() < FILE_COLUMNS_MAX && !self.known.contains(name) {
                self.known.insert(name.clone());
                self.names.push(name.clone());
            }
        }
    }
}

/// Expands the arguments to files in a stable order; `None` stands for standard input.
pub fn sources(arguments: &[PathBuf]) -> Result<Vec<Option<PathBuf>>, Failure> {
    let mut sources = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == STDIN {
            sources.push(None);
        } else {
            let files = expand(std::slice::from_ref(argument))?;
            sources.extend(files.into_iter().map(Some));
        }
    }
    Ok(sources)
}

/// Copies standard input to a temporary file, which can be read twice.
///
/// # Errors
/// Standard input cannot be read, or the file not be written.
pub fn spooled_input() -> std::io::Result<TempPath> {
    let mut file = tempfile::NamedTempFile::new()?;
    std::io::copy(&mut stdin().lock(), &mut file)?;
    Ok(file.into_temp_path())
}

/// Returns the name of a file in messages.
pub fn name_of(source: Option<&Path>) -> String {
    source.map_or(STDIN.into(), |path| path.display().to_string())
}

/// Opens a file. Its format is the given one, otherwise that of its name, otherwise that of its first bytes.
///
/// # Errors
/// The file cannot be read, or its beginning does not have its format.
pub fn open<'r>(
    source: Option<&Path>,
    format: Option<IngestFormat>,
    dialect: &CsvDialect,
    records: Option<&RowPath>,
    bar: &'r ProgressBar,
) -> Result<OpenSource<'r>, String> {
    let format = format.or_else(|| format_of_name(source?));
    let input: Box<dyn Read + Send> = match source {
        Some(path) => Box::new(File::open(path).map_err(|error| error.to_string())?),
        None => Box::new(stdin()),
    };
    let bounds = Bounds {
        has_markup: true,
        ..Bounds::default()
    };
    let input = toise_input::open_within(bar.wrap_read(input), dialect.conversion(), bounds)
        .map_err(|error| error.to_string())?;
    if input.is_parquet {
        let form = input.form.clone();
        return parquet(input.into_file(), form);
    }
    let (form, mut input) = (input.form, input.reader);
    let start = input.fill_buf().map_err(|error| error.to_string())?;
    if start.trim_ascii().is_empty() {
        return Err("the file is empty".into());
    }
    // The name of an archive or a spreadsheet says nothing of the text in it.
    let is_packed = form.found().containers.iter().any(|name| name != "gzip");
    let format = format.filter(|_| !is_packed);
    let format = format.unwrap_or_else(|| format_of_start(start));
    let open = |rows: Rows<'r>, header, counted| OpenSource {
        rows,
        header,
        counted,
        form: form.clone(),
    };
    Ok(match format {
        IngestFormat::Csv => {
            let rows = CsvRows::new(input, dialect, &form)?;
            let header = rows.names().to_vec();
            open(Box::new(rows), Some(header), "line")
        }
        IngestFormat::Json => open(Box::new(JsonRecords::new(input, records)?), None, "record"),
        IngestFormat::Parquet => return Err("not a Parquet file".into()),
        IngestFormat::Ndjson => open(Box::new(NdJson::new(input, &form)), None, "line"),
        IngestFormat::Xml => open(xml(input, records, &form)?, None, "record"),
    })
}

/// Reads the records of an XML document; `records` is the path of their element.
fn xml<'r>(
    input: impl Read,
    records: Option<&RowPath>,
    form: &SharedForm,
) -> Result<Rows<'r>, String> {
    let records = toise_input::xml::open(input, records.map(|path| path.name.as_str()), form)?;
    let mut is_ended = false;
    let lines = (1..).zip(records).map_while(move |(number, row)| {
        // Nothing can be read after the document is malformed.
        let ends = std::mem::replace(&mut is_ended, row.is_err());
        (!ends).then_some(Ok(Line { number, row }))
    });
    Ok(Box::new(lines))
}

fn parquet<'r>(file: std::io::Result<File>, form: SharedForm) -> Result<OpenSource<'r>, String> {
    let rows = ParquetRows::new(file.map_err(|error| error.to_string())?)?;
    Ok(OpenSource {
        header: Some(rows.header().to_vec()),
        rows: Box::new(rows),
        counted: "record",
        form,
    })
}

fn format_of_name(path: &Path) -> Option<IngestFormat> {
    let name = path.to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "csv" | "tsv" | "txt" => Some(IngestFormat::Csv),
        "json" | "geojson" => Some(IngestFormat::Json),
        "ndjson" | "jsonl" => Some(IngestFormat::Ndjson),
        "parquet" => Some(IngestFormat::Parquet),
        "xml" => Some(IngestFormat::Xml),
        _ => None,
    }
}

fn format_of_start(start: &[u8]) -> IngestFormat {
    match start.trim_ascii_start().first() {
        Some(b'[') => IngestFormat::Json,
        Some(b'{') => IngestFormat::Ndjson,
        Some(b'<') => IngestFormat::Xml,
        _ => IngestFormat::Csv,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_that_of_the_name_else_of_the_first_byte() {
        let of = |name: &str| format_of_name(Path::new(name));
        assert_eq!(of("a/Export.CSV.gz"), Some(IngestFormat::Csv));
        assert_eq!(of("a.ndjson"), Some(IngestFormat::Ndjson));
        assert_eq!(of("a.json"), Some(IngestFormat::Json));
        assert_eq!(of("a.b.parquet"), Some(IngestFormat::Parquet));
        assert_eq!(of("adverts"), None);
        assert_eq!(format_of_start(b" \n[{}]"), IngestFormat::Json);
        assert_eq!(format_of_start(b"{\"url\": 1}\n"), IngestFormat::Ndjson);
        assert_eq!(format_of_start(b"url;prix\n"), IngestFormat::Csv);
        assert_eq!(format_of_start(b"<?xml version='1.0'?>"), IngestFormat::Xml);
    }
}
