//! Geocodes NDJSON: each object keeps its bytes, and the results are appended to it as fields.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::bulk::{Error, FileJob};
use super::columns::{ResultColumn, RowStatus};
use super::csv::RowCounts;
use super::findings::RowFindings;
use super::input_columns::InputColumns;
use super::records::RECORD_BYTES_MAX;
use super::request::FileRequest;
use super::rows::{RowAnswer, RowAnswers, RowCells, RowGeocoder};
use crate::request::Operation;
use toise_base::bounded::Lines;
use toise_input::missing::MissingCounts;
use toise_input::{FileReading, ReadFile};

/// Maximum number of lines in a block.
const BLOCK_LINES: usize = 4_096;
/// Bytes after which a block ends however few lines it has.
const BLOCK_BYTES: usize = 4 << 20;

/// A line of the file.
struct Line {
    /// Its number in the file; in a JSON array, the number of the object.
    number: u64,
    /// Text of the line; only its beginning if the line is too long.
    text: String,
    /// Whether it may be an object: it is UTF-8 and not too long.
    is_whole: bool,
}

/// Geocodes a file of JSON objects, one per line. A line that is not an object becomes an object that holds the line
/// and its status. The result of a JSON array is an array if the output is named so.
pub(super) fn run(
    job: &FileJob<'_>,
    answers: &(impl RowAnswers + ?Sized),
    output: &File,
) -> Result<(RowCounts, ReadFile), Error> {
    let operation = job.request.operation;
    let appended = job
        .request
        .appended()
        .map_err(|fault| job.request_error(fault))?;
    let mut rows = RowGeocoder::new(operation, appended);
    let (input, is_json) = job.open_rows()?;
    let mut lines = Lines::new(input.reader, RECORD_BYTES_MAX as u64);
    let mut output = BufWriter::new(output);
    let (mut counts, mut findings, mut read) = (RowCounts::default(), RowFindings::default(), 0);
    let mut file = ReadFile::default();
    let mut request = Cow::Borrowed(job.request);
    let [open, between, end] = if is_json && job.is_json_named() {
        ["[\n", ",\n", "\n]\n"]
    } else {
        ["", "\n", "\n"]
    };
    let mut before = open;
    loop {
        let block = next_block(&mut lines).map_err(|error| job.reading(error))?;
        if block.is_empty() {
            break;
        }
        if counts.rows() == 0
            && let Some((reading, names)) =
                block.first().and_then(|line| understand(&request, line))
        {
            file.reading = reading;
            // All lines have the columns that the first one means.
            request = job.request.for_header(&names);
        }
        let asked: Vec<Option<RowCells>> = block
            .iter()
            .map(|line| row_cells(&request, line, &mut findings.missing))
            .collect();
        let answered = rows.answer(answers, &asked);
        let answers = answered.map_err(|error| job.reading(error))?;
        for ((line, cells), answer) in block.iter().zip(&asked).zip(&answers) {
            counts.count(answer);
            findings.count(line.number, cells.as_ref(), answer);
            let text = with_results(line, rows.appended(), answer, operation);
            write!(output, "{before}{text}").map_err(|error| job.writing(error))?;
            before = between;
        }
        (job.progress)(lines.bytes_read() - read);
        read = lines.bytes_read();
    }
    if counts.rows() > 0 {
        write!(output, "{end}").map_err(|error| job.writing(error))?;
    }
    output.flush().map_err(|error| job.writing(error))?;
    file.reading.form = input.form.found();
    findings.report(&mut file);
    Ok((counts, file))
}

/// Reads the next lines that are not empty; none at the end of the file.
fn next_block(lines: &mut Lines<impl BufRead>) -> io::Result<Vec<Line>> {
    let (mut block, mut bytes) = (Vec::new(), 0);
    while block.len() < BLOCK_LINES && bytes < BLOCK_BYTES {
        let Some(line) = lines.next_line()? else {
            break;
        };
        bytes += line.bytes.len();
        let text = String::from_utf8_lossy(line.bytes);
        block.push(Line {
            number: line.number,
            is_whole: !line.is_cut && matches!(text, Cow::Borrowed(_)),
            text: text.into_owned(),
        });
    }
    Ok(block)
}

/// Returns what is understood of the fields of a line, and their names; `None` if it is not an object or lacks all
/// columns of the address.
fn understand(request: &FileRequest, line: &Line) -> Option<(FileReading, Vec<String>)> {
    let object: Map<String, Value> = serde_json::from_str(&line.text).ok()?;
    let names: Vec<String> = object.keys().cloned().collect();
    let known = known(request, &object);
    let (_, reading) = InputColumns::understand(&known, &names).ok()?;
    Some((reading, names))
}

/// Returns the request without the columns that an object lacks.
fn known(request: &FileRequest, object: &Map<String, Value>) -> FileRequest {
    let mut known = request.clone();
    known.columns.retain(|name| object.contains_key(name));
    for filter in [
        &mut known.postal_code,
        &mut known.insee_code,
        &mut known.kind,
        &mut known.lat,
        &mut known.lon,
    ] {
        filter.take_if(|name| !object.contains_key(name));
    }
    known
}

/// Reads the cells of a line's query; `None` if it is not an object or not an address. A missing field is an empty
/// cell.
fn row_cells(request: &FileRequest, line: &Line, met: &mut MissingCounts) -> Option<RowCells> {
    if !line.is_whole {
        return None;
    }
    let object: Map<String, Value> = serde_json::from_str(&line.text).ok()?;
    let names: Vec<String> = object.keys().cloned().collect();
    let known = known(request, &object);
    if known.columns.is_empty() && !request.columns.is_empty() {
        return Some(RowCells::default());
    }
    let columns = InputColumns::find(&known, &names).ok()?;
    let values: Vec<&Value> = object.values().collect();
    let cell = |at: usize| match values.get(at) {
        Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(other) => Cow::Owned(other.to_string()),
    };
    RowCells::read(&columns, met, cell)
}

fn with_results(
    line: &Line,
    appended: &[ResultColumn],
    answer: &Arc<RowAnswer>,
    operation: Operation,
) -> String {
    let mut fields = Map::new();
    for (column, value) in appended.iter().zip(&answer.values) {
        if value.is_empty() {
            continue;
        }
        let number = column.is_number().then(|| value.parse::<f64>().ok());
        let value = number
            .flatten()
            .map_or_else(|| json!(value), |number| json!(number));
        fields.insert(column.name(operation).to_owned(), value);
    }
    let results = Value::Object(fields).to_string();
    let text = &*line.text;
    // A row with any other status was parsed as an object.
    let is_read =
        || answer.status != RowStatus::Error || serde_json::from_str::<IgnoredAny>(text).is_ok();
    let is_object = line.is_whole && text.starts_with('{') && is_read();
    let Some(begin) = text.strip_suffix('}').filter(|_| is_object) else {
        return json!({"line": text, ResultColumn::Status.name(operation): "error"}).to_string();
    };
    // Both are objects, so the result fields can be appended without changing the original bytes.
    let inner = &results[1..results.len() - 1];
    match begin.trim_end() {
        "{" => results,
        begin if inner.is_empty() => format!("{begin}}}"),
        begin => format!("{begin},{inner}}}"),
    }
}
