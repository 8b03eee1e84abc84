//! Opens the files of an ingestion in their formats, and reads their rows.

use std::fs::File;
use std::io::{BufRead, Read, stdin};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use indicatif::ProgressBar;

use super::BoxedError;
use super::columnar::ParquetRows;
use super::delimited::{CsvDialect, CsvRows};
use super::document::JsonRecords;
use super::lines::{Line, NdJson};
use toise_base::bounded::unpack;
use toise_collect::mapping::RowPath;
use toise_opendata::source::files::expand;

/// File name that stands for standard input.
pub const STDIN: &str = "-";

/// File format; gzip is recognised by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IngestFormat {
    /// One JSON object per line
    Ndjson,
    /// A JSON array of objects, or a document that holds one
    Json,
    /// A header and rows, with cells separated by commas, semicolons, tabs or vertical bars
    Csv,
    /// A Parquet file
    Parquet,
}

/// Rows of a file, in order.
pub type Rows<'r> = Box<dyn Iterator<Item = std::io::Result<Line>> + Send + 'r>;

/// An open file.
pub struct OpenSource<'r> {
    /// Its rows.
    pub rows: Rows<'r>,
    /// The names of its columns; `None` for JSON, whose objects may have different fields.
    pub header: Option<Vec<String>>,
    /// What the numbers of its rows count: lines or records.
    pub counted: &'static str,
}

/// Expands the arguments to files in a stable order; `None` stands for standard input.
pub fn sources(arguments: &[PathBuf]) -> Result<Vec<Option<PathBuf>>, BoxedError> {
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

/// Returns the name of a file in messages.
pub fn name_of(source: Option<&Path>) -> String {
    source.map_or(STDIN.into(), |path| path.display().to_string())
}

/// Opens a file. Its format is the given one, else that of its name, else that of its first bytes.
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
    if format == Some(IngestFormat::Parquet) {
        return parquet(source);
    }
    let input: Box<dyn Read + Send> = match source {
        Some(path) => Box::new(File::open(path).map_err(|error| error.to_string())?),
        None => Box::new(stdin()),
    };
    let mut input = unpack(bar.wrap_read(input)).map_err(|error| error.to_string())?;
    let start = input.fill_buf().map_err(|error| error.to_string())?;
    let format = format.unwrap_or_else(|| format_of_start(start));
    let open = |rows: Rows<'r>, header, counted| OpenSource {
        rows,
        header,
        counted,
    };
    Ok(match format {
        IngestFormat::Csv => {
            let rows = CsvRows::new(input, dialect)?;
            let header = rows.header().to_vec();
            open(Box::new(rows), Some(header), "line")
        }
        IngestFormat::Json => open(Box::new(JsonRecords::new(input, records)?), None, "record"),
        IngestFormat::Ndjson | IngestFormat::Parquet => {
            open(Box::new(NdJson::new(input)), None, "line")
        }
    })
}

fn parquet<'r>(source: Option<&Path>) -> Result<OpenSource<'r>, String> {
    let file = match source {
        Some(path) => File::open(path),
        None => spooled(),
    };
    let rows = ParquetRows::new(file.map_err(|error| error.to_string())?)?;
    Ok(OpenSource {
        header: Some(rows.header().to_vec()),
        rows: Box::new(rows),
        counted: "record",
    })
}

/// Copies standard input to a temporary file, because the footer of a Parquet file is at its end.
fn spooled() -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    std::io::copy(&mut stdin(), &mut file)?;
    Ok(file)
}

fn format_of_name(path: &Path) -> Option<IngestFormat> {
    let name = path.to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "csv" | "tsv" | "txt" => Some(IngestFormat::Csv),
        "json" | "geojson" => Some(IngestFormat::Json),
        "ndjson" | "jsonl" => Some(IngestFormat::Ndjson),
        "parquet" => Some(IngestFormat::Parquet),
        _ => None,
    }
}

fn format_of_start(start: &[u8]) -> IngestFormat {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    if text.trim_ascii_start().starts_with(b"[") {
        IngestFormat::Json
    } else {
        IngestFormat::Ndjson
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
    }
}
