//! Geocodes a file for the command line: CSV, Parquet or NDJSON, in any container, into a file of the same kind. A
//! spreadsheet becomes CSV, and an Arrow file becomes Parquet.
//!
//! The result is written under a temporary name and renamed at the end, so that a file with the final name is complete.

use std::fs::{self, File};
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::csv::{self, CsvPlan, RowCounts, next_block};
use super::findings::RowFindings;
use super::request::FileRequest;
use super::rows::RowAnswers;
use super::text::TextEncoding;
use super::{ndjson, parquet};
use toise_base::formula::Formulas;
use toise_contract::Fault;
use toise_input::json::{
    is_array_of_objects, is_document, lines_of_array, lines_of_document, reason_against_table,
};
use toise_input::{Input, ReadFile, TextConversion};
use toise_lake::foreign::ForeignError;

/// Bytes written at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Maximum size of a JSON array or object, which is held in memory, bytes.
const ARRAY_BYTES_MAX: u64 = 512 << 20;

/// Errors of geocoding a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The extension of the output names a format other than that of the result.
    #[error("{path}: the extension must be {extensions}, as the result of this file is {format}")]
    Extension {
        /// Path of the output.
        path: PathBuf,
        /// Extensions that fit.
        extensions: &'static str,
        /// Format of the result.
        format: &'static str,
    },
    /// The request does not fit the file.
    #[error("{path}: {fault}")]
    Request {
        /// Path of the file.
        path: PathBuf,
        /// The fault in the request or the file.
        fault: Fault,
    },
    /// A Parquet file cannot be read or exceeds a limit.
    #[error("{path}: {source}")]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// The cause, with its location.
        source: ForeignError,
    },
    /// A Parquet file cannot be written.
    #[error("{path}: {source}")]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: ::parquet::errors::ParquetError,
    },
    /// A Parquet column cannot be read as text.
    #[error("{path}: {source}")]
    Arrow {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: arrow::error::ArrowError,
    },
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Delimited text.
    Csv,
    /// One JSON object per line.
    NdJson,
    /// Parquet.
    Parquet,
}

impl FileKind {
    /// Returns the name of the format.
    fn format(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::NdJson => "NDJSON",
            Self::Parquet => "Parquet",
        }
    }

    /// Returns the extensions of the format.
    fn extensions(self) -> &'static str {
        match self {
            Self::Csv => ".csv, .tsv or .txt",
            Self::NdJson => ".ndjson, .jsonl or .json",
            Self::Parquet => ".parquet",
        }
    }

    /// Returns whether an extension, in lower case, names a format other than this one. An unknown extension does not.
    fn is_other(self, extension: &str) -> bool {
        match extension {
            "csv" | "tsv" | "txt" => self != Self::Csv,
            "ndjson" | "jsonl" | "json" => self != Self::NdJson,
            "parquet" => self != Self::Parquet,
            // A result is never a workbook, and never packed.
            "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" | "arrow" | "arrows" | "feather"
            | "geojson" | "gz" | "zst" | "zip" => true,
            _ => false,
        }
    }
}

/// Report on a geocoded file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileReport {
    /// Rows.
    pub rows: u64,
    /// Rows by status.
    #[serde(flatten)]
    pub counts: RowCounts,
    /// How the file was interpreted.
    pub files: Vec<ReadFile>,
    /// Elapsed time, seconds.
    pub seconds: f64,
    /// Rows per second.
    pub rows_per_second: f64,
}

/// Files to read and write, the request, and the progress callback.
pub struct FileJob<'a> {
    /// The input file.
    pub input: &'a Path,
    /// The output file.
    pub output: &'a Path,
    /// The request to apply to the input.
    pub request: &'a FileRequest,
    /// The treatment of cells of a CSV output that a spreadsheet would run as formulas.
    pub formulas: Formulas,
    /// Called with the number of input bytes read since the previous call.
    pub progress: &'a dyn Fn(u64),
}

