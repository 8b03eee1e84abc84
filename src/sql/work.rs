//! One query on the threads of the service, from its text to its last row.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::{FutureExt, StreamExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::SqlError;
use crate::encode::{EncodeError, Encoder};
use crate::execution::{self, BATCH_ROWS};
use crate::expansion::Expansion;
use crate::explain::explain;
use crate::functions::bounds::{Bounds, TooManyRows};
use crate::limits::{Limit, QueryLimits};
use crate::names::KnownNames;
use crate::plan::{Planned, plan};
use crate::request::{Output, SqlRequest};
use crate::row_sizes::batch_bytes;
use crate::running::{Opened, Piece};
use crate::tables::{self, SqlTables};
use crate::tallies::Recording;
use crate::workers::{PlannedQuery, Workers};
use toise_engine::session::Session;

/// Bytes of the rows that are encoded at once.
const PART_BYTES: usize = 2 << 20;
/// Divisor of a query's memory: one value may take this fraction of it.
const VALUE_SHARE: usize = 4;
/// Maximum bytes of one value, whatever the memory of a query.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// One query on the threads of the service.
pub(crate) struct Work {
    pub tables: SqlTables,
    pub threads: usize,
    pub workers: Option<Arc<dyn Workers>>,
    pub request: SqlRequest,
    pub limits: QueryLimits,
    pub opened: Option<oneshot::Sender<Result<Opened, SqlError>>>,
    pub pieces: mpsc::Sender<Result<Piece, SqlError>>,
    pub recording: Recording,
}

impl Work {
    /// Runs the query until its end or the deadline, and reports to the caller and the audit log how it ended.
    pub async fn run(mut self, deadline: Instant) {
        // The engine panics on some values, for example if a column becomes longer than its format allows.
        let answer = AssertUnwindSafe(self.answer()).catch_unwind();
        let answer = answer.map(|outcome| outcome.unwrap_or_else(|_| Err(SqlError::crashed())));
        let outcome = tokio::time::timeout_at(deadline, answer).await;
        let timed_out = Err(SqlError::Limit(Limit::Time(self.limits.time_max)));
        // A nested loop checks the deadline itself, and fails.
        let is_late = Instant::now() >= deadline;
        let outcome = match outcome {
            Ok(outcome) if outcome.is_ok() || !is_late => outcome,
            _ => timed_out,
        };
        self.recording.end(outcome.as_ref().copied()).await;
        let Err(error) = outcome else {
            return;
        };
        // A caller that went away needs no error.
        match self.opened.take() {
            Some(opened) => drop(opened.send(Err(error))),
            None => drop(self.pieces.send(Err(error)).await),
        }
    }

    async fn answer(&mut self) -> Result<(), SqlError> {
        let sql = self.request.sql.clone();
        crate::text::check(&sql)?;
        let workers = self.workers.clone();
        let workers = workers.map(|workers| (workers.state(), workers));
        let tables = self.tables.clone();
        let session = tables
            .opened(sql.clone(), self.limits, self.threads)
            .await?;
        self.recording.snapshots = tables::describe(session.versions());
        let planned = plan(&session, &sql, self.request.parameters.take()).await?;
        bound_functions(&session, planned.size);
        if let Some((state, workers)) = workers {
            let query = PlannedQuery {
                session: &session,
                frame: &planned.frame,
                state: &state,
                limits: self.limits,
            };
            if let Some(rows) = workers.run(query).await? {
                return self
                    .hand_over(&session, rows)
                    .await
                    .map_err(|stopped| stopped.explained(&sql));
            }
        }
        self.run_here(&session, &planned, &sql).await
    }

    /// Runs a query on this machine. If rows are too long for the batch size, it is run again with fewer rows per
    /// batch, unless some rows have already been sent.
    async fn run_here(
        &mut self,
        session: &Session,
        planned: &Planned,
        sql: &str,
    ) -> Result<(), SqlError> {
        let value_bytes = self.value_bytes();
        let mut rows = BATCH_ROWS;
        loop {
            let stopped = match execution::run(&planned.frame, rows, value_bytes).await {
                Ok(batches) => match self.hand_over(session, batches).await {
                    Ok(()) => return Ok(()),
                    Err(stopped) => stopped,
                },
                Err(error) => Stopped::Engine(error),
            };
            match stopped.rows_that_fit() {
                Some(fitting) if rows > 1 && self.opened.is_some() => {
                    rows = (fitting / 2).clamp(1, rows / 2);
                }
                _ => return Err(stopped.explained(sql)),
            }
        }
    }

