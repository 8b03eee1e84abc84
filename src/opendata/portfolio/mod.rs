//! The shared part of the bulk commands: reads a portfolio file and writes a result file in input order.
//!
//! One thread reads blocks of rows (`input`), rayon converts each block to one batch of columns, and the calling thread
//! writes the batches (`output`). Memory is limited to `BLOCKS_WAITING` blocks plus `BLOCKS_ANSWERING` per thread,
//! regardless of the file size. The caller supplies the meaning of a row and its results.

mod addresses;
mod columns;
mod input;
mod output;
mod sample;
mod sent_rows;
mod status;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow::array::RecordBatch;

use super::source;
use toise_base::progress::Progress;
use toise_engine as engine;

pub use addresses::{
    ADDRESS_COLUMNS, ADDRESS_FAULT, ADDRESS_FIELDS, AddressColumns, BlockAddresses, COMMUNE_CODE,
    INSEE_CODE, address_columns, address_fields, warn_of_streets, warn_of_towns,
};
pub use columns::PortfolioColumns;
pub use input::{InputRows, OpenPortfolio};
pub use output::PortfolioOutput;
pub use status::{RowFault, STATUS, STATUS_OK};

/// Maximum blocks of rows read ahead.
const BLOCKS_WAITING: usize = 4;
/// Maximum blocks per thread that are being processed, or processed and waiting to be written.
const BLOCKS_ANSWERING: usize = 4;

/// A portfolio file and how to read its columns.
#[derive(Clone, Debug)]
pub struct Portfolio {
    /// Portfolio file: CSV (gzip or not), Parquet or NDJSON, detected from its first bytes.
    pub input: PathBuf,
    /// Noun for a row in messages, with its article: `a home`.
    pub row_noun: String,
    /// Field names that a column may have.
    pub fields: Vec<String>,
    /// Fields that a column may also give if its name has the same meaning.
    pub inferable: Vec<String>,
    /// Fields that change the output if they are given; in NDJSON, they are read only if the first object has them.
    pub only_if_named: Vec<String>,
    /// Fields that hold numbers.
    pub numbers: Vec<String>,
    /// Pairs of input column and the field it stands for.
    pub renames: Vec<(String, String)>,
    /// Input columns to copy to the output.
    pub keys: Vec<String>,
    /// Default key columns if none are named; the first one present is used.
    pub default_keys: &'static [&'static str],
}

/// Why processing a portfolio stopped. An invalid row is not an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The portfolio or the output cannot be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The portfolio is malformed.
    #[error(transparent)]
    Input(#[from] source::Error),
    /// An option does not fit this portfolio or table.
    #[error("{0}")]
    Option(String),
    /// The index of addresses cannot be read.
    #[error("{0}")]
    Addresses(String),
    /// The table cannot be read.
    #[error("{0}")]
    Engine(#[from] engine::Error),
    /// The output columns cannot be built.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// The output cannot be encoded.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A thread ended unexpectedly.
    #[error("a worker stopped: {0}")]
    Worker(&'static str),
    /// The other processes that handle the rows failed.
    #[error("{0}")]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns a function that makes the error of a file that cannot be opened, read or written.
    fn io(path: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_string(),
            source,
        }
    }

    /// Prefixes a message about columns with the name of the file.
    pub fn in_file(self, name: &str) -> Self {
        match self {
            Self::Option(message) => Self::Option(format!("{name}: {message}")),
            error => error,
        }
    }
}

/// The blocks of a portfolio in order.
pub type Blocks<'b> = dyn Iterator<Item = Result<InputRows, Error>> + 'b;
/// Function that takes the results of blocks, in order, with their statistics.
pub type Answers<'a, C> = dyn FnMut(&RecordBatch, C) -> Result<(), Error> + 'a;

type PendingAnswer<C> = Receiver<Result<(RecordBatch, C), Error>>;

/// Processes a portfolio block by block; `count` receives the statistics of each block in order. Returns once the
/// complete output is on disk. Blocks and computes on the global rayon pool, so it must not be called from one of its
/// workers.
///
/// # Errors
///
/// See [`Error`]; no output file is left in that case.
pub fn run<C: Send + 'static>(
    portfolio: &Portfolio,
    opened: OpenPortfolio,
    output: PortfolioOutput,
    progress: Progress,
    answer: impl Fn(&InputRows) -> Result<(RecordBatch, C), Error> + Send + Sync + 'static,
    count: impl FnMut(C),
) -> Result<(), Error> {
    run_remote(
        portfolio,
        opened,
        output,
        progress,
        |blocks, answers| answer_here(blocks, answers, answer),
        count,
    )
}

/// Answers the blocks of a portfolio with this process: computes on the global rayon pool. Blocks.
///
/// # Errors
/// Those of `answer` and of `answers`, and an error in the portfolio.
pub fn answer_here<C: Send + 'static>(
    blocks: &mut Blocks<'_>,
    answers: &mut Answers<'_, C>,
    answer: impl Fn(&InputRows) -> Result<(RecordBatch, C), Error> + Send + Sync + 'static,
) -> Result<(), Error> {
    let answer = Arc::new(answer);
    let limit = BLOCKS_ANSWERING * rayon::current_num_threads();
    let mut answering: VecDeque<PendingAnswer<C>> = VecDeque::with_capacity(limit);
    let mut write = |next: PendingAnswer<C>| -> Result<(), Error> {
        let answered = next.recv();
        let (batch, counts) = answered.map_err(|_| Error::Worker("processing of a block"))??;
        answers(&batch, counts)
    };
    for block in blocks {
        let block = block?;
        if answering.len() >= limit
            && let Some(next) = answering.pop_front()
        {
            write(next)?;
        }
        let (done, receiver) = sync_channel(1);
        let answer = Arc::clone(&answer);
        rayon::spawn(move || {
            // If the coordinator has ended, it has already reported its own error.
            let _ = done.send(answer(&block));
        });
        answering.push_back(receiver);
    }
    answering.into_iter().try_for_each(write)
}

/// Processes a portfolio whose blocks are handled by other processes: `answer` takes the blocks and passes one result
/// per block to its second argument, in the same order. Returns once the complete output is on disk. Blocks.
///
/// # Errors
///
/// See [`Error`]; no output file is left in that case.
pub fn run_remote<C>(
    portfolio: &Portfolio,
    opened: OpenPortfolio,
    mut output: PortfolioOutput,
    progress: Progress,
    answer: impl FnOnce(&mut Blocks<'_>, &mut Answers<'_, C>) -> Result<(), Error>,
    mut count: impl FnMut(C),
) -> Result<(), Error> {
    let (sender, rows) = sync_channel::<Result<InputRows, Error>>(BLOCKS_WAITING);
    let bar = progress.bytes(&portfolio.input.display().to_string(), opened.bytes);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| input::read(opened, portfolio, &bar, sender));
        let mut blocks = rows.into_iter();
        let answered = answer(&mut blocks, &mut |batch, counts| {
            count(counts);
            output.write(batch)
        });
        // Stops a reader that still has rows, because nothing receives them any more.
        drop(blocks);
        let read = reader
            .join()
            .map_err(|_| Error::Worker("reader of the portfolio"));
        answered.and(read)
    })?;
    output.finish()?;
    bar.finish_and_clear();
    Ok(())
}