impl FileJob<'_> {
    pub(super) fn reading(&self, source: io::Error) -> Error {
        Error::Io {
            path: self.input.to_owned(),
            source,
        }
    }

    pub(super) fn writing(&self, source: io::Error) -> Error {
        Error::Io {
            path: self.output.to_owned(),
            source,
        }
    }

    pub(super) fn request_error(&self, fault: Fault) -> Error {
        Error::Request {
            path: self.input.to_owned(),
            fault,
        }
    }

    /// Opens the input at its beginning, unpacked. Text is not re-encoded, except from UTF-16 to UTF-8. The objects of
    /// a JSON array are lines, and so are those of the only list in a JSON object; it is held in memory.
    pub(super) fn open(&self) -> Result<Input<'static>, Error> {
        self.open_rows().map(|(input, _)| input)
    }

    /// Opens the input like [`Self::open`], and returns whether it is a JSON array or object.
    pub(super) fn open_rows(&self) -> Result<(Input<'static>, bool), Error> {
        let file = File::open(self.input).map_err(|error| self.reading(error))?;
        let opened = toise_input::open(file, TextConversion::Utf16Only);
        let mut input = opened.map_err(|error| match error {
            toise_input::Error::Io(error) => self.reading(error),
            toise_input::Error::Refused(reason) => self.request_error(Fault::new("data", reason)),
        })?;
        let start = input
            .reader
            .fill_buf()
            .map_err(|error| self.reading(error))?;
        let unmarked = start.strip_prefix(super::text::BYTE_ORDER_MARK);
        let unmarked = unmarked.unwrap_or(start);
        let reason = reason_against_table(unmarked).filter(|_| !input.is_parquet);
        if let Some(reason) = reason {
            return Err(self.request_error(Fault::new("data", reason)));
        }
        let is_object = is_document(unmarked);
        let is_json = !input.is_parquet && (is_object || is_array_of_objects(unmarked));
        if is_json {
            let mut text = Vec::new();
            let mut source = input.reader.take(ARRAY_BYTES_MAX + 1);
            let read = source.read_to_end(&mut text);
            read.map_err(|error| self.reading(error))?;
            if text.len() as u64 > ARRAY_BYTES_MAX {
                let reason = "is a JSON text of more than 512 MiB: write one object per line";
                return Err(self.request_error(Fault::new("data", reason)));
            }
            let unmarked = text.strip_prefix(super::text::BYTE_ORDER_MARK);
            let unmarked = unmarked.unwrap_or(&text);
            let lines = if is_object {
                lines_of_document(unmarked)
            } else {
                lines_of_array(unmarked).map(Some)
            };
            let lines = lines.map_err(|reason| self.request_error(Fault::new("data", reason)))?;
            let lines = lines.map_or(text, String::into_bytes);
            input.reader = Box::new(io::Cursor::new(lines));
        }
        Ok((input, is_json))
    }

    /// Returns whether the output is named like JSON, and not like NDJSON.
    pub(super) fn is_json_named(&self) -> bool {
        let extension = self.output.extension().unwrap_or_default();
        extension.eq_ignore_ascii_case("json")
    }

    /// Detects the kind of the input from its first bytes.
    pub(super) fn kind(&self) -> Result<FileKind, Error> {
        let mut input = self.open()?;
        if input.is_parquet {
            return Ok(FileKind::Parquet);
        }
        let start = input
            .reader
            .fill_buf()
            .map_err(|error| self.reading(error))?;
        let text = start.strip_prefix(super::text::BYTE_ORDER_MARK);
        match text.unwrap_or(start).trim_ascii_start().first() {
            None => Err(self.request_error(Fault::new("data", "is empty"))),
            Some(b'{') => Ok(FileKind::NdJson),
            Some(_) => Ok(FileKind::Csv),
        }
    }

    /// Checks that the extension of the output does not name a format other than that of the result.
    fn check_extension(&self, kind: FileKind) -> Result<(), Error> {
        let extension = self.output.extension().unwrap_or_default();
        let extension = extension.to_string_lossy().to_lowercase();
        if kind.is_other(&extension) {
            return Err(Error::Extension {
                path: self.output.to_owned(),
                extensions: kind.extensions(),
                format: kind.format(),
            });
        }
        Ok(())
    }
}

