//! Bulk estimates: reads a portfolio of homes and writes their values in input order.
//!
//! [`portfolio`] reads the rows and writes the results. This module converts each block of rows to homes, with the
//! field table that also parses request bodies, and values each home with the same [`Valuer`] as HTTP. A row that
//! cannot be valued gets an error message instead of a price.
//!
//! A row may give an address instead of a position. If only its town is found, it is valued from the town's centre, and
//! its confidence is LOW: `address_precision` tells such rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, Int64Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field as Column, Schema, SchemaRef};
use chrono::NaiveDate;
use serde::Serialize;

use super::json::{comparables, contributions};
use super::valuer::Valuer;
use super::{Detail, Estimate, EstimateWarning};
use crate::request::fields::{HomeField, POSITION_COLUMNS, REQUIRED_COLUMNS, columns};
use crate::request::parse_cells;
use toise_base::progress::Progress;
use toise_geocode::Geocoder;
use toise_geocode::resolve::{LazyGeocoder, RepeatedAddresses, Resolved};
use toise_opendata::portfolio::{
    self, ADDRESS_FIELDS, AddressAnswerBuilder, AddressColumns, Error, InputRows, OpenPortfolio,
    Portfolio, PortfolioColumns, PortfolioOutput, RowFault, STATUS, STATUS_OK,
};

/// Maximum comparables per row.
pub const COMPARABLES_MAX: usize = 5;
/// Column that identifies a row; rows are numbered if it is absent.
const ID: &str = "id";
/// Maximum distinct error reasons in a report; further ones are counted together.
const REASONS_MAX: usize = 50;
/// Reason under which errors beyond [`REASONS_MAX`] are counted.
const OTHER_REASONS: &str = "other reasons";

/// Options of a bulk estimate.
#[derive(Clone, Debug)]
pub struct BulkEstimateOptions {
    /// Portfolio file: CSV (gzip or not), Parquet or NDJSON, detected from its first bytes.
    pub input: PathBuf,
    /// Output file: `.parquet`, `.csv` or `.ndjson`.
    pub output: PathBuf,
    /// Pairs of input column and the home column it stands for.
    pub renames: Vec<(String, String)>,
    /// Optional parts of each result.
    pub detail: Detail,
    /// Valuation date of rows that give none.
    pub today: NaiveDate,
    /// Locates the addresses of rows; opened only if there are columns of them.
    pub geocoder: LazyGeocoder,
    /// Progress bar on standard error.
    pub progress: Progress,
}

/// Result of a bulk estimate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BulkEstimateReport {
    /// Rows read from the portfolio.
    pub rows: u64,
    /// Rows with a price.
    pub valued: u64,
    /// Rows that could not be valued.
    pub errors: u64,
    /// Rows that could not be valued, by reason.
    pub errors_by_reason: BTreeMap<String, u64>,
    /// Rows that could not be valued, by status: `outside_france`, `coordinates_swapped?`, `error`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<&'static str, u64>,
    /// Valued rows by confidence.
    pub confidence: BTreeMap<&'static str, u64>,
    /// Valued rows by fallback.
    pub fallback: BTreeMap<&'static str, u64>,
    /// Valued rows by warning.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub warning: BTreeMap<&'static str, u64>,
    /// Rows located by their address, by precision.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub located: BTreeMap<&'static str, u64>,
    /// Portfolio columns that were ignored.
    pub ignored_columns: Vec<String>,
    /// Elapsed time from opening the portfolio until the output is on disk, in seconds.
    pub seconds: f64,
    /// Portfolio rows processed per second.
    pub rows_per_second: f64,
}

impl BulkEstimateReport {
    fn price(&mut self, estimate: &Estimate) {
        self.valued += 1;
        let confidence = estimate.confidence.as_str();
        *self.confidence.entry(confidence).or_default() += 1;
        let fallback = estimate.fallback.as_str();
        *self.fallback.entry(fallback).or_default() += 1;
        if let Some(warning) = estimate.warning {
            *self.warning.entry(warning.as_str()).or_default() += 1;
        }
    }

