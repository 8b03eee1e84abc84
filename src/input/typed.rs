//! Converts delimited text to a Parquet file whose column types are decided from all rows.
//!
//! The text is read twice: once to see what the cells of each column have in common, once to write them. A column has
//! whole numbers, numbers, days or timestamps if all its cells are such; otherwise it is text. Codes stay text: columns
//! named like codes, and columns in which a number starts with a zero or has more digits than fit an integer.

use std::io::{BufRead, Read};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, RecordBatch,
    StringBuilder, TimestampMillisecondBuilder,
};
use arrow::compute::kernels::cast_utils::{Parser, string_to_timestamp_nanos};
use arrow::datatypes::{DataType, Date32Type, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use tempfile::{NamedTempFile, TempPath};

use toise_base::bounded::{RecordBound, RecordEnds, check_columns};

use crate::SharedForm;
use crate::day;
use crate::delimited::{EvenText, Splitter, marked_text, unmarked};
use crate::missing;
use crate::number::{self, DecimalEvidence, LoneSeparator};

/// Message for a file without rows.
pub const NO_ROWS: &str = "no rows: check that it is the right file, and has rows after its header";
/// Rows per batch.
const BATCH_ROWS: usize = 8_192;
/// Bytes of the longest day in digits: `2024-12-31`.
const DAY_LENGTH_MAX: usize = 10;
/// Maximum digits for which every whole number fits into 64 bits.
const INTEGER_DIGITS_MAX: usize = 18;
/// Words in the name of a column that holds codes, in lower case.
#[rustfmt::skip]
const CODE_WORDS: [&str; 21] = [
    "code", "codes", "insee", "cp", "postal", "postcode", "zip", "zipcode", "siren", "siret",
    "parcelle", "parcel", "section", "iris", "fantoir", "rivoli", "cog", "departement",
    "department", "tel", "telephone",
];
const MILLISECOND_NANOS: i64 = 1_000_000;

/// Columns that are always text, even if all cells are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TextColumns {
    /// Columns named like codes.
    #[default]
    Codes,
    /// Columns named like codes, and these.
    Named(Vec<String>),
    /// All columns.
    All,
}

impl std::str::FromStr for TextColumns {
    type Err = std::convert::Infallible;

    /// Parses `all`, or names separated by commas; none if empty.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text.trim() == "all" {
            Self::All
        } else if text.trim().is_empty() {
            Self::Codes
        } else {
            Self::Named(text.split(',').map(|name| name.trim().to_owned()).collect())
        })
    }
}

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

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Flag,
    Integer,
    Number(LoneSeparator),
    Day,
    /// A timestamp, with or without a time zone.
    Moment {
        is_utc: bool,
    },
    Text,
}

/// What the cells of a column have in common.
#[derive(Clone, Debug)]
struct ColumnEvidence {
    is_code: bool,
    keeps_missing: bool,
    values: u64,
    integers: u64,
    numbers: u64,
    flags: u64,
    days: u64,
    moments: u64,
    zoned: u64,
    /// Whether there is a cell whose lone comma can be read in two ways.
    has_ambiguous_comma: bool,
    /// Whether there is a cell whose lone point can be read in two ways.
    has_ambiguous_point: bool,
    decimals: DecimalEvidence,
}

impl ColumnEvidence {
    fn new(name: &str, text_columns: &TextColumns) -> Self {
        let folded: String = name
            .to_lowercase()
            .chars()
            .map(|sign| if sign.is_alphanumeric() { sign } else { ' ' })
            .collect();
        let is_named = match text_columns {
            TextColumns::Codes => false,
            TextColumns::Named(names) => names.iter().any(|one| one.eq_ignore_ascii_case(name)),
            TextColumns::All => true,
        };
        let is_code = folded
            .split_whitespace()
            .any(|word| CODE_WORDS.contains(&word));
        Self {
            is_code: is_named || is_code,
            keeps_missing: missing::may_name_section(name),
            values: 0,
            integers: 0,
            numbers: 0,
            flags: 0,
            days: 0,
            moments: 0,
            zoned: 0,
            has_ambiguous_comma: false,
            has_ambiguous_point: false,
            decimals: DecimalEvidence::default(),
        }
    }

