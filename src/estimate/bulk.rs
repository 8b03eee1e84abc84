//! Bulk estimates: reads a portfolio of homes and writes their values in input order.
//!
//! [`portfolio`] reads the rows and writes the results. This module converts each block of rows to homes, with the
//! field table that also parses request bodies, and values each home with the same [`Valuer`] as HTTP. A row that
//! cannot be valued gets an error message instead of a price.
//!
//! A row may give an address instead of a position. If only its town is found, it is valued from the town's centre with
//! a confidence of LOW; `address_precision` identifies such rows.

mod report;
mod table;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::valuer::{Adjustments, Valuer};
use super::{Detail, Estimate};
use crate::request::fields::{
    HomeField, INSTEAD_OF_POSITION, POSITION_COLUMNS, REQUIRED_COLUMNS, columns,
};
use crate::request::{is_without_class, parse_cells};
pub use report::BulkEstimateReport;
use table::{EstimateRow, batch, schema};
use toise_base::formula::Formulas;
use toise_base::progress::Progress;
use toise_contract::fields::FieldKind;
use toise_geocode::Geocoder;
use toise_geocode::resolve::{LazyGeocoder, RepeatedAddresses, Resolved};
use toise_input::words::WITHOUT_ENERGY_CLASS;
use toise_opendata::portfolio::{
    self, ADDRESS_COLUMNS, ADDRESS_FAULT, AddressColumns, Answers, BlockAddresses, Blocks, Error,
    InputRows, OpenPortfolio, Portfolio, PortfolioColumns, PortfolioOutput, RowFault,
};

/// Maximum comparables per row.
pub const COMPARABLES_MAX: usize = 5;
/// Column that identifies a row; rows are numbered if it is absent.
const ID: &str = "id";

/// Options of a bulk estimate.
#[derive(Clone, Debug)]
pub struct BulkEstimateOptions {
    /// Portfolio file: CSV (gzip or not), Parquet or NDJSON, detected from its first bytes.
    pub input: PathBuf,
    /// Output file: `.parquet`, `.csv` or `.ndjson`.
    pub output: PathBuf,
    /// The treatment of cells of a CSV output that a spreadsheet would run as formulas.
    pub formulas: Formulas,
    /// Pairs of input column and the home column it stands for.
    pub renames: Vec<(String, String)>,
    /// Optional parts of each result.
    pub detail: Detail,
    /// Valuation date of rows that give none.
    pub today: NaiveDate,
    /// Locates the addresses of rows; opened only if the portfolio has address columns.
    pub geocoder: LazyGeocoder,
    /// Progress bar on standard error.
    pub progress: Progress,
}

/// The description of a bulk estimate that is sent to other processes, which value its rows. Together with a model and
/// an address index it determines every result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimateJob {
    /// Columns of the portfolio.
    pub names: Vec<String>,
    /// Pairs of input column and the home column it stands for.
    pub renames: Vec<(String, String)>,
    /// Comparables of each result.
    pub comparables: usize,
    /// Whether each result includes its contributions.
    pub has_contributions: bool,
    /// Whether characteristics that sales do not record adjust the price.
    pub has_adjustments: bool,
    /// Valuation date of rows that give none.
    pub today: NaiveDate,
}

impl EstimateJob {
    /// Returns `has_adjustments` as an enum.
    pub fn adjustments(&self) -> Adjustments {
        if self.has_adjustments {
            Adjustments::On
        } else {
            Adjustments::Off
        }
    }
}

