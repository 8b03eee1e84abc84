//! Bulk matching: reads a portfolio file and writes the best candidates of each row, in input order.
//!
//! [`portfolio`] reads rows and writes results. This module converts each row to a match body (`plan`), ranks its
//! candidates with the same [`OpenData::rank`] as the endpoint, and converts them to columns (`answer`). A single view
//! serves the whole run, so a concurrent import does not affect it. An invalid row yields an error in its output row.

mod answer;
mod plan;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::portfolio::{self, Error, OpenPortfolio, Portfolio, PortfolioOutput};
use super::{Dataset, OpenData};
use answer::AnswerLayout;
use plan::PortfolioPlan;
use toise_base::progress::Progress;
use toise_engine as engine;
use toise_geocode::Geocoder;
use toise_geocode::resolve::{LazyGeocoder, Resolved};

/// Default key columns; the first one present is used.
const DEFAULT_KEYS: [&str; 2] = ["key", "id"];

/// Options of a bulk match.
#[derive(Clone, Debug)]
pub struct BulkOptions {
    /// The table to match against.
    pub dataset: Dataset,
    /// Portfolio file: CSV (gzip or not), Parquet or NDJSON, detected from its first bytes.
    pub input: PathBuf,
    /// Output file: `.parquet`, `.csv` or `.ndjson`.
    pub output: PathBuf,
    /// Pairs of input column and the body field it stands for.
    pub renames: Vec<(String, String)>,
    /// Input columns to copy to the output; if empty, `key`, else `id`, else the row number.
    pub keys: Vec<String>,
    /// Candidates per row unless the row gives a size; `None` means the endpoint's default.
    pub size: Option<usize>,
    /// Record columns to output; `None` means a default set for each table.
    pub columns: Option<Vec<String>>,
    /// Locates the addresses of rows; opened only if there are columns of them.
    pub geocoder: LazyGeocoder,
    /// Progress bar on standard error.
    pub progress: Progress,
}

/// Result of a bulk match.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BulkReport {
    /// Rows read from the portfolio.
    pub rows: u64,
    /// Rows with at least one candidate.
    pub matched: u64,
    /// Rows whose filters no record passes.
    pub without_candidates: u64,
    /// Invalid rows.
    pub errors: u64,
    /// Invalid rows by status: `outside_france`, `coordinates_swapped?`, `error`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<&'static str, u64>,
    /// Best candidates by confidence.
    pub confidence: ByConfidence,
    /// Rows located by their address, by precision.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub located: BTreeMap<&'static str, u64>,
    /// Portfolio columns that were ignored because they name no body field.
    pub ignored_columns: Vec<String>,
    /// Elapsed time from opening the portfolio until the output is on disk, in seconds.
    pub seconds: f64,
    /// Portfolio rows processed per second.
    pub rows_per_second: f64,
}

/// Counts by confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the contract's four words")]
pub struct ByConfidence {
    pub high: u64,
    pub medium: u64,
    pub low: u64,
    pub reject: u64,
}

impl ByConfidence {
    fn count(&mut self, confidence: super::MatchConfidence) {
        use super::MatchConfidence::{High, Low, Medium, Reject};
        match confidence {
            High => self.high += 1,
            Medium => self.medium += 1,
            Low => self.low += 1,
            Reject => self.reject += 1,
        }
    }
}

impl BulkReport {
    fn count_located(&mut self, found: Option<&Resolved>) {
        if let Some(found) = found {
            *self.located.entry(found.precision.name()).or_default() += 1;
        }
    }

    fn add(&mut self, other: &BulkReport) {
        self.rows += other.rows;
        self.matched += other.matched;
        self.without_candidates += other.without_candidates;
        self.errors += other.errors;
        for (status, count) in &other.status {
            *self.status.entry(status).or_default() += count;
        }
        for (precision, count) in &other.located {
            *self.located.entry(precision).or_default() += count;
        }
        self.confidence.high += other.confidence.high;
        self.confidence.medium += other.confidence.medium;
        self.confidence.low += other.confidence.low;
        self.confidence.reject += other.confidence.reject;
    }
}

/// State shared by the threads of one run.
struct MatchRun {
    open_data: OpenData,
    view: Arc<engine::view::TableView>,
    plan: PortfolioPlan,
    layout: AnswerLayout,
    /// Locates addresses, if there are columns of them.
    geocoder: Option<Arc<Geocoder>>,
}

/// Matches every row of a portfolio. Returns once the complete output is on disk. Blocks and computes on the global
/// rayon pool, so it must not be called from one of its workers.
///
/// # Errors
///
/// See [`Error`]; no output file is left in that case.
pub fn run(open_data: &OpenData, options: &BulkOptions) -> Result<BulkReport, Error> {
    let started = Instant::now();
    let dataset = options.dataset;
    let view = open_data.engine().view(dataset.schema())?;
    // Computed once here, so that the first rows of several threads do not all compute it.
    view.superseded().map_err(engine::Error::from)?;
    let portfolio = Portfolio {
        input: options.input.clone(),
        what: format!("a {} match", dataset.name()),
        fields: plan::field_names(dataset),
        only_if_named: plan::address_names(dataset),
        renames: options.renames.clone(),
        keys: options.keys.clone(),
        default_keys: &DEFAULT_KEYS,
    };
    let opened = OpenPortfolio::new(&portfolio)?;
    let plan = PortfolioPlan::new(options, opened.columns.clone())?;
    let geocoder = match plan.has_addresses() {
        true => Some(Arc::clone(
            options.geocoder.get().map_err(Error::Addresses)?,
        )),
        false => None,
    };
    let layout = AnswerLayout::new(&plan, options.columns.as_deref())?;
    let output = PortfolioOutput::create(&options.output, layout.schema())?;
    let mut report = BulkReport {
        ignored_columns: plan.columns.ignored.clone(),
        ..BulkReport::default()
    };
    let run = MatchRun {
        open_data: open_data.clone(),
        view,
        plan,
        layout,
        geocoder,
    };
    portfolio::run(
        &portfolio,
        opened,
        output,
        options.progress,
        move |rows| answer::answer(&run, rows),
        |counts| report.add(&counts),
    )?;
    report.seconds = started.elapsed().as_secs_f64();
    report.rows_per_second = report.rows as f64 / report.seconds.max(f64::MIN_POSITIVE);
    Ok(report)
}