    /// Returns the cell, or `None` if it has no value.
    fn value<'c>(&self, cell: &'c str) -> Option<&'c str> {
        let cell = unmarked(cell);
        let is_missing = cell.trim().is_empty() || !self.keeps_missing && missing::is_missing(cell);
        (!is_missing).then_some(cell)
    }

    fn observe(&mut self, cell: &str) {
        let is_marked = marked_text(cell).is_some();
        let Some(cell) = self.value(cell) else {
            return;
        };
        self.is_code |= is_marked;
        let cell = cell.trim();
        self.values += 1;
        if self.is_code {
            return;
        }
        let digits = cell.trim_start_matches(['-', '+']);
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole
            && (digits.len() > 1 && digits.starts_with('0') || digits.len() > INTEGER_DIGITS_MAX)
        {
            self.is_code = true;
            return;
        }
        self.integers += u64::from(is_whole);
        if is_whole || number::read(cell, LoneSeparator::Decimals).is_some() {
            self.numbers += 1;
            self.decimals.observe(cell);
            if number::read(cell, LoneSeparator::Unknown).is_none() {
                self.has_ambiguous_comma |= cell.contains(',');
                self.has_ambiguous_point |= cell.contains('.');
            }
        } else if cell.eq_ignore_ascii_case("true") || cell.eq_ignore_ascii_case("false") {
            self.flags += 1;
        } else if day_number(cell).is_some() {
            self.days += 1;
        } else if moment(cell).is_some() {
            self.moments += 1;
            self.zoned += u64::from(is_zoned(cell));
        }
    }

    /// Returns whether a lone separator can be read in two ways.
    fn is_ambiguous(&self) -> bool {
        self.has_ambiguous_comma || self.has_ambiguous_point
    }

    /// Returns whether no cell shows which separator marks decimals.
    fn is_undecided(&self) -> bool {
        self.decimals == DecimalEvidence::default()
    }

    fn kind(&self) -> ColumnKind {
        let all = |count: u64| count == self.values && self.values > 0;
        if self.is_code {
            ColumnKind::Text
        } else if all(self.integers) {
            ColumnKind::Integer
        } else if all(self.numbers) {
            let lone = match self.decimals.lone_separator() {
                // All separators are followed by three digits, so nothing shows what they mean. Assumes decimals, as
                // programs write them.
                LoneSeparator::Unknown
                    if self.is_undecided()
                        && !(self.has_ambiguous_comma && self.has_ambiguous_point) =>
                {
                    LoneSeparator::Decimals
                }
                lone => lone,
            };
            if self.is_ambiguous() && lone == LoneSeparator::Unknown {
                ColumnKind::Text
            } else {
                ColumnKind::Number(lone)
            }
        } else if all(self.flags) {
            ColumnKind::Flag
        } else if all(self.days) {
            ColumnKind::Day
        } else if all(self.days + self.moments) {
            ColumnKind::Moment {
                is_utc: self.zoned > 0,
            }
        } else {
            ColumnKind::Text
        }
    }
}

/// Parses a day as days since 1970-01-01. Digits alone are a number, and a text with a time of day is no day.
fn day_number(cell: &str) -> Option<i32> {
    let is_day = cell.len() <= DAY_LENGTH_MAX && !cell.bytes().all(|byte| byte.is_ascii_digit());
    Date32Type::parse(&is_day.then(|| day::iso(cell)).flatten()?)
}

/// Parses a timestamp as milliseconds since 1970-01-01.
fn moment(cell: &str) -> Option<i64> {
    let begins_with_day = cell.len() >= 10 && cell.as_bytes()[4] == b'-';
    begins_with_day
        .then(|| string_to_timestamp_nanos(cell).ok())
        .flatten()
        .map(|nanos| nanos.div_euclid(MILLISECOND_NANOS))
}

fn is_zoned(cell: &str) -> bool {
    cell.ends_with('Z') || cell.get(10..).is_some_and(|time| time.contains(['+', '-']))
}

/// The rows of a delimited text.
struct Rows {
    rows: csv::Reader<EvenText<RecordBound<Box<dyn Read>>>>,
    ends: RecordEnds,
    header: Vec<String>,
}

