//! Distributes the rows of a file of addresses to workers.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::dispatch::Dispatch;
use crate::{Error, Result};
use toise_geocode::file::rows::{RowAnswer, RowAnswers, RowCells, RowParameters};

/// Maximum rows of a part, so that several workers share a block of a file.
const PART_ROWS_MAX: usize = 1_024;

/// Answers of workers to rows. Rows are answered block by block of the file; all workers share each block.
pub struct SharedRows(Mutex<Dispatch>);

impl SharedRows {
    /// Creates it from the parts of a job.
    pub fn new(dispatch: Dispatch) -> Self {
        Self(Mutex::new(dispatch))
    }

    /// Returns the parts when all rows are answered.
    pub fn into_dispatch(self) -> Dispatch {
        self.0.into_inner()
    }
}

impl RowAnswers for SharedRows {
    fn answer(&self, _: &RowParameters, rows: &[&RowCells]) -> io::Result<Vec<Arc<RowAnswer>>> {
        answer(&mut self.0.lock(), rows).map_err(io::Error::other)
    }
}

fn answer(dispatch: &mut Dispatch, rows: &[&RowCells]) -> Result<Vec<Arc<RowAnswer>>> {
    let part_rows = dispatch.part_rows().min(PART_ROWS_MAX);
    for part in rows.chunks(part_rows) {
        dispatch.ask(&serde_json::to_vec(part)?)?;
    }
    let mut answers = Vec::with_capacity(rows.len());
    while let Some(answer) = dispatch.take() {
        let part: Vec<RowAnswer> = serde_json::from_slice(&answer?.payload)?;
        answers.extend(part.into_iter().map(Arc::new));
    }
    if answers.len() == rows.len() {
        Ok(answers)
    } else {
        Err(Error::Part(format!(
            "{} answers to {} rows",
            answers.len(),
            rows.len()
        )))
    }
}
