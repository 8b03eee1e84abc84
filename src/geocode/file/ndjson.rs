//! Geocodes NDJSON: each object keeps its bytes, and the results are appended to it as fields.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::bulk::{Error, FileJob};
use super::columns::ResultColumn;
use super::csv::RowCounts;
use super::request::{FileRequest, InputColumns};
use super::rows::{RowAnswer, RowAnswers, RowCells, RowGeocoder};
use crate::request::Operation;

/// Lines of a block.
const BLOCK_LINES: usize = 4_096;

/// Geocodes a file of JSON objects, one a line. A line that is none becomes an object with the line and its status.
pub(super) fn run(
    job: &FileJob<'_>,
    answers: &(impl RowAnswers + ?Sized),
    output: &File,
) -> Result<RowCounts, Error> {
    let operation = job.request.operation;
    let appended = job.request.appended().map_err(|fault| job.misfit(fault))?;
    let mut rows = RowGeocoder::new(operation, appended);
    let mut lines = BufReader::new(job.open()?).lines();
    let mut output = BufWriter::new(output);
    let mut counts = RowCounts::default();
    loop {
        let mut block = Vec::with_capacity(BLOCK_LINES);
        for line in lines.by_ref().take(BLOCK_LINES) {
            block.push(line.map_err(|error| job.reading(error))?);
        }
        if block.is_empty() {
            break;
        }
        let read: usize = block.iter().map(|line| line.len() + 1).sum();
        block.retain(|line| !line.trim().is_empty());
        let asked: Vec<Option<RowCells>> = block
            .iter()
            .map(|line| row_cells(job.request, line))
            .collect();
        let answered = rows.answer(answers, &asked);
        let answers = answered.map_err(|error| job.reading(error))?;
        for (line, answer) in block.iter().zip(&answers) {
            counts.count(answer.status);
            let text = with_results(line, rows.appended(), answer, operation);
            writeln!(output, "{text}").map_err(|error| job.writing(error))?;
        }
        (job.progress)(read as u64);
    }
    output.flush().map_err(|error| job.writing(error))?;
    Ok(counts)
}

/// The cells of a line's question; `None` if it is no object. A field that is missing is an empty cell.
fn row_cells(request: &FileRequest, line: &str) -> Option<RowCells> {
    let object: Map<String, Value> = serde_json::from_str(line).ok()?;
    let names: Vec<String> = object.keys().cloned().collect();
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
    Some(RowCells::read(&columns, cell))
}

fn with_results(
    line: &str,
    appended: &[ResultColumn],
    answer: &Arc<RowAnswer>,
    operation: Operation,
) -> String {
    let line = line.trim().trim_start_matches('\u{feff}');
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
    let Some(begin) = line.strip_suffix('}').filter(|_| line.starts_with('{')) else {
        return json!({"line": line, ResultColumn::Status.name(operation): "error"}).to_string();
    };
    // Both are objects: one takes the fields of the other, and what was there keeps its bytes.
    let inner = &results[1..results.len() - 1];
    match begin.trim_end() {
        "{" => results,
        begin if inner.is_empty() => format!("{begin}}}"),
        begin => format!("{begin},{inner}}}"),
    }
}