impl Rows {
    fn open(mut text: Box<dyn BufRead + Send>, form: &SharedForm) -> Result<Self, String> {
        let start = text.fill_buf().map_err(|error| error.to_string())?;
        let splitter = Splitter::new(start, None, form);
        let (text, ends) = RecordBound::new(Box::new(text) as Box<dyn Read>);
        let mut rows = splitter.reader(text);
        let names = rows.headers().map_err(explain)?;
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
        Ok(Self { rows, ends, header })
    }

    fn next(&mut self, record: &mut csv::StringRecord) -> Result<bool, String> {
        let more = self.rows.read_record(record).map_err(explain)?;
        self.ends.mark();
        Ok(more)
    }
}

fn explain(error: csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line}: the row has {len} cells where the header has {expected_len}")
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
    let header = rows.header;
    let copy = write(Rows::open(open()?, form)?, &header, &evidence)?;
    Ok((copy, note(&header, &evidence)))
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
        named("decimal commas", &|column| {
            column.kind() == ColumnKind::Number(LoneSeparator::French)
        }),
        named(
            "read as decimals, though they may be thousands",
            &|column| {
                let is_number = matches!(column.kind(), ColumnKind::Number(_));
                is_number && column.is_ambiguous() && column.is_undecided()
            },
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Collects the cells of a column.
enum ColumnBuilder {
    Flag(BooleanBuilder),
    Integer(Int64Builder),
    Number(Float64Builder, LoneSeparator),
    Day(Date32Builder),
    Moment(TimestampMillisecondBuilder),
    Text(StringBuilder),
}

impl ColumnBuilder {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Flag => Self::Flag(BooleanBuilder::new()),
            ColumnKind::Integer => Self::Integer(Int64Builder::new()),
            ColumnKind::Number(lone) => Self::Number(Float64Builder::new(), lone),
            ColumnKind::Day => Self::Day(Date32Builder::new()),
            ColumnKind::Moment { .. } => {
                let builder = TimestampMillisecondBuilder::new();
                Self::Moment(builder.with_data_type(data_type(kind)))
            }
            ColumnKind::Text => Self::Text(StringBuilder::new()),
        }
    }

    fn append(&mut self, cell: Option<&str>) {
        let trimmed = cell.map(str::trim);
        match self {
            Self::Flag(values) => {
                values.append_option(trimmed.map(|cell| cell.eq_ignore_ascii_case("true")));
            }
            Self::Integer(values) => {
                values.append_option(trimmed.and_then(|cell| cell.parse().ok()));
            }
            Self::Number(values, lone) => {
                values.append_option(trimmed.and_then(|cell| number::read(cell, *lone)));
            }
            Self::Day(values) => values.append_option(trimmed.and_then(day_number)),
            Self::Moment(values) => {
                let midnight = |cell: &str| Some(i64::from(day_number(cell)?) * 86_400_000);
                values.append_option(
                    trimmed.and_then(|cell| midnight(cell).or_else(|| moment(cell))),
                );
            }
            Self::Text(values) => values.append_option(cell),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Flag(values) => Arc::new(values.finish()),
            Self::Integer(values) => Arc::new(values.finish()),
            Self::Number(values, _) => Arc::new(values.finish()),
            Self::Day(values) => Arc::new(values.finish()),
            Self::Moment(values) => Arc::new(values.finish()),
            Self::Text(values) => Arc::new(values.finish()),
        }
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
    let mut builders: Vec<ColumnBuilder> = kinds.into_iter().map(ColumnBuilder::new).collect();
    let mut record = csv::StringRecord::new();
    loop {
        let mut count = 0;
        while count < BATCH_ROWS && rows.next(&mut record)? {
            for ((builder, column), cell) in builders.iter_mut().zip(evidence).zip(&record) {
                builder.append(column.value(cell));
            }
            count += 1;
        }
        if count == 0 {
            break;
        }
        let columns = builders.iter_mut().map(ColumnBuilder::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns);
        let batch = batch.map_err(|error| error.to_string())?;
        writer.write(&batch).map_err(|error| error.to_string())?;
    }
    writer.close().map_err(|error| error.to_string())?;
    Ok(copy.into_temp_path())
}