    fn error(&mut self, error: &str, count: u64) {
        self.errors += count;
        // Unreadable rows: the message starts with the row's location, which is not part of the reason.
        let reason = match error
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
        {
            Some((_, reason)) => reason,
            None => error,
        };
        let is_known = self.errors_by_reason.contains_key(reason);
        let reason = match is_known || self.errors_by_reason.len() < REASONS_MAX {
            true => reason,
            false => OTHER_REASONS,
        };
        *self.errors_by_reason.entry(reason.to_owned()).or_default() += count;
    }

    fn add(&mut self, other: &BulkEstimateReport) {
        self.rows += other.rows;
        self.valued += other.valued;
        for (reason, count) in &other.errors_by_reason {
            self.error(reason, *count);
        }
        for (status, count) in &other.status {
            *self.status.entry(status).or_default() += count;
        }
        for (confidence, count) in &other.confidence {
            *self.confidence.entry(confidence).or_default() += count;
        }
        for (fallback, count) in &other.fallback {
            *self.fallback.entry(fallback).or_default() += count;
        }
        for (warning, count) in &other.warning {
            *self.warning.entry(warning).or_default() += count;
        }
        for (precision, count) in &other.located {
            *self.located.entry(precision).or_default() += count;
        }
    }
}

/// State shared by the threads of one run.
struct EstimateRun {
    valuer: Valuer,
    detail: Detail,
    today: NaiveDate,
    schema: SchemaRef,
    /// Input column that holds the id.
    id: Option<usize>,
    /// Input columns that say something of a home.
    fields: Vec<(usize, &'static HomeField)>,
    /// Input columns of addresses, and what locates them; `None` if there are none.
    addresses: Option<(AddressColumns, Arc<Geocoder>)>,
}

/// A row's estimate or why there is none, and what its address was understood as.
type RowAnswer = (Result<Estimate, RowFault>, Option<Resolved>);

/// Values every row of a portfolio. Returns once the complete output is on disk. Blocks and computes on the global
/// rayon pool, so it must not be called from one of its workers.
///
/// # Errors
///
/// See [`Error`]; no output file is left in that case. A row that cannot be valued is not an error.
pub fn run(valuer: &Valuer, options: &BulkEstimateOptions) -> Result<BulkEstimateReport, Error> {
    let started = Instant::now();
    let names = columns().map(|field| field.column.to_owned());
    let portfolio = Portfolio {
        input: options.input.clone(),
        what: "a home".into(),
        fields: [ID.to_owned()]
            .into_iter()
            .chain(names)
            .chain(ADDRESS_FIELDS.map(str::to_owned))
            .collect(),
        only_if_named: ADDRESS_FIELDS.map(str::to_owned).to_vec(),
        renames: options.renames.clone(),
        keys: Vec::new(),
        default_keys: &[],
    };
    let opened = OpenPortfolio::new(&portfolio)?;
    let run = EstimateRun::new(valuer, options, &opened.columns)?;
    let output = PortfolioOutput::create(&options.output, &run.schema)?;
    let mut report = BulkEstimateReport {
        ignored_columns: opened.columns.ignored.clone(),
        ..BulkEstimateReport::default()
    };
    portfolio::run(
        &portfolio,
        opened,
        output,
        options.progress,
        move |rows| run.answer(rows),
        |counts| report.add(&counts),
    )?;
    report.seconds = started.elapsed().as_secs_f64();
    report.rows_per_second = report.rows as f64 / report.seconds.max(f64::MIN_POSITIVE);
    Ok(report)
}

impl EstimateRun {
    fn new(
        valuer: &Valuer,
        options: &BulkEstimateOptions,
        found: &PortfolioColumns,
    ) -> Result<Self, Error> {
        // The first name of the portfolio is the id, then come the fields in their order and the parts of an address.
        let known: Vec<&'static HomeField> = columns().collect();
        let mut id = None;
        let mut fields = Vec::new();
        let mut of_address = Vec::new();
        for (column, name) in &found.fields {
            match name.checked_sub(1) {
                Some(field) if field < known.len() => fields.push((*column, known[field])),
                Some(field) => of_address.push((*column, ADDRESS_FIELDS[field - known.len()])),
                None => id = Some(*column),
            }
        }
        let addresses = AddressColumns::find(of_address.iter().copied());
        require_columns(&fields, addresses)?;
        let addresses = match addresses.are_given() {
            true => {
                let geocoder = options.geocoder.get().map_err(Error::Addresses)?;
                Some((addresses, Arc::clone(geocoder)))
            }
            false => None,
        };
        Ok(Self {
            valuer: valuer.clone(),
            detail: options.detail,
            today: options.today,
            schema: schema(options.detail, addresses.is_some()),
            id,
            fields,
            addresses,
        })
    }