/// The portfolio columns that a bulk estimate reads.
struct EstimateColumns {
    /// Input column that holds the id.
    id: Option<usize>,
    /// Input columns that describe the home.
    fields: Vec<(usize, &'static HomeField)>,
    /// Input columns of addresses; `None` if there are none.
    addresses: Option<AddressColumns>,
}

/// A bulk estimate that values the rows of a portfolio; shared by threads.
pub struct EstimateRun {
    valuer: Valuer,
    detail: Detail,
    today: NaiveDate,
    schema: SchemaRef,
    columns: EstimateColumns,
    /// Locates addresses; `None` without address columns.
    geocoder: Option<Arc<Geocoder>>,
}

/// A row's estimate or the reason it has none, and the resolved address.
type RowAnswer = (Result<Estimate, RowFault>, Option<Resolved>);

/// Describes a portfolio of homes: its file, the columns it may have and the renamed ones.
fn portfolio_of(input: PathBuf, renames: Vec<(String, String)>) -> Portfolio {
    let names = columns().map(|field| field.column.to_owned());
    let is_number = |field: &&HomeField| {
        matches!(
            field.field.kind,
            FieldKind::Between(..) | FieldKind::Integer(..)
        )
    };
    let numbers = columns().filter(is_number);
    let id = std::iter::once(ID.to_owned());
    let fields = id.chain(names).chain(ADDRESS_COLUMNS.map(str::to_owned));
    let fields: Vec<String> = fields.collect();
    Portfolio {
        input,
        row_noun: "a home".into(),
        inferable: fields.clone(),
        fields,
        only_if_named: ADDRESS_COLUMNS.map(str::to_owned).to_vec(),
        numbers: numbers.map(|field| field.column.to_owned()).collect(),
        renames,
        keys: Vec::new(),
        default_keys: &[],
    }
}

/// Values every row of a portfolio. Returns once the complete output is on disk. Blocks and computes on the global
/// rayon pool, so it must not be called from one of its workers.
///
/// # Errors
///
/// See [`Error`]; no output file is left in that case. A row that cannot be valued is not an error.
pub fn run(valuer: &Valuer, options: &BulkEstimateOptions) -> Result<BulkEstimateReport, Error> {
    run_remote(valuer.adjustments, options, |job, blocks, answers| {
        let run = EstimateRun::of_job(valuer, job, &options.geocoder)?;
        portfolio::answer_here(blocks, answers, move |rows| run.answer(rows))
    })
}

/// Like [`run`], but other processes value the blocks: `answer` gets their results for the given job, which they run as
/// an [`EstimateRun`]. This process opens neither the model nor the address index.
///
/// # Errors
///
/// As for [`run`], and the errors of `answer`.
pub fn run_remote(
    adjustments: Adjustments,
    options: &BulkEstimateOptions,
    answer: impl FnOnce(
        &EstimateJob,
        &mut Blocks<'_>,
        &mut Answers<'_, BulkEstimateReport>,
    ) -> Result<(), Error>,
) -> Result<BulkEstimateReport, Error> {
    let started = Instant::now();
    let portfolio = portfolio_of(options.input.clone(), options.renames.clone());
    let opened = OpenPortfolio::new(&portfolio)?;
    let columns = EstimateColumns::new(&opened.columns);
    let columns = columns.map_err(|error| error.in_file(&opened.name))?;
    let schema = schema(options.detail, columns.addresses.is_some());
    let output = PortfolioOutput::create(&options.output, &schema, options.formulas)?;
    let reading = opened.reading.clone();
    let mut report = BulkEstimateReport::default();
    let job = EstimateJob {
        names: opened.names.clone(),
        renames: opened.renames.clone(),
        comparables: options.detail.comparables,
        has_contributions: options.detail.has_contributions,
        has_adjustments: adjustments == Adjustments::On,
        today: options.today,
    };
    portfolio::run_remote(
        &portfolio,
        opened,
        output,
        options.progress,
        |blocks, answers| answer(&job, blocks, answers),
        |counts| report.add(&counts),
    )?;
    Ok(report.finish(&reading, started))
}

impl EstimateColumns {
    /// Assigns the columns found. Their indices refer to the names of [`portfolio_of`]: the id, then the home fields in
    /// order, then the parts of an address.
    fn new(found: &PortfolioColumns) -> Result<Self, Error> {
        let known: Vec<&'static HomeField> = columns().collect();
        let mut id = None;
        let mut fields = Vec::new();
        let mut of_address = Vec::new();
        for (column, name) in &found.fields {
            match name.checked_sub(1) {
                Some(field) if field < known.len() => fields.push((*column, known[field])),
                Some(field) => of_address.push((*column, ADDRESS_COLUMNS[field - known.len()])),
                None => id = Some(*column),
            }
        }
        let addresses = AddressColumns::find(of_address.iter().copied());
        require_columns(&fields, addresses, found)?;
        Ok(Self {
            id,
            fields,
            addresses: Some(addresses).filter(|addresses| addresses.are_given()),
        })
    }
}

impl EstimateRun {
    /// Prepares a run that values the blocks of a job. Opens the address index only if the portfolio has address columns.
    ///
    /// # Errors
    /// The job's columns do not describe homes, or the address index cannot be read.
    pub fn of_job(
        valuer: &Valuer,
        job: &EstimateJob,
        geocoder: &LazyGeocoder,
    ) -> Result<Self, Error> {
        let portfolio = portfolio_of(PathBuf::new(), job.renames.clone());
        let found = PortfolioColumns::new(&portfolio, &job.names)?;
        let detail = Detail {
            comparables: job.comparables.min(COMPARABLES_MAX),
            has_contributions: job.has_contributions,
        };
        let columns = EstimateColumns::new(&found)?;
        let geocoder = match columns.addresses {
            Some(_) => Some(Arc::clone(geocoder.get().map_err(Error::Addresses)?)),
            None => None,
        };
        Ok(Self {
            valuer: valuer.clone(),
            detail,
            today: job.today,
            schema: schema(detail, columns.addresses.is_some()),
            columns,
            geocoder,
        })
    }

