//! A portfolio file in, an answer file out, in the order of the input: what the bulk commands share.
//!
//! One thread reads blocks of rows (`input`); rayon answers them, each block as one batch of columns; the caller's
//! thread writes them (`output`). Memory stays within `BLOCKS_WAITING` blocks and `BLOCKS_ANSWERING` for each
//! thread, whatever the file. What a row means and what is answered is the caller's.

mod columns;
mod input;
mod output;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow::array::RecordBatch;

use super::source;
use toise_base::progress::Progress;
use toise_engine as engine;

pub use columns::Columns;
pub use input::{InputRows, Opened};
pub use output::Output;

/// Blocks of rows read ahead.
const BLOCKS_WAITING: usize = 4;
/// Blocks being answered, or answered and waiting to be written, for each thread.
const BLOCKS_ANSWERING: usize = 4;

/// A portfolio, and what may be found in it.
#[derive(Clone, Debug)]
pub struct Portfolio {
    /// CSV (gzip or not), Parquet or NDJSON, told from its first bytes.
    pub input: PathBuf,
    /// What a row is, for messages: `a home`.
    pub what: String,
    /// Names a column may have.
    pub fields: Vec<String>,
    /// Input column → field.
    pub renames: Vec<(String, String)>,
    /// Input columns repeated in the answer.
    pub keys: Vec<String>,
    /// Where none are named, the first of these that is there.
    pub default_keys: &'static [&'static str],
}

/// Why a run over a portfolio stopped. A bad row is no reason.
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
    Input(#[from] source::Error),
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

type Answering<C> = Receiver<Result<(RecordBatch, C), Error>>;

/// Answers a portfolio block by block; `count` is told of each in order. Returns once the answer is whole on disk.
/// Blocks, and computes on the global rayon pool: call it from a thread that is none of its workers.
///
/// # Errors
///
/// See [`Error`]; nothing is left under the answer's name then.
pub fn run<C: Send + 'static>(
    portfolio: &Portfolio,
    opened: Opened,
    mut output: Output,
    progress: Progress,
    answer: impl Fn(&InputRows) -> Result<(RecordBatch, C), Error> + Send + Sync + 'static,
    mut count: impl FnMut(C),
) -> Result<(), Error> {
    let (sender, rows) = sync_channel::<Result<InputRows, Error>>(BLOCKS_WAITING);
    let bar = progress.bytes(&portfolio.input.display().to_string(), opened.bytes);
    let answer = Arc::new(answer);
    let mut write_next = |answering: &mut VecDeque<Answering<C>>| -> Result<(), Error> {
        let Some(next) = answering.pop_front() else {
            return Ok(());
        };
        let (batch, counts) = next
            .recv()
            .map_err(|_| Error::Worker("the answering of a block"))??;
        count(counts);
        output.write(&batch)
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| input::read(opened, portfolio, &bar, sender));
        let limit = BLOCKS_ANSWERING * rayon::current_num_threads();
        let mut answering: VecDeque<Answering<C>> = VecDeque::with_capacity(limit);
        for block in rows {
            let block = block?;
            if answering.len() >= limit {
                write_next(&mut answering)?;
            }
            let (done, receiver) = sync_channel(1);
            let answer = Arc::clone(&answer);
            rayon::spawn(move || {
                // A coordinator that has gone met an error of its own.
                let _ = done.send(answer(&block));
            });
            answering.push_back(receiver);
        }
        while !answering.is_empty() {
            write_next(&mut answering)?;
        }
        reader
            .join()
            .map_err(|_| Error::Worker("the reader of the portfolio"))
    })?;
    output.finish()?;
    bar.finish_and_clear();
    Ok(())
}