    /// Values the rows of a block. CPU-bound.
    fn answer(&self, rows: &InputRows) -> Result<(RecordBatch, BulkEstimateReport), Error> {
        let mut table = EstimateTableBuilder::default();
        let mut counts = BulkEstimateReport::default();
        let mut addresses = self
            .addresses
            .as_ref()
            .map(|(_, geocoder)| RepeatedAddresses::new(geocoder));
        for row in 0..rows.block.len() {
            counts.rows += 1;
            match self.id {
                Some(column) => table.ids.append_value(rows.block.cell(row, column)),
                None => table
                    .ids
                    .append_value((rows.first_row + row as u64).to_string()),
            }
            let (value, address) = self.value(rows, row, &mut addresses);
            table.addresses.push(address.as_ref());
            match value {
                Ok(estimate) => {
                    if let Some(found) = address {
                        *counts.located.entry(found.precision.name()).or_default() += 1;
                    }
                    counts.price(&estimate);
                    table.price(&estimate);
                }
                Err(fault) => {
                    counts.error(&fault.to_string(), 1);
                    *counts.status.entry(fault.status()).or_default() += 1;
                    table.error(&fault);
                }
            }
        }
        Ok((table.finish(self)?, counts))
    }

    /// The estimate of one row, or why there is none.
    fn value<'b>(
        &self,
        rows: &'b InputRows,
        row: usize,
        addresses: &mut Option<RepeatedAddresses<'_, 'b>>,
    ) -> RowAnswer {
        if let Some(fault) = rows.faults.get(&row) {
            return (Err(RowFault::Other(fault.clone())), None);
        }
        let address = match self.locate(rows, row, addresses) {
            None => None,
            Some(Ok(found)) => Some(found),
            Some(Err((reason, best))) => return (Err(RowFault::Other(reason)), best),
        };
        let cells = self.fields.iter();
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

    /// What the address of a row means; `None` if it has none, or a position.
    fn locate<'b>(
        &self,
        rows: &'b InputRows,
        row: usize,
        addresses: &mut Option<RepeatedAddresses<'_, 'b>>,
    ) -> Option<Result<Resolved, (String, Option<Resolved>)>> {
        let (columns, _) = self.addresses.as_ref()?;
        let address = columns.of_row(&rows.block, row);
        let has_position = self.fields.iter().any(|(column, field)| {
            POSITION_COLUMNS.contains(&field.column)
                && !rows.block.cell(row, *column).trim().is_empty()
        });
        if has_position || address.is_empty() {
            return None;
        }
        Some(match addresses.as_mut()?.locate(address) {
            Ok(found) => Ok(found.clone()),
            Err(reason) => Err((format!("address: {reason}"), reason.best().cloned())),
        })
    }
}

