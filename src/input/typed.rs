//! Converts delimited text to a Parquet file whose column types are decided from all rows.
//!
//! The text is read twice: once to see what the cells of each column have in common, once to write them. A column has
//! whole numbers, numbers, days or timestamps if all its cells are such; otherwise, or if they are codes, it is text
//! (`column_evidence.rs`).

use std::io::{BufRead, Read};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StringBuilder, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use tempfile::{NamedTempFile, TempPath};

use toise_base::bounded::{RecordBound, RecordEnds, check_columns};

use crate::SharedForm;
pub use crate::column_evidence::TextColumns;
use crate::column_evidence::{ColumnEvidence, ColumnKind, day_number, decimals_of_file, moment};
use crate::delimited::{EvenText, Splitter, misfit_note};
use crate::number::{self, LoneSeparator};

/// Message for a file without rows.
pub const NO_ROWS: &str = "no rows: check that it is the right file, and has rows after its header";
/// Rows per batch.
const BATCH_ROWS: usize = 8_192;

/// Creates an empty temporary file with this suffix.
///
/// # Errors
/// It cannot be created.
pub fn temporary(suffix: &str) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix("toise-")
        .suffix(suffix)
        .tempfile()
}

/// The rows of a delimited text.
struct Rows {
    rows: csv::Reader<EvenText<RecordBound<Box<dyn Read>>>>,
    ends: RecordEnds,
    header: Vec<String>,
    /// The header as it is written.
    names: csv::StringRecord,
    /// Rows that repeated it.
    repeated: u64,
}

impl Rows {
    fn open(mut text: Box<dyn BufRead + Send>, form: &SharedForm) -> Result<Self, String> {
        let start = text.fill_buf().map_err(|error| error.to_string())?;
        let splitter = Splitter::new(start, None, form);
        let (text, ends) = RecordBound::new(Box::new(text) as Box<dyn Read>);
        let mut rows = splitter.reader(text);
        let names = rows
            .headers()
            .map_err(|error| explain(error, &[], &csv::StringRecord::new()))?
            .clone();
        check_columns(names.len())?;
        let mut header: Vec<String> = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            let mut name = name.trim().to_owned();
            if name.is_empty() {
                name = format!("column_{}", place + 1);
            }
            // A repeated name gets the number of its column as suffix.
            if header.contains(&name) {
                name = format!("{name}_{}", place + 1);
            }
            header.push(name);
        }
        Ok(Self {
            rows,
            ends,
            header,
            names,
            repeated: 0,
        })
    }

    /// Reads the next row. Skips those that repeat the header, as in several files that were joined, because their names
    /// would make every column text.
    fn next(&mut self, record: &mut csv::StringRecord) -> Result<bool, String> {
        loop {
            let read = self.rows.read_record(record);
            self.ends.mark();
            let read = read.map_err(|error| explain(error, &self.header, record))?;
            // In one column, a cell may well equal the name.
            if !read || self.names.len() < 2 || *record != self.names {
                return Ok(read);
            }
            self.repeated += 1;
        }
    }
}

/// Explains an error; `row` is the row that was read with it.
fn explain(error: csv::Error, header: &[String], row: &csv::StringRecord) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            let note = misfit_note(header, row);
            format!(
                "line {line}: the row has {len} cells where the header has {expected_len}{note}"
            )
        }
        _ => error.to_string(),
    }
}

/// Converts a text. `open` opens it and is called twice; the delimiter is recorded in `form`. Returns the Parquet file
/// and notes for the user.
///
/// # Errors
/// The text cannot be read, has no rows, or has rows whose width differs from the header's.
pub fn convert(
    open: impl Fn() -> Result<Box<dyn BufRead + Send>, String>,
    text_columns: &TextColumns,
    form: &SharedForm,
) -> Result<(TempPath, Option<String>), String> {
    let mut rows = Rows::open(open()?, form)?;
    if let TextColumns::Named(names) = text_columns
        && let Some(unknown) = names
            .iter()
            .find(|name| !rows.header.iter().any(|one| one.eq_ignore_ascii_case(name)))
    {
        return Err(format!(
            "--text-columns: no column {unknown:?}; columns: {}",
            rows.header.join(", ")
        ));
    }
    let mut evidence: Vec<ColumnEvidence> = rows
        .header
        .iter()
        .map(|name| ColumnEvidence::new(name, text_columns))
        .collect();
    let mut record = csv::StringRecord::new();
    let mut count = 0u64;
    while rows.next(&mut record)? {
        count += 1;
        for (column, cell) in evidence.iter_mut().zip(&record) {
            column.observe(cell);
        }
    }
    if count == 0 {
        return Err(NO_ROWS.into());
    }
    let decimals = decimals_of_file(&evidence, form);
    form.set_decimal_mark(decimals.mark());
    for column in &mut evidence {
        column.of_file = decimals.lone_separator();
    }
    let Rows {
        header, repeated, ..
    } = rows;
    let copy = write(Rows::open(open()?, form)?, &header, &evidence)?;
    let notes = [repeated_note(repeated), note(&header, &evidence)];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok((copy, note))
}

