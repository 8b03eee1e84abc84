//! Bulk match: a portfolio file in, the best candidates of each row out, in the order of the input.
//!
//! [`portfolio`] reads rows and writes answers; here each block becomes match bodies (`plan`), asks the same
//! [`OpenData::rank`] the endpoint asks, and is laid out as columns (`answer`). One view serves the whole run, so that
//! an import meanwhile changes nothing. A row that cannot be asked yields its error.

mod answer;
mod plan;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::portfolio::{self, Error, Opened, Output, Portfolio};
use super::{Dataset, OpenData};
use answer::Layout;
use plan::Plan;
use toise_base::progress::Progress;
use toise_engine as engine;

/// Columns that are keys where none are named, the first that is there.
const DEFAULT_KEYS: [&str; 2] = ["key", "id"];

/// What a bulk match is asked for.
#[derive(Clone, Debug)]
pub struct BulkOptions {
    /// The table matched against.
    pub dataset: Dataset,
    /// Portfolio: CSV (gzip or not), Parquet or NDJSON, told from its first bytes.
    pub input: PathBuf,
    /// Answer: `.parquet`, `.csv` or `.ndjson`.
    pub output: PathBuf,
    /// Input column → field of the body.
    pub renames: Vec<(String, String)>,
    /// Input columns repeated in the answer; empty: `key`, else `id`, else the row's number.
    pub keys: Vec<String>,
    /// Candidates per row where the row does not say; `None`: the endpoint's default.
    pub size: Option<usize>,
    /// Columns of the record in the answer; `None`: a few of each table.
    pub columns: Option<Vec<String>>,
    /// Bar on standard error.
    pub progress: Progress,
}

/// What a bulk match did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BulkReport {
    /// Rows of the portfolio.
    pub rows: u64,
    /// Rows with a candidate.
    pub matched: u64,
    /// Rows that no record passes the filters of.
    pub without_candidates: u64,
    /// Rows that could not be asked.
    pub errors: u64,
    /// First candidates by confidence.
    pub confidence: ByConfidence,
    /// Columns of the portfolio that are no field of a body.
    pub ignored_columns: Vec<String>,
    /// From opening the portfolio to the answer on disk.
    pub seconds: f64,
    /// Rows of the portfolio per second.
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
    fn count(&mut self, confidence: super::Confidence) {
        use super::Confidence::{High, Low, Medium, Reject};
        match confidence {
            High => self.high += 1,
            Medium => self.medium += 1,
            Low => self.low += 1,
            Reject => self.reject += 1,
        }
    }
}

impl BulkReport {
    fn add(&mut self, other: &BulkReport) {
        self.rows += other.rows;
        self.matched += other.matched;
        self.without_candidates += other.without_candidates;
        self.errors += other.errors;
        self.confidence.high += other.confidence.high;
        self.confidence.medium += other.confidence.medium;
        self.confidence.low += other.confidence.low;
        self.confidence.reject += other.confidence.reject;
    }
}

/// What the threads of one run share.
struct Run {
    open_data: OpenData,
    view: Arc<engine::view::TableView>,
    plan: Plan,
    layout: Layout,
}

/// Matches a portfolio; returns once the answer is whole on disk. Blocks, and computes on the global rayon pool: call
/// it from a thread that is none of its workers.
///
/// # Errors
///
/// See [`Error`]; nothing is left under the answer's name then.
pub fn run(open_data: &OpenData, options: &BulkOptions) -> Result<BulkReport, Error> {
    let started = Instant::now();
    let dataset = options.dataset;
    let view = open_data.engine().view(dataset.schema())?;
    // Gathered once here rather than by the first rows of all threads at the same time.
    view.superseded().map_err(engine::Error::from)?;
    let portfolio = Portfolio {
        input: options.input.clone(),
        what: format!("a {} match", dataset.name()),
        fields: plan::field_names(dataset),
        renames: options.renames.clone(),
        keys: options.keys.clone(),
        default_keys: &DEFAULT_KEYS,
    };
    let opened = Opened::new(&portfolio)?;
    let plan = Plan::new(options, opened.columns.clone())?;
    let layout = Layout::new(dataset, &plan.columns.keys, options.columns.as_deref())?;
    let output = Output::create(&options.output, layout.schema())?;
    let mut report = BulkReport {
        ignored_columns: plan.columns.ignored.clone(),
        ..BulkReport::default()
    };
    let run = Run {
        open_data: open_data.clone(),
        view,
        plan,
        layout,
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