/// Checks that the portfolio has the columns that every home needs; an address stands for a position.
fn require_columns(
    fields: &[(usize, &'static HomeField)],
    addresses: AddressColumns,
) -> Result<(), Error> {
    for required in REQUIRED_COLUMNS {
        let is_position = POSITION_COLUMNS.contains(&required);
        let is_there = fields.iter().any(|(_, field)| field.column == required);
        if is_there || is_position && addresses.are_given() {
            continue;
        }
        let instead = match is_position {
            true => ", or an address, postcode or city instead of longitude and latitude",
            false => "",
        };
        return Err(Error::Option(format!(
            "the portfolio has no column {required}, which every home needs{instead} (see --map)"
        )));
    }
    Ok(())
}

/// Columns of the output.
fn schema(detail: Detail, has_addresses: bool) -> SchemaRef {
    let mut columns = vec![
        Column::new(ID, DataType::Utf8, false),
        Column::new("price", DataType::Int64, true),
        Column::new("lower", DataType::Int64, true),
        Column::new("upper", DataType::Int64, true),
        Column::new("confidence", DataType::Utf8, true),
        Column::new("fallback", DataType::Utf8, true),
        Column::new("warning", DataType::Utf8, true),
        Column::new("error", DataType::Utf8, true),
    ];
    if detail.comparables > 0 {
        columns.push(Column::new("comparables", DataType::Utf8, true));
    }
    if detail.has_contributions {
        columns.push(Column::new("contributions", DataType::Utf8, true));
    }
    if has_addresses {
        columns.extend(AddressAnswerBuilder::fields());
    }
    columns.push(Column::new(STATUS, DataType::Utf8, false));
    Arc::new(Schema::new(columns))
}

/// The output columns under construction.
#[derive(Default)]
struct EstimateTableBuilder {
    ids: StringBuilder,
    /// Price, lower end and upper end, in EUR.
    euros: [Int64Builder; 3],
    confidences: StringBuilder,
    fallbacks: StringBuilder,
    warnings: StringBuilder,
    errors: StringBuilder,
    comparables: StringBuilder,
    contributions: StringBuilder,
    addresses: AddressAnswerBuilder,
    statuses: StringBuilder,
}

impl EstimateTableBuilder {
    fn price(&mut self, estimate: &Estimate) {
        self.statuses.append_value(STATUS_OK);
        let euros = [estimate.price, estimate.lower, estimate.upper];
        for (column, eur) in self.euros.iter_mut().zip(euros) {
            column.append_value(eur as i64);
        }
        self.confidences.append_value(estimate.confidence.as_str());
        self.fallbacks.append_value(estimate.fallback.as_str());
        self.warnings
            .append_option(estimate.warning.map(EstimateWarning::as_str));
        self.errors.append_null();
        let texts = [
            (&mut self.comparables, comparables(&estimate.comparables)),
            (
                &mut self.contributions,
                contributions(&estimate.contributions),
            ),
        ];
        for (column, value) in texts {
            column.append_value(value.to_string());
        }
    }

    fn error(&mut self, fault: &RowFault) {
        self.statuses.append_value(fault.status());
        self.euros.iter_mut().for_each(Int64Builder::append_null);
        self.confidences.append_null();
        self.fallbacks.append_null();
        self.warnings.append_null();
        self.errors.append_value(fault.to_string());
        self.comparables.append_null();
        self.contributions.append_null();
    }

    fn finish(mut self, run: &EstimateRun) -> Result<RecordBatch, Error> {
        let [price, lower, upper] = &mut self.euros;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.ids.finish()),
            Arc::new(price.finish()),
            Arc::new(lower.finish()),
            Arc::new(upper.finish()),
            Arc::new(self.confidences.finish()),
            Arc::new(self.fallbacks.finish()),
            Arc::new(self.warnings.finish()),
            Arc::new(self.errors.finish()),
        ];
        if run.detail.comparables > 0 {
            columns.push(Arc::new(self.comparables.finish()));
        }
        if run.detail.has_contributions {
            columns.push(Arc::new(self.contributions.finish()));
        }
        if run.addresses.is_some() {
            columns.extend(self.addresses.finish());
        }
        columns.push(Arc::new(self.statuses.finish()));
        Ok(RecordBatch::try_new(Arc::clone(&run.schema), columns)?)
    }
}