/// Returns a note on the rows that repeat the header.
fn repeated_note(rows: u64) -> Option<String> {
    (rows > 0).then(|| format!("rows that repeat the header, left out: {rows}"))
}

/// Names the columns that are codes, and those with decimal commas.
fn note(header: &[String], evidence: &[ColumnEvidence]) -> Option<String> {
    let named = |what: &str, is: &dyn Fn(&ColumnEvidence) -> bool| {
        let names = header.iter().zip(evidence);
        let names: Vec<&str> = names
            .filter(|(_, column)| is(column))
            .map(|(name, _)| name.as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let parts = [
        named("kept as text", &|column| {
            column.is_code && column.values > 0
        }),
        named("codes read without .0", &|column| {
            column.has_decimal_codes()
        }),
        named("decimal commas", &|column| {
            column.kind() == ColumnKind::Number(LoneSeparator::French) && column.decimals.commas > 0
        }),
        named(
            "decimals or thousands, read as in the other columns",
            &|column| {
                let is_by_file = column.is_undecided() && column.of_file != LoneSeparator::Unknown;
                matches!(column.kind(), ColumnKind::Number(_))
                    && column.is_ambiguous()
                    && is_by_file
            },
        ),
        named(
            "read as decimals, though they may be thousands",
            &|column| {
                let is_number = matches!(column.kind(), ColumnKind::Number(_));
                let is_unknown = column.lone_separator() == LoneSeparator::Unknown;
                is_number && column.is_ambiguous() && column.is_undecided() && is_unknown
            },
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Makes a column of its cells, in the type of its kind.
fn column(kind: ColumnKind, cells: StringArray) -> ArrayRef {
    let trimmed = || cells.iter().map(|cell| cell.map(str::trim));
    match kind {
        ColumnKind::Flag => {
            let flags = trimmed().map(|cell| cell.map(|cell| cell.eq_ignore_ascii_case("true")));
            Arc::new(flags.collect::<BooleanArray>())
        }
        ColumnKind::Integer => {
            let integers = trimmed().map(|cell| cell?.parse::<i64>().ok());
            Arc::new(integers.collect::<Int64Array>())
        }
        ColumnKind::Number(lone) => {
            let numbers = trimmed().map(|cell| number::read(cell?, lone));
            Arc::new(numbers.collect::<Float64Array>())
        }
        ColumnKind::Day => {
            let days = trimmed().map(|cell| day_number(cell?));
            Arc::new(days.collect::<Date32Array>())
        }
        ColumnKind::Moment { .. } => {
            let midnight = |cell: &str| Some(i64::from(day_number(cell)?) * 86_400_000);
            let moments = trimmed().map(|cell| midnight(cell?).or_else(|| moment(cell?)));
            let moments: TimestampMillisecondArray = moments.collect();
            Arc::new(moments.with_data_type(data_type(kind)))
        }
        ColumnKind::Text => Arc::new(cells),
    }
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Flag => DataType::Boolean,
        ColumnKind::Integer => DataType::Int64,
        ColumnKind::Number(_) => DataType::Float64,
        ColumnKind::Day => DataType::Date32,
        ColumnKind::Moment { is_utc } => {
            DataType::Timestamp(TimeUnit::Millisecond, is_utc.then(|| "UTC".into()))
        }
        ColumnKind::Text => DataType::Utf8,
    }
}

fn write(
    mut rows: Rows,
    header: &[String],
    evidence: &[ColumnEvidence],
) -> Result<TempPath, String> {
    let kinds: Vec<ColumnKind> = evidence.iter().map(ColumnEvidence::kind).collect();
    let fields = header.iter().zip(&kinds);
    let fields: Vec<Field> = fields
        .map(|(name, kind)| Field::new(name, data_type(*kind), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let mut copy = temporary(".parquet").map_err(|error| error.to_string())?;
    let writer = ArrowWriter::try_new(&mut copy, Arc::clone(&schema), None);
    let mut writer = writer.map_err(|error| error.to_string())?;
    let mut builders: Vec<StringBuilder> = kinds.iter().map(|_| StringBuilder::new()).collect();
    let mut record = csv::StringRecord::new();
    loop {
        let mut count = 0;
        while count < BATCH_ROWS && rows.next(&mut record)? {
            for ((builder, column), cell) in builders.iter_mut().zip(evidence).zip(&record) {
                builder.append_option(column.written(cell));
            }
            count += 1;
        }
        if count == 0 {
            break;
        }
        let columns = kinds.iter().zip(&mut builders);
        let columns = columns.map(|(kind, cells)| column(*kind, cells.finish()));
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect());
        let batch = batch.map_err(|error| error.to_string())?;
        writer.write(&batch).map_err(|error| error.to_string())?;
    }
    writer.close().map_err(|error| error.to_string())?;
    Ok(copy.into_temp_path())
}
