//! Tracks how a file is interpreted while its rows are read, and how its number columns are written.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;

use parking_lot::Mutex;
use toise_base::bounded::RecordEnds;

use crate::day::{is_month_first, month_first_reason};
use crate::delimited::unmarked;
use crate::form::SharedForm;
use crate::missing::{self, MissingCounts};
use crate::number::FileDecimals;
use crate::quantity::{self, NumberKind, TwoReadings};
use crate::reading::{ColumnUse, FileReading, LeftOutValues, ReadFile};

/// The interpretation of a file while it is read. Clones share it.
#[derive(Clone)]
pub struct SharedReading {
    /// Name of the file.
    pub name: String,
    form: SharedForm,
    columns_used: Vec<ColumnUse>,
    columns_unused: Vec<String>,
    rows: Arc<Mutex<RowsRead>>,
}

/// Findings in the rows read so far.
#[derive(Default)]
struct RowsRead {
    rows: u64,
    missing: MissingCounts,
    left_out: LeftOutValues,
}

impl SharedReading {
    /// Starts the record of a file with this form and its used and unused columns.
    pub fn new(
        name: &str,
        form: SharedForm,
        columns_used: &[ColumnUse],
        columns_unused: &[String],
    ) -> Self {
        Self {
            name: name.to_owned(),
            form,
            columns_used: columns_used.to_vec(),
            columns_unused: columns_unused.to_vec(),
            rows: Arc::default(),
        }
    }

    /// Returns what is known so far; it is complete once all rows are read. `left_out` are rows that could be read but
    /// not processed.
    pub fn found(&self, left_out: LeftOutValues) -> ReadFile {
        let read = self.rows.lock();
        let mut all = read.left_out.clone();
        all.append(left_out);
        let mut reading = FileReading {
            form: self.form.found(),
            columns_used: self.columns_used.clone(),
            columns_unused: self.columns_unused.clone(),
            left_out: all,
            ..FileReading::default()
        };
        reading.add_missing(&read.missing);
        ReadFile {
            name: self.name.clone(),
            rows: read.rows,
            reading,
        }
    }

    /// Counts rows and the markers for missing values in them.
    pub fn count(&self, rows: u64, missing: &MissingCounts) {
        let mut read = self.rows.lock();
        read.rows += rows;
        read.missing.add(missing);
    }

    /// Counts a row that cannot be processed.
    pub fn leave_out(&self, reason: &str, line: u64, column: &str, value: &str) {
        self.rows.lock().left_out.add(reason, line, column, value);
    }
}

/// How the number columns of a delimited text are read.
pub struct NumberColumns {
    /// Kind of the numbers in each column; `None` for other columns.
    kinds: Vec<Option<NumberKind>>,
    decimals: FileDecimals,
}

impl NumberColumns {
    /// Reads all rows to find out how the columns of these kinds write numbers, and records the decimal mark in `form`.
    ///
    /// # Errors
    /// A row cannot be read, or a day has the month before it.
    pub fn observe<R: Read>(
        kinds: Vec<Option<NumberKind>>,
        mut rows: csv::Reader<R>,
        ends: &RecordEnds,
        form: &SharedForm,
    ) -> Result<Self, csv::Error> {
        let mut decimals = FileDecimals::new(kinds.len(), &form.found());
        let mut record = csv::StringRecord::new();
        while rows.read_record(&mut record)? {
            ends.mark();
            let cells = record.iter().zip(&kinds).enumerate();
            for (column, (cell, kind)) in cells {
                let cell = unmarked(cell);
                match kind {
                    Some(NumberKind::Day) => check_day_order(cell, record.position(), form)?,
                    Some(_) => decimals.observe(column, cell),
                    None => {}
                }
            }
        }
        form.set_decimal_mark(decimals.mark());
        Ok(Self { kinds, decimals })
    }

    /// Returns a cell without the mark of a spreadsheet's text, and in the notation of programs if its column holds
    /// numbers.
    ///
    /// # Errors
    /// The cell can be read in two ways, and nothing in the file shows which is meant.
    pub fn plain<'c>(&self, column: usize, cell: &'c str) -> Result<Cow<'c, str>, TwoReadings> {
        let cell = unmarked(cell);
        match self.kinds.get(column) {
            Some(Some(kind)) if !missing::is_missing(cell) => {
                quantity::plain(cell.trim(), *kind, self.decimals.lone_separator(column))
            }
            _ => Ok(Cow::Borrowed(cell)),
        }
    }
}

fn check_day_order(
    cell: &str,
    position: Option<&csv::Position>,
    form: &SharedForm,
) -> io::Result<()> {
    if !is_month_first(cell) {
        return Ok(());
    }
    let line = form.line_of(position);
    let reason = format!("line {line}: {}", month_first_reason(cell));
    Err(io::Error::new(io::ErrorKind::InvalidData, reason))
}
