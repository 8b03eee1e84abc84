//! Bulk match: a portfolio file in, the best candidates of each row out, in the order of the input.
//!
//! One thread reads blocks of rows (`input`); rayon turns each into match bodies (`plan`), asks the same
//! [`OpenData::rank`] the endpoint asks, and lays the candidates out as columns (`answer`); the caller's thread writes
//! them (`output`). Memory stays within `BLOCKS_WAITING` + `BLOCKS_MATCHING` blocks, whatever the file. One view
//! serves the whole run, so that an import meanwhile changes nothing. A row that cannot be asked yields its error.

mod answer;
mod input;
mod output;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use arrow::array::RecordBatch;
use serde::Serialize;

use super::{Dataset, OpenData};
use crate::engine;
use crate::progress::Progress;
use answer::Layout;
use input::{InputRows, Opened};
use output::Output;
use plan::Plan;

/// Blocks of rows read ahead of matching.
const BLOCKS_WAITING: usize = 4;
/// Blocks being matched, or matched and waiting to be written, for each thread.
const BLOCKS_MATCHING: usize = 4;

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

/// Why a bulk match stopped. A bad row is no reason.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The portfolio or the answer could not be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The portfolio is not what its form says.
    #[error(transparent)]
    Input(#[from] super::source::Error),
    /// An option that makes no sense with this portfolio or table.
    #[error("{0}")]
    Option(String),
    /// The table could not be read.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The answer could not be laid out.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// The answer could not be encoded.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A thread ended before its time.
    #[error("a worker stopped: {0}")]
    Worker(&'static str),
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

type Matching = Receiver<Result<(RecordBatch, BulkReport), Error>>;

/// Matches a portfolio; returns once the answer is whole on disk. Blocks, and computes on the global rayon pool: call
/// it from a thread that is none of its workers.
///
/// # Errors
///
/// See [`Error`]; nothing is left under the answer's name then.
pub fn run(open_data: &OpenData, options: &BulkOptions) -> Result<BulkReport, Error> {
    let started = Instant::now();
    let schema = options.dataset.schema();
    let view = open_data.engine().view(schema)?;
    // Gathered once here rather than by the first rows of all threads at the same time.
    view.superseded().map_err(engine::Error::from)?;
    let (sender, rows) = sync_channel::<Result<InputRows, Error>>(BLOCKS_WAITING);
    let opened = Opened::new(options)?;
    let plan = opened.plan.clone();
    let layout = Layout::new(options.dataset, &plan.keys, options.columns.as_deref())?;
    let mut output = Output::create(&options.output, layout.schema())?;
    let run = Arc::new(Run {
        open_data: open_data.clone(),
        view,
        plan,
        layout,
    });
    let bar = options
        .progress
        .bytes(&options.input.display().to_string(), opened.bytes);
    let mut report = BulkReport::default();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| input::read(opened, options, &bar, sender));
        let limit = BLOCKS_MATCHING * rayon::current_num_threads();
        let mut matching: VecDeque<Matching> = VecDeque::with_capacity(limit);
        for block in rows {
            let block = block?;
            if matching.len() >= limit {
                write_next(&mut matching, &mut output, &mut report)?;
            }
            let (done, receiver) = sync_channel(1);
            let run = Arc::clone(&run);
            rayon::spawn(move || {
                // A coordinator that has gone met an error of its own.
                let _ = done.send(answer::answer(&run, &block));
            });
            matching.push_back(receiver);
        }
        while !matching.is_empty() {
            write_next(&mut matching, &mut output, &mut report)?;
        }
        report.ignored_columns = reader
            .join()
            .map_err(|_| Error::Worker("the reader of the portfolio"))?;
        Ok::<(), Error>(())
    })?;
    output.finish()?;
    bar.finish_and_clear();
    report.seconds = started.elapsed().as_secs_f64();
    report.rows_per_second = report.rows as f64 / report.seconds.max(f64::MIN_POSITIVE);
    Ok(report)
}

fn write_next(
    matching: &mut VecDeque<Matching>,
    output: &mut Output,
    report: &mut BulkReport,
) -> Result<(), Error> {
    let Some(next) = matching.pop_front() else {
        return Ok(());
    };
    let (batch, counts) = next
        .recv()
        .map_err(|_| Error::Worker("the matching of a block"))??;
    report.add(&counts);
    output.write(&batch)
}
