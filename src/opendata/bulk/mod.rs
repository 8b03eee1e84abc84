//! Bulk matching: reads a portfolio file and writes the best candidates of each row, in input order.
//!
//! [`portfolio`] reads rows and writes results. This module converts each row to a match body (`plan`), ranks its
//! candidates with the same [`OpenData::rank`] as the endpoint, and converts them to columns (`answer`). A single view
//! serves the whole run, so a concurrent import does not affect it. An invalid row yields an error in its output row.

mod answer;
mod plan;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use super::portfolio::{
    self, Answers, Blocks, Error, InputRows, OpenPortfolio, Portfolio, PortfolioColumns,
    PortfolioOutput, warn_of_streets, warn_of_towns,
};
use super::{Dataset, OpenData};
use answer::AnswerLayout;
use plan::{DEFAULT_DISTANCE, DISTANCE, PortfolioPlan};
use toise_base::formula::Formulas;
use toise_base::progress::Progress;
use toise_engine as engine;
use toise_geocode::Geocoder;
use toise_geocode::resolve::{LazyGeocoder, Precision, Resolved};
use toise_input::reading::LeftOutValues;
use toise_input::{ReadFile, SharedReading};

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
    /// The treatment of cells of a CSV output that a spreadsheet would run as formulas.
    pub formulas: Formulas,
    /// Pairs of input column and the body field it stands for.
    pub renames: Vec<(String, String)>,
    /// Input columns to copy to the output; if empty, `key`, otherwise `id`, otherwise the row number.
    pub keys: Vec<String>,
    /// Candidates per row unless the row gives a size; `None` means the endpoint's default.
    pub size: Option<usize>,
    /// Record columns to output; `None` means a default set for each table.
    pub columns: Option<Vec<String>>,
    /// Locates the addresses of rows; opened only if the portfolio has address columns.
    pub geocoder: LazyGeocoder,
    /// Progress bar on standard error.
    pub progress: Progress,
}

/// Result of a bulk match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    pub status: BTreeMap<Cow<'static, str>, u64>,
    /// Best candidates by confidence.
    pub confidence: ByConfidence,
    /// Rows located by their address, by precision.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub located: BTreeMap<Cow<'static, str>, u64>,
    /// Rows located by an address without a town next to its street.
    pub without_town: u64,
    /// Invalid rows of a block that could be read, by reason. They are merged into `files`.
    #[serde(skip_serializing_if = "LeftOutValues::is_empty")]
    pub left_out: LeftOutValues,
    /// How the portfolio was interpreted.
    pub files: Vec<ReadFile>,
    /// Elapsed time from opening the portfolio until the output is on disk, in seconds.
    pub seconds: f64,
    /// Portfolio rows processed per second.
    pub rows_per_second: f64,
}

/// Counts by confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Adds what was understood of the portfolio, the elapsed time since `started` and the rows per second.
    fn finish(mut self, reading: &SharedReading, started: Instant) -> Self {
        let mut file = reading.found(std::mem::take(&mut self.left_out));
        let by_town = self.located.get(Precision::Town.name());
        warn_of_streets(&mut file, by_town.copied().unwrap_or_default());
        warn_of_towns(&mut file, self.without_town, self.located.values().sum());
        let is_read = |field: &str| {
            let mut used = file.reading.columns_used.iter();
            used.any(|column| column.field == field)
        };
        if is_read("lat") && !is_read(DISTANCE) {
            file.reading.notes.push(format!(
                "no column {DISTANCE}: candidates lie within {DEFAULT_DISTANCE} of a position"
            ));
        }
        self.files = vec![file];
        self.seconds = started.elapsed().as_secs_f64();
        self.rows_per_second = self.rows as f64 / self.seconds.max(f64::MIN_POSITIVE);
        self
    }

    fn count_located(&mut self, found: Option<&Resolved>) {
        if let Some(found) = found {
            let precision = found.precision.name();
            *self.located.entry(precision.into()).or_default() += 1;
            self.without_town += u64::from(found.is_without_town);
        }
    }

    fn add(&mut self, other: &BulkReport) {
        self.rows += other.rows;
        self.matched += other.matched;
        self.without_candidates += other.without_candidates;
        self.errors += other.errors;
        self.without_town += other.without_town;
        for (own, added) in [
            (&mut self.status, &other.status),
            (&mut self.located, &other.located),
        ] {
            for (word, count) in added {
                *own.entry(word.clone()).or_default() += count;
            }
        }
        self.left_out.append(other.left_out.clone());
        self.confidence.high += other.confidence.high;
        self.confidence.medium += other.confidence.medium;
        self.confidence.low += other.confidence.low;
        self.confidence.reject += other.confidence.reject;
    }
}