/// Geocodes a file; `answers` is the local index or a set of remote workers.
///
/// # Errors
/// The file cannot be read, the request does not fit it, no worker answers, or the result cannot be written. No partial
/// result is left behind.
pub fn run(job: &FileJob<'_>, answers: &(impl RowAnswers + ?Sized)) -> Result<FileReport, Error> {
    let started = Instant::now();
    job.request
        .check()
        .map_err(|fault| job.request_error(fault))?;
    let kind = job.kind()?;
    job.check_extension(kind)?;
    let mut name = job.output.as_os_str().to_owned();
    name.push(".part");
    let draft = PathBuf::from(name);
    let output = File::create(&draft).map_err(|error| job.writing(error))?;
    let written = match kind {
        FileKind::Csv => run_csv(job, answers, &output),
        FileKind::NdJson => ndjson::run(job, answers, &output),
        FileKind::Parquet => parquet::run(job, answers, &output),
    };
    let finished = written.and_then(|counts| {
        let renamed = output
            .sync_all()
            .and_then(|()| fs::rename(&draft, job.output));
        renamed.map(|()| counts).map_err(|error| job.writing(error))
    });
    if finished.is_err() {
        // The error is returned below; a draft that cannot be deleted is overwritten by the next run.
        let _ = fs::remove_file(&draft);
    }
    let (counts, mut file) = finished?;
    file.name = job.input.display().to_string();
    file.rows = counts.rows();
    let seconds = started.elapsed().as_secs_f64();
    Ok(FileReport {
        rows: counts.rows(),
        counts,
        files: vec![file],
        seconds,
        rows_per_second: counts.rows() as f64 / seconds.max(f64::EPSILON),
    })
}

fn run_csv(
    job: &FileJob<'_>,
    answers: &(impl RowAnswers + ?Sized),
    output: &File,
) -> Result<(RowCounts, ReadFile), Error> {
    let input = job.open()?;
    let (shared_form, form) = (input.form.clone(), input.form.found());
    let encoding = TextEncoding::detect(input.reader).map_err(|error| job.reading(error))?;
    let request = job.request.clone().of_converted(&form);
    let failed = |error| match error {
        csv::Error::Request(fault) => job.request_error(fault),
        csv::Error::Io(error) => job.reading(error),
    };
    let plan = CsvPlan::read(job.open()?.reader, &request, encoding)
        .map_err(failed)?
        .with_formulas(job.formulas);
    let mut rows = plan.rows().map_err(|fault| job.request_error(fault))?;
    let mut source = job.open()?.reader;
    let header = plan.first_record_at();
    io::copy(&mut source.by_ref().take(header), &mut io::sink())
        .map_err(|error| job.reading(error))?;
    let mut records = plan.records(source, header);
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, output);
    output
        .write_all(plan.header())
        .map_err(|error| job.writing(error))?;
    let (mut counts, mut findings, mut read) = (RowCounts::default(), RowFindings::default(), 0);
    let mut lines = plan.header_lines();
    while let Some(block) =
        next_block(&plan, &mut records, &mut rows, answers).map_err(|error| job.reading(error))?
    {
        output
            .write_all(&block.text)
            .map_err(|error| job.writing(error))?;
        findings.append(block.findings, lines);
        lines += block.lines;
        counts.add(&block.counts);
        (job.progress)(block.position - read);
        read = block.position;
    }
    output.flush().map_err(|error| job.writing(error))?;
    let mut file = ReadFile {
        reading: plan.reading().clone(),
        ..ReadFile::default()
    };
    file.reading.form.containers = form.containers.clone();
    file.reading.form.notes = form.notes.clone();
    if let Some(line) = &mut file.reading.form.header_line {
        *line = shared_form.sheet_row(*line);
    }
    findings.number(|line| shared_form.sheet_row(line));
    if let Some(encoding) = form.encoding {
        file.reading.form.encoding = Some(encoding);
    }
    if file.reading.form.is_spreadsheet() {
        file.reading.form.delimiter = None;
    }
    findings.report(&mut file);
    Ok((counts, file))
}
