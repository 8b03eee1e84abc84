//! Distributes bulk estimates and matches to workers. Blocks of rows are sent in parts and come back as the same blocks
//! of answers, so the output is identical to the local command's, byte for byte.

use arrow::array::RecordBatch;
use serde::de::DeserializeOwned;

use super::dispatch::{Answer, Dispatch};
use crate::protocol::{decode, encode};
use crate::{Error, Result};
use toise_opendata::portfolio::{self, Answers, Blocks, InputRows};

/// Bytes of text after which a part ends.
const PART_BYTES: usize = 8 << 20;

fn elsewhere(error: Error) -> portfolio::Error {
    portfolio::Error::Elsewhere(Box::new(error))
}

/// Distributes all blocks to workers, and passes their answers to `answers` in the order of the blocks.
///
/// # Errors
/// The rows cannot be read, no worker can answer them, or `answers` fails.
pub fn share<C: DeserializeOwned>(
    dispatch: &mut Dispatch,
    blocks: &mut Blocks<'_>,
    answers: &mut Answers<'_, C>,
) -> std::result::Result<(), portfolio::Error> {
    let mut part: Vec<RecordBatch> = Vec::new();
    let rows_max = dispatch.part_rows();
    let (mut rows, mut bytes) = (0, 0);
    for block in blocks {
        let block = block?;
        rows += block.block.len();
        bytes += block.block.bytes();
        part.push(block.to_batch()?);
        if rows >= rows_max || bytes >= PART_BYTES {
            ask(dispatch, &part)?;
            part.clear();
            (rows, bytes) = (0, 0);
            while dispatch.is_full() {
                take(dispatch, answers)?;
            }
        }
    }
    if !part.is_empty() {
        ask(dispatch, &part)?;
    }
    while take(dispatch, answers)? {}
    Ok(())
}

fn ask(dispatch: &mut Dispatch, part: &[RecordBatch]) -> std::result::Result<(), portfolio::Error> {
    let payload = encode(InputRows::sent_schema(), part).map_err(elsewhere)?;
    dispatch.ask(&payload).map_err(elsewhere)
}

/// Passes on the answer to the next part; `false` if there is none.
fn take<C: DeserializeOwned>(
    dispatch: &mut Dispatch,
    answers: &mut Answers<'_, C>,
) -> std::result::Result<bool, portfolio::Error> {
    let Some(answer) = dispatch.take() else {
        return Ok(false);
    };
    let answer = answer.map_err(elsewhere)?;
    for (batch, counts) in read(answer).map_err(elsewhere)? {
        answers(&batch, counts)?;
    }
    Ok(true)
}

/// Reads the blocks of an answer with their statistics.
fn read<C: DeserializeOwned>(answer: Answer) -> Result<Vec<(RecordBatch, C)>> {
    let batches = decode(&answer.payload)?;
    let counts = answer.about.counts.into_iter();
    let counts: Vec<C> = counts
        .map(serde_json::from_value)
        .collect::<std::result::Result<_, _>>()?;
    if batches.len() != counts.len() {
        return Err(Error::Part(format!(
            "{} blocks of rows and {} of statistics",
            batches.len(),
            counts.len()
        )));
    }
    Ok(batches.into_iter().zip(counts).collect())
}