    /// Returns the maximum bytes of one value: a part of the memory of the query.
    fn value_bytes(&self) -> usize {
        (self.limits.memory_bytes() / VALUE_SHARE).min(VALUE_BYTES_MAX)
    }

    /// Sends the rows of a query to the caller as they arrive.
    async fn hand_over(
        &mut self,
        session: &Session,
        mut rows: SendableRecordBatchStream,
    ) -> Result<(), Stopped> {
        let schema = rows.schema();
        let mut encoder = match self.request.output {
            Output::Batches => None,
            Output::Encoded(format, compresses) => {
                Some(Encoder::new(format, &schema, compresses).map_err(unencodable)?)
            }
        };
        let mut unread = Some(Opened {
            schema,
            versions: session.versions().to_vec(),
        });
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Stopped::Engine)?;
            // Opens only now, so that a query that fails on its first rows returns an error and not a broken answer.
            self.open(&mut unread)?;
            self.recording.rows += batch.num_rows() as u64;
            if self.recording.rows > self.limits.rows_max {
                return Err(SqlError::Limit(Limit::Rows(self.limits.rows_max)).into());
            }
            for part in parts(&batch) {
                let piece = match &mut encoder {
                    None => Some(Piece::Batch(part)),
                    Some(encoder) => encoder.write(&part).map_err(unencodable)?.map(Piece::Bytes),
                };
                if let Some(piece) = piece {
                    self.send(piece).await?;
                }
            }
        }
        self.open(&mut unread)?;
        if let Some(encoder) = encoder {
            let last = encoder.finish().map_err(unencodable)?;
            self.send(Piece::Bytes(last)).await?;
        }
        Ok(())
    }

    /// Sends the caller what is known before the first row.
    fn open(&mut self, unread: &mut Option<Opened>) -> Result<(), SqlError> {
        let (Some(opened), Some(sender)) = (unread.take(), self.opened.take()) else {
            return Ok(());
        };
        sender.send(Ok(opened)).map_err(|_| SqlError::Cancelled)
    }

    /// Sends a part to the caller; waits until it has room.
    async fn send(&mut self, piece: Piece) -> Result<(), SqlError> {
        self.recording.bytes += match &piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Batch(batch) => batch_bytes(batch) as u64,
        };
        if self.recording.bytes > self.limits.bytes_max {
            return Err(SqlError::Limit(Limit::Bytes(self.limits.bytes_max)));
        }
        let sent = self.pieces.send(Ok(piece)).await;
        sent.map_err(|_| SqlError::Cancelled)
    }
}

/// Lowers the bounds of a session's functions to what the size of its query allows.
pub(crate) fn bound_functions(session: &Session, size: Expansion) {
    let state = session.context().state();
    if let Some(bounds) = state.config().get_extension::<Bounds>() {
        bounds.set(size.value_bytes(), size.call_bytes());
    }
}

/// Splits a batch into parts of about [`PART_BYTES`], because the encoded form of each, such as text, is larger than
/// it.
fn parts(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + use<> {
    let batch = batch.clone();
    let count = batch_bytes(&batch).div_ceil(PART_BYTES).max(1);
    let rows = batch.num_rows().div_ceil(count).max(1);
    let starts = (0..batch.num_rows().max(1)).step_by(rows);
    starts.map(move |start| batch.slice(start, rows.min(batch.num_rows() - start)))
}

/// The reason why a query stopped before its last row.
enum Stopped {
    /// An error that is already explained.
    KnownNames(SqlError),
    /// The engine failed.
    Engine(DataFusionError),
}

impl From<SqlError> for Stopped {
    fn from(error: SqlError) -> Self {
        Stopped::KnownNames(error)
    }
}

impl Stopped {
    /// Returns the rows per batch that may fit, if a batch of this query had too many.
    fn rows_that_fit(&self) -> Option<usize> {
        match self {
            Stopped::KnownNames(_) => None,
            Stopped::Engine(error) => TooManyRows::rows_of(error),
        }
    }

    fn explained(self, sql: &str) -> SqlError {
        match self {
            Stopped::KnownNames(error) => error,
            Stopped::Engine(error) => explain(error, sql, &KnownNames::default()),
        }
    }
}

fn unencodable(error: EncodeError) -> Stopped {
    SqlError::invalid(error.to_string()).into()
}