    /// Returns the schema of the results.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Values the rows of a block. CPU-bound.
    ///
    /// # Errors
    /// The columns cannot be built.
    pub fn answer(&self, rows: &InputRows) -> Result<(RecordBatch, BulkEstimateReport), Error> {
        let mut answers = Vec::with_capacity(rows.block.len());
        let mut counts = BulkEstimateReport::default();
        let columns = self.columns.addresses;
        let given = columns.map(|columns| columns.of_block(&rows.block));
        let mut addresses = self.geocoder.as_deref().map(RepeatedAddresses::new);
        for row in 0..rows.block.len() {
            counts.rows += 1;
            let id = self.columns.id.map(|column| rows.block.cell(row, column));
            let id = match id.filter(|id| !id.is_empty()) {
                Some(id) => id.to_owned(),
                None => (rows.first_row + row as u64).to_string(),
            };
            for (column, field) in &self.columns.fields {
                let cell = rows.block.cell(row, *column);
                if is_without_class(field, cell) {
                    let line = rows.block.line(row);
                    counts
                        .left_out
                        .add(WITHOUT_ENERGY_CLASS, line, field.column, cell);
                }
            }
            let (answer, address) = self.value(rows, row, (given.as_ref(), &mut addresses));
            match &answer {
                Ok(estimate) => {
                    if let Some(found) = &address {
                        let precision = found.precision.name();
                        *counts.located.entry(precision.into()).or_default() += 1;
                        counts.without_town += u64::from(found.is_without_town);
                    }
                    counts.price(estimate);
                }
                Err(fault) => {
                    counts.errors += 1;
                    if !rows.faults.contains_key(&row) {
                        let line = rows.block.line(row);
                        let (column, cell) = self.at_fault(rows, row, fault, given.as_ref());
                        let reason = fault.to_string();
                        counts.left_out.add(&reason, line, &column, &cell);
                    }
                    *counts.status.entry(fault.status().into()).or_default() += 1;
                }
            }
            answers.push(EstimateRow {
                id,
                answer,
                address,
            });
        }
        Ok((batch(self, &answers)?, counts))
    }

