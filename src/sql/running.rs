//! A running query: its schema is known, and its rows arrive as the caller takes them.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::SqlError;
use crate::limits::Limit;

/// How much longer than the time limit a caller waits for a query that does not notice the limit because it computes
/// without yielding.
const GRACE: Duration = Duration::from_secs(1);

/// A part of a result.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Rows.
    Batch(RecordBatch),
    /// Bytes in the requested format.
    Bytes(Bytes),
}

/// The data that is known before the first row.
#[derive(Clone, Debug)]
pub struct QueryStart {
    /// The columns.
    pub schema: SchemaRef,
    /// The versions of all tables that it may read, as [`crate::tables::describe`] writes them.
    pub snapshots: String,
}

/// The shape of a query that was only planned.
#[derive(Clone, Debug)]
pub struct QueryShape {
    /// The columns of its result.
    pub schema: SchemaRef,
    /// Names and types of its placeholders, sorted; a type is `None` if it does not follow from the query.
    pub parameters: Vec<(String, Option<DataType>)>,
}

/// A running query; dropping it stops it.
#[derive(Debug)]
pub struct RunningQuery {
    opened: QueryStart,
    pieces: mpsc::Receiver<Result<Piece, SqlError>>,
    deadline: Instant,
    time_max: Duration,
    _task: AbortOnDrop,
}

/// A task that is stopped when its caller goes away.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(pub AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RunningQuery {
    pub(crate) fn new(
        opened: QueryStart,
        pieces: mpsc::Receiver<Result<Piece, SqlError>>,
        (deadline, time_max): (Instant, Duration),
        task: AbortOnDrop,
    ) -> Self {
        Self {
            opened,
            pieces,
            deadline,
            time_max,
            _task: task,
        }
    }

    /// Returns the columns of the result.
    pub fn schema(&self) -> &SchemaRef {
        &self.opened.schema
    }

    /// Returns the versions of the tables, as [`crate::tables::describe`] writes them.
    pub fn snapshots(&self) -> &str {
        &self.opened.snapshots
    }

    /// Returns the next part; `None` after the last one. An error is the last part.
    pub async fn next(&mut self) -> Option<Result<Piece, SqlError>> {
        match tokio::time::timeout_at(self.deadline + GRACE, self.pieces.recv()).await {
            Ok(piece) => piece,
            Err(_elapsed) => Some(Err(SqlError::Limit(Limit::Time(self.time_max)))),
        }
    }

    /// Returns the next bytes, at least `bytes_min` unless the result ends first; the flag says whether it has ended.
    ///
    /// # Errors
    /// The query failed.
    pub async fn bytes(&mut self, bytes_min: usize) -> Result<(Vec<u8>, bool), SqlError> {
        let mut collected = Vec::new();
        while collected.len() < bytes_min {
            match self.next().await.transpose()? {
                None => return Ok((collected, true)),
                Some(Piece::Bytes(bytes)) => collected.extend_from_slice(&bytes),
                Some(Piece::Batch(_)) => return Err(SqlError::internal("rows, not bytes")),
            }
        }
        Ok((collected, false))
    }
}

/// Waits until a query has produced its first rows, at most until its deadline plus `GRACE`.
pub(crate) async fn opened_in_time(
    receiver: tokio::sync::oneshot::Receiver<Result<QueryStart, SqlError>>,
    (deadline, time_max): (Instant, Duration),
) -> Result<QueryStart, SqlError> {
    match tokio::time::timeout_at(deadline + GRACE, receiver).await {
        Ok(Ok(opened)) => opened,
        Ok(Err(_closed)) => Err(SqlError::internal("the query ended without an answer")),
        Err(_elapsed) => Err(SqlError::Limit(Limit::Time(time_max))),
    }
}
