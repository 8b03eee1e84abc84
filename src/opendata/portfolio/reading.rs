//! What is understood of a portfolio: how its columns of numbers are written, and what was found in its rows.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Portfolio, PortfolioColumns};
use crate::source::Block;
use toise_base::bounded::RecordEnds;
use toise_input::missing::{self, MissingCounts};
use toise_input::number::FileDecimals;
use toise_input::quantity::{self, NumberKind, TwoReadings};
use toise_input::reading::{ColumnUse, LeftOutValues};
use toise_input::{FileReading, ReadFile, SharedForm};

/// What is understood of a portfolio while it is read. Clones share it.
#[derive(Clone)]
pub struct PortfolioReading {
    pub(super) name: String,
    form: SharedForm,
    columns_used: Vec<ColumnUse>,
    columns_unused: Vec<String>,
    rows: Arc<Mutex<RowsRead>>,
}

/// What was found in the rows read so far.
#[derive(Default)]
struct RowsRead {
    rows: u64,
    missing: MissingCounts,
    left_out: LeftOutValues,
}

impl PortfolioReading {
    /// Begins to read a file in this form, of which these columns are read.
    pub(super) fn new(name: &str, form: SharedForm, columns: &PortfolioColumns) -> Self {
        Self {
            name: name.to_owned(),
            form,
            columns_used: columns.used.clone(),
            columns_unused: columns.ignored.clone(),
            rows: Arc::default(),
        }
    }

    /// Returns what is known so far; complete once all rows are read. `left_out` are the rows that could be read, but
    /// were not processed.
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

    /// Counts the rows of a block and the texts for missing values in it.
    pub(super) fn count(&self, block: &Block) {
        let mut read = self.rows.lock();
        read.rows += block.len() as u64;
        read.missing.add(&block.missing);
    }

    /// Counts a row that cannot be processed.
    pub(super) fn leave_out(&self, reason: &str, line: u64, column: &str, value: &str) {
        self.rows.lock().left_out.add(reason, line, column, value);
    }
}

/// How the columns of numbers of a delimited text are read.
pub(super) struct NumberColumns {
    /// What the numbers of each column are; `None` for other columns.
    kinds: Vec<Option<NumberKind>>,
    decimals: FileDecimals,
}

impl NumberColumns {
    /// Finds the columns of numbers among all columns of a file.
    pub(super) fn new(portfolio: &Portfolio, columns: &PortfolioColumns, width: usize) -> Self {
        let mut kinds = vec![None; width];
        for (column, field) in &columns.fields {
            let field = &portfolio.fields[*field];
            if portfolio.numbers.contains(field) {
                kinds[*column] = Some(NumberKind::of_field(field));
            }
        }
        Self {
            kinds,
            decimals: FileDecimals::default(),
        }
    }

    /// Reads all rows, to see how their numbers are written, and notes the decimal mark in `form`.
    pub(super) fn observed<R: Read>(
        mut self,
        mut rows: csv::Reader<R>,
        ends: &RecordEnds,
        form: &SharedForm,
    ) -> Result<Self, csv::Error> {
        self.decimals = FileDecimals::new(self.kinds.len(), &form.found());
        let mut record = csv::StringRecord::new();
        while rows.read_record(&mut record)? {
            ends.mark();
            let cells = record.iter().zip(&self.kinds).enumerate();
            for (column, (cell, _)) in cells.filter(|(_, (_, kind))| kind.is_some()) {
                self.decimals.observe(column, cell);
            }
        }
        form.set_decimal_mark(self.decimals.mark());
        Ok(self)
    }

    /// Returns a cell in the notation of programs if its column holds numbers.
    pub(super) fn plain<'c>(&self, column: usize, cell: &'c str) -> Result<Cow<'c, str>, TwoReadings> {
        match self.kinds.get(column) {
            Some(Some(kind)) if !missing::is_missing(cell) => {
                quantity::plain(cell.trim(), *kind, self.decimals.lone_separator(column))
            }
            _ => Ok(Cow::Borrowed(cell)),
        }
    }
}
