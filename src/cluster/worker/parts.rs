//! Answers a part of a bulk job with the code of the local command.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use bytes::Bytes;
use rayon::prelude::*;
use serde::Serialize;

use super::WorkerData;
use crate::protocol::{AboutPart, Job, Work, decode, encode, pack};
use crate::{Error, Result};
use toise_estimate::bulk::EstimateRun;
use toise_geocode::file::request::FileRequest;
use toise_geocode::file::rows::{RowAnswer, RowAnswers, RowCells, RowParameters};
use toise_geocode::resolve::LazyGeocoder;
use toise_geocode::{Geocoder, folder};
use toise_opendata::bulk::MatchRun;
use toise_opendata::portfolio::{self, InputRows};
use toise_opendata::source::Header;

/// A job with the data that its answers come from.
pub(super) enum OpenJob {
    /// Values of homes.
    Estimate(Box<EstimateRun>, Arc<Header>),
    /// Candidates of matches.
    Match(Box<MatchRun>, Arc<Header>),
    /// Addresses or positions.
    Geocode(RowParameters, Box<Geocoder>),
}

fn wrong(error: impl ToString) -> Error {
    Error::Query(error.to_string())
}

fn header(names: &[String]) -> Arc<Header> {
    Arc::new(Header::new(names.to_vec()))
}

impl OpenJob {
    pub(super) fn open(worker_data: &WorkerData, job: &Job) -> Result<Self> {
        let addresses = LazyGeocoder::new(worker_data.data().to_owned());
        Ok(match &job.work {
            Work::Estimate(work) => {
                let valuer = worker_data.valuer(&job.identity, work.adjustments())?;
                let run = EstimateRun::of_job(&valuer, work, &addresses).map_err(wrong)?;
                Self::Estimate(Box::new(run), header(&work.names))
            }
            Work::Match(work) => {
                let run =
                    MatchRun::of_job(&worker_data.open_data(), work, &addresses).map_err(wrong)?;
                Self::Match(Box::new(run), header(&work.names))
            }
            Work::Geocode {
                operation,
                result_columns,
            } => {
                let request = FileRequest {
                    operation: *operation,
                    result_columns: result_columns.clone(),
                    ..FileRequest::default()
                };
                let question = RowParameters {
                    operation: *operation,
                    appended: request.appended().map_err(wrong)?,
                };
                let geocoder = folder::open(worker_data.data()).map_err(wrong)?;
                Self::Geocode(question, Box::new(geocoder))
            }
        })
    }

    /// Answers a part. Computes on the global rayon pool.
    ///
    /// # Errors
    /// The part cannot be read, or a table cannot.
    pub(super) fn answer(&self, part: &Bytes) -> Result<Bytes> {
        let started = Instant::now();
        match self {
            Self::Estimate(run, header) => {
                blocks(started, part, header, run.schema(), |rows| run.answer(rows))
            }
            Self::Match(run, header) => {
                blocks(started, part, header, run.schema(), |rows| run.answer(rows))
            }
            Self::Geocode(question, geocoder) => {
                let rows: Vec<RowCells> = serde_json::from_slice(part)?;
                let asked: Vec<&RowCells> = rows.iter().collect();
                let answers: Vec<Arc<RowAnswer>> =
                    geocoder.answer(question, &asked).map_err(wrong)?;
                let answers: Vec<&RowAnswer> = answers.iter().map(Arc::as_ref).collect();
                let about = AboutPart {
                    rows: rows.len() as u64,
                    seconds: started.elapsed().as_secs_f64(),
                    counts: Vec::new(),
                };
                pack(&about, &serde_json::to_vec(&answers)?)
            }
        }
    }
}

/// Answers the blocks of a part, each in a separate batch, as the local command does.
fn blocks<C: Serialize + Send>(
    started: Instant,
    part: &[u8],
    header: &Arc<Header>,
    schema: &Schema,
    answer: impl Fn(&InputRows) -> std::result::Result<(RecordBatch, C), portfolio::Error> + Sync,
) -> Result<Bytes> {
    let asked = decode(part)?;
    let answers: Vec<(u64, RecordBatch, C)> = asked
        .par_iter()
        .map(|batch| {
            let rows = InputRows::from_batch(batch, header)?;
            let (answer, counts) = answer(&rows).map_err(wrong)?;
            Ok((rows.block.len() as u64, answer, counts))
        })
        .collect::<Result<_>>()?;
    let counts = answers.iter().map(|(.., counts)| counts);
    let about = AboutPart {
        rows: answers.iter().map(|(rows, ..)| rows).sum(),
        seconds: started.elapsed().as_secs_f64(),
        counts: counts
            .map(serde_json::to_value)
            .collect::<std::result::Result<_, _>>()?,
    };
    let batches: Vec<RecordBatch> = answers.into_iter().map(|(_, batch, _)| batch).collect();
    pack(&about, &encode(schema, &batches)?)
}