    /// Returns the names of the columns that a fault is about, and their cells; empty if it is about none.
    fn at_fault(
        &self,
        rows: &InputRows,
        row: usize,
        fault: &RowFault,
        given: Option<&BlockAddresses<'_>>,
    ) -> (String, String) {
        let reason = fault.to_string();
        if let Some(given) = given.filter(|_| reason.starts_with(ADDRESS_FAULT)) {
            return ("address".to_owned(), given.shown(row));
        }
        let is_about = |column: &str| match fault {
            RowFault::Position { .. } => POSITION_COLUMNS.contains(&column),
            RowFault::Other(_) => {
                let after = reason.strip_prefix(column);
                after.is_some_and(|after| after.starts_with(':'))
            }
        };
        let columns = self.columns.fields.iter();
        let columns = columns.filter(|(_, field)| is_about(field.column));
        let (names, cells): (Vec<&str>, Vec<&str>) = columns
            .map(|(column, field)| (field.column, rows.block.cell(row, *column)))
            .unzip();
        (names.join(", "), cells.join(", "))
    }

    /// Returns the estimate of one row, or the reason it has none.
    fn value<'b>(
        &self,
        rows: &InputRows,
        row: usize,
        (given, addresses): (
            Option<&'b BlockAddresses<'_>>,
            &mut Option<RepeatedAddresses<'_, 'b>>,
        ),
    ) -> RowAnswer {
        if let Some(fault) = rows.faults.get(&row) {
            return (Err(RowFault::Other(fault.clone())), None);
        }
        let address = match self.locate(rows, row, (given, addresses)) {
            None => None,
            Some(Ok(found)) => Some(found),
            Some(Err((reason, best))) => return (Err(RowFault::Other(reason)), best),
        };
        let cells = self.columns.fields.iter();
        let cells = cells.map(|(column, field)| (*field, rows.block.cell(row, *column)));
        let position = address.as_ref().map(Resolved::position);
        let home = parse_cells(cells, position, self.today);
        let estimate = home.and_then(|home| {
            let estimate = self.valuer.value(&home, self.detail);
            estimate.map_err(|error| RowFault::Other(error.to_string()))
        });
        let estimate = estimate.map(|estimate| estimate.located_by(address.as_ref()));
        (estimate, address)
    }

    /// Locates the address of a row; returns `None` if the row has a position or no address.
    fn locate<'b>(
        &self,
        rows: &InputRows,
        row: usize,
        (given, addresses): (
            Option<&'b BlockAddresses<'_>>,
            &mut Option<RepeatedAddresses<'_, 'b>>,
        ),
    ) -> Option<Result<Resolved, (String, Option<Resolved>)>> {
        let address = given?.of_row(row);
        let has_position = self.columns.fields.iter().any(|(column, field)| {
            POSITION_COLUMNS.contains(&field.column)
                && !rows.block.cell(row, *column).trim().is_empty()
        });
        if has_position || address.is_empty() {
            return None;
        }
        Some(match addresses.as_mut()?.locate(address) {
            Ok(found) => Ok(found.clone()),
            Err(reason) => Err((format!("{ADDRESS_FAULT}{reason}"), reason.best().cloned())),
        })
    }
}

/// Checks that the portfolio has the columns that every home needs; an address can replace the position.
fn require_columns(
    fields: &[(usize, &'static HomeField)],
    addresses: AddressColumns,
    found: &PortfolioColumns,
) -> Result<(), Error> {
    for required in REQUIRED_COLUMNS {
        let is_position = POSITION_COLUMNS.contains(&required);
        let is_there = fields.iter().any(|(_, field)| field.column == required);
        if is_there || is_position && addresses.are_given() {
            continue;
        }
        let instead = if is_position { INSTEAD_OF_POSITION } else { "" };
        return Err(Error::Option(format!(
            "the portfolio has no column {required}, which every home needs{instead} (see --map); it has {}",
            found.listed()
        )));
    }
    Ok(())
}