/// Parameters of a bulk match, for the process that matches its rows. Together with the table and the address index,
/// they determine every result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchJob {
    /// The table to match against.
    pub dataset: Dataset,
    /// Columns of the portfolio.
    pub names: Vec<String>,
    /// Pairs of input column and the body field it stands for.
    pub renames: Vec<(String, String)>,
    /// Input columns to copy to the output.
    pub keys: Vec<String>,
    /// Candidates per row unless the row gives a size.
    pub size: Option<usize>,
    /// Record columns to output.
    pub columns: Option<Vec<String>>,
}

/// A matcher of the rows of a portfolio; threads share it.
pub struct MatchRun {
    open_data: OpenData,
    view: Arc<engine::view::TableView>,
    plan: PortfolioPlan,
    layout: AnswerLayout,
    /// Locates addresses, if the portfolio has address columns.
    geocoder: Option<Arc<Geocoder>>,
}

/// Returns the portfolio that a job describes.
fn portfolio_of(job: &MatchJob, input: PathBuf) -> Portfolio {
    Portfolio {
        input,
        row_noun: format!("a {} match", job.dataset.name()),
        fields: plan::field_names(job.dataset),
        inferable: plan::inferable_names(job.dataset),
        only_if_named: plan::address_names(job.dataset),
        numbers: plan::number_names(job.dataset),
        renames: job.renames.clone(),
        keys: job.keys.clone(),
        default_keys: &DEFAULT_KEYS,
    }
}

impl BulkOptions {
    /// Returns the job without the names of the portfolio's columns.
    fn job(&self) -> MatchJob {
        MatchJob {
            dataset: self.dataset,
            names: Vec::new(),
            renames: self.renames.clone(),
            keys: self.keys.clone(),
            size: self.size,
            columns: self.columns.clone(),
        }
    }
}

/// Matches every row of a portfolio. Returns once the complete output is on disk. Blocks and computes on the global
/// rayon pool, so it must not be called from one of its workers.
///
/// # Errors
///
/// See [`Error`]; no output file is left in that case.
pub fn run(open_data: &OpenData, options: &BulkOptions) -> Result<BulkReport, Error> {
    run_remote(options, |job, blocks, answers| {
        let run = MatchRun::of_job(open_data, job, &options.geocoder)?;
        portfolio::answer_here(blocks, answers, move |rows| run.answer(rows))
    })
}

/// Like [`run`], but other processes match the blocks: `answer` receives the job, from which they create a
/// [`MatchRun`], and the blocks. This process opens neither the table nor the address index.
///
/// # Errors
///
/// As for [`run`], and those of `answer`.
pub fn run_remote(
    options: &BulkOptions,
    answer: impl FnOnce(&MatchJob, &mut Blocks<'_>, &mut Answers<'_, BulkReport>) -> Result<(), Error>,
) -> Result<BulkReport, Error> {
    let started = Instant::now();
    let mut job = options.job();
    let portfolio = portfolio_of(&job, options.input.clone());
    let opened = OpenPortfolio::new(&portfolio)?;
    job.names.clone_from(&opened.names);
    let plan = PortfolioPlan::new(&job, opened.columns.clone())?;
    let layout = AnswerLayout::new(&plan, job.columns.as_deref())?;
    let output = PortfolioOutput::create(&options.output, layout.schema(), options.formulas)?;
    let reading = opened.reading.clone();
    let mut report = BulkReport::default();
    portfolio::run(
        &portfolio,
        opened,
        output,
        options.progress,
        |blocks, answers| answer(&job, blocks, answers),
        |counts| report.add(&counts),
    )?;
    Ok(report.finish(&reading, started))
}

impl MatchRun {
    /// Prepares to answer the blocks of a job, from the table's current snapshot.
    ///
    /// # Errors
    /// The columns of the job do not fit a match, or the table or the address index cannot be read.
    pub fn of_job(
        open_data: &OpenData,
        job: &MatchJob,
        geocoder: &LazyGeocoder,
    ) -> Result<Self, Error> {
        let view = open_data.engine().view(job.dataset.schema())?;
        // Computed once here, so that several threads do not all compute it for their first rows.
        view.superseded().map_err(engine::Error::from)?;
        let portfolio = portfolio_of(job, PathBuf::new());
        let plan = PortfolioPlan::new(job, PortfolioColumns::new(&portfolio, &job.names)?)?;
        let geocoder = if plan.has_addresses() {
            Some(Arc::clone(geocoder.get().map_err(Error::Addresses)?))
        } else {
            None
        };
        let layout = AnswerLayout::new(&plan, job.columns.as_deref())?;
        Ok(Self {
            open_data: open_data.clone(),
            view,
            plan,
            layout,
            geocoder,
        })
    }

    /// Returns the snapshot that results come from.
    pub fn view(&self) -> &engine::view::TableView {
        &self.view
    }

    /// Returns the schema of the output.
    pub fn schema(&self) -> &SchemaRef {
        self.layout.schema()
    }

    /// Matches the rows of a block. CPU-bound.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn answer(&self, rows: &InputRows) -> Result<(RecordBatch, BulkReport), Error> {
        answer::answer(self, rows)
    }
}
