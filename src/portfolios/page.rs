//! Reads a portfolio: its totals, its changes since a given time, and its homes page by page.
//!
//! Totals read six columns of the file of the last valuation: tens of milliseconds for a million homes. A page reads
//! the rows it returns.

use std::fs::File;

use arrow::array::{Array, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::files::values_file;
use crate::record::Portfolio;
use crate::registry::Portfolios;
use crate::state::{SCHEMA, ValuedHome, from_batch};
use toise_base::missing::optional;

/// Maximum homes of a page.
pub const SIZE_MAX: usize = 1_000;
/// Default number of homes of a page.
pub const SIZE_DEFAULT: usize = 100;
/// Rows read at a time.
const BATCH_ROWS: usize = 65_536;

/// The columns that totals need, in the order of the file.
const COLUMNS: [&str; 6] = [
    "price",
    "lower",
    "upper",
    "previous_price",
    "changed_at_ms",
    "value_changed_at_ms",
];

/// The requested part of a portfolio.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageRequest {
    /// Only homes that changed at this time or later, Unix milliseconds.
    pub changed_since_ms: Option<i64>,
    /// Number of the first row, from 0.
    pub first: u64,
    /// Maximum number of homes; 0 for none.
    pub size: usize,
}

/// Sums over all homes of a portfolio, EUR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Homes with a value.
    pub valued: u64,
    /// Homes that cannot be valued.
    pub errors: u64,
    /// Sum of the values.
    pub value: i64,
    /// Sum of the lower ends of the intervals.
    pub lower: i64,
    /// Sum of the upper ends of the intervals.
    pub upper: i64,
}

/// Sums over the homes that changed since a given time, EUR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangeTotals {
    /// Homes that changed.
    pub homes: u64,
    /// Homes whose value changed.
    pub values: u64,
    /// Sum of their values before their last change.
    pub value_before: i64,
    /// Sum of their values.
    pub value: i64,
}

/// A part of a portfolio.
#[derive(Clone, Debug, Default)]
pub struct PortfolioPage {
    /// Sums over all homes; `None` before the first valuation.
    pub totals: Option<Totals>,
    /// Sums over the changed homes, if changes were asked for.
    pub changes: Option<ChangeTotals>,
    /// The homes.
    pub homes: Vec<ValuedHome>,
    /// Number of the row at which the next page begins; `None` after the last one.
    pub next: Option<u64>,
}

impl Portfolios {
    /// Reads a part of a portfolio. CPU-bound; `None` if a valuation has replaced its files, or if they were damaged and
    /// are set aside now; the portfolio must then be looked up again.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn page(
        &self,
        portfolio: &Portfolio,
        request: PageRequest,
    ) -> Result<Option<PortfolioPage>> {
        match self.read_page(portfolio, request).map_err(Error::of_values) {
            Err(error @ Error::DamagedValues(_)) => {
                self.set_aside(portfolio, &error)?;
                Ok(None)
            }
            found => found,
        }
    }

    fn read_page(
        &self,
        portfolio: &Portfolio,
        request: PageRequest,
    ) -> Result<Option<PortfolioPage>> {
        if portfolio.valuation == 0 {
            return Ok(Some(PortfolioPage::default()));
        }
        let path = self
            .folder_of(portfolio.id)
            .join(values_file(portfolio.valuation));
        let Some(file) = optional(File::open(path))? else {
            return if self.is_current(portfolio)? {
                Err(Error::DamagedValues("it is missing".into()))
            } else {
                Ok(None)
            };
        };
        let mut scan = Scan::new(request);
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.try_clone()?)?;
        let names = COLUMNS.iter().filter_map(|name| SCHEMA.index_of(name).ok());
        let mask = ProjectionMask::roots(builder.parquet_schema(), names);
        for batch in builder
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()?
        {
            scan.add(&batch?);
        }
        let rows = scan.selected.iter().map(|row| *row..*row + 1);
        let selection = RowSelection::from_consecutive_ranges(rows, scan.row);
        let mut homes = Vec::with_capacity(scan.selected.len());
        if !scan.selected.is_empty() {
            let builder =
                ParquetRecordBatchReaderBuilder::try_new(file)?.with_row_selection(selection);
            for batch in builder.build()? {
                homes.extend(from_batch(&batch?)?);
            }
        }
        Ok(Some(PortfolioPage {
            totals: Some(scan.totals),
            changes: request.changed_since_ms.map(|_| scan.changes),
            homes,
            next: scan.next,
        }))
    }
}

/// A pass over the columns of totals.
struct Scan {
    request: PageRequest,
    /// Number of rows passed.
    row: usize,
    totals: Totals,
    changes: ChangeTotals,
    selected: Vec<usize>,
    next: Option<u64>,
}

impl Scan {
    fn new(request: PageRequest) -> Self {
        Self {
            request,
            row: 0,
            totals: Totals::default(),
            changes: ChangeTotals::default(),
            selected: Vec::new(),
            next: None,
        }
    }

    fn add(&mut self, batch: &RecordBatch) {
        let columns: Vec<&Int64Array> = batch
            .columns()
            .iter()
            .filter_map(|column| column.as_primitive_opt::<Int64Type>())
            .collect();
        let [price, lower, upper, previous, changed_at, value_changed_at] = columns.as_slice()
        else {
            return;
        };
        let cell =
            |column: &Int64Array, row: usize| column.is_valid(row).then(|| column.value(row));
        for row in 0..batch.num_rows() {
            let now = cell(price, row);
            match now {
                Some(now) => {
                    self.totals.valued += 1;
                    self.totals.value += now;
                    self.totals.lower += cell(lower, row).unwrap_or(now);
                    self.totals.upper += cell(upper, row).unwrap_or(now);
                }
                None => self.totals.errors += 1,
            }
            let is_since = |at: Option<i64>| match self.request.changed_since_ms {
                None => true,
                Some(since) => at.is_some_and(|at| at >= since),
            };
            let is_selected = is_since(cell(changed_at, row));
            if self.request.changed_since_ms.is_some() && is_selected {
                self.changes.homes += 1;
                let before = cell(previous, row).filter(|_| is_since(cell(value_changed_at, row)));
                if let Some((now, before)) = now.zip(before) {
                    self.changes.values += 1;
                    self.changes.value += now;
                    self.changes.value_before += before;
                }
            }
            if is_selected && self.row as u64 >= self.request.first {
                if self.selected.len() < self.request.size {
                    self.selected.push(self.row);
                } else if self.next.is_none() && self.request.size > 0 {
                    self.next = Some(self.row as u64);
                }
            }
            self.row += 1;
        }
    }
}
