//! Counts queries by their outcome for the metrics, and writes each outcome to the audit log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::runtime::Handle;

use crate::SqlError;
use crate::audit::{AuditLog, Caller, Protocol, QueryEnding};

/// The protocols, in the order of the counts.
const PROTOCOLS: [Protocol; 3] = [Protocol::Http, Protocol::Flight, Protocol::Mcp];
/// The outcomes, in the order of the counts.
const OUTCOMES: [&str; 5] = ["finished", "failed", "refused", "limit", "cancelled"];

/// The counts since the start of a service.
#[derive(Debug, Default)]
pub struct SqlTallies {
    ended: [[AtomicU64; OUTCOMES.len()]; PROTOCOLS.len()],
    running: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    distributed: AtomicU64,
    not_distributed: AtomicU64,
}

impl SqlTallies {
    /// Returns the number of queries that ended, by protocol and outcome.
    pub fn ended(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let protocols = PROTOCOLS.iter().zip(&self.ended);
        protocols.flat_map(|(protocol, counts)| {
            let counts = OUTCOMES.iter().zip(counts);
            counts.map(|(outcome, count)| {
                (protocol.as_str(), *outcome, count.load(Ordering::Relaxed))
            })
        })
    }

    /// Returns the queries that were large enough for other machines: answered by them, and by the server itself.
    pub fn for_workers(&self) -> [(&'static str, u64); 2] {
        [
            ("shared", &self.distributed),
            ("here", &self.not_distributed),
        ]
        .map(|(outcome, count)| (outcome, count.load(Ordering::Relaxed)))
    }

    pub(crate) fn count_distributed(&self, is_distributed: Option<bool>) {
        match is_distributed {
            Some(true) => self.distributed.fetch_add(1, Ordering::Relaxed),
            Some(false) => self.not_distributed.fetch_add(1, Ordering::Relaxed),
            None => 0,
        };
    }

    /// Returns the number of queries that run or wait.
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    /// Returns the number of rows of all results.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes of all results.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The record of one query; if it is dropped before its end, the query was cancelled.
pub(crate) struct Recording {
    caller: Caller,
    audit: AuditLog,
    tallies: Arc<SqlTallies>,
    handle: Handle,
    started: Instant,
    has_ended: bool,
    /// Rows of the result so far.
    pub rows: u64,
    /// Bytes of the result so far.
    pub bytes: u64,
    /// The versions of the tables, once they are open.
    pub snapshots: String,
}

impl Recording {
    pub fn new(caller: Caller, audit: AuditLog, tallies: Arc<SqlTallies>, handle: Handle) -> Self {
        tallies.running.fetch_add(1, Ordering::Relaxed);
        Self {
            caller,
            audit,
            tallies,
            handle,
            started: Instant::now(),
            has_ended: false,
            rows: 0,
            bytes: 0,
            snapshots: String::new(),
        }
    }

    /// Writes how the query ended.
    pub async fn end(mut self, outcome: Result<(), &SqlError>) {
        let ending = self.ending(outcome);
        let snapshots = std::mem::take(&mut self.snapshots);
        let request_id = self.caller.request_id;
        if let Err(error) = self.audit.end(request_id, snapshots, ending).await {
            tracing::error!(%error, "the end of a query is not in the audit log");
        }
    }

    fn ending(&mut self, outcome: Result<(), &SqlError>) -> QueryEnding {
        self.has_ended = true;
        let (counted, written) = match outcome {
            Ok(()) => ("finished", "finished".to_owned()),
            Err(SqlError::Limit(limit)) => ("limit", format!("limit:{}", limit.name())),
            Err(SqlError::Cancelled) => ("cancelled", "cancelled".to_owned()),
            Err(SqlError::ReadOnly(_) | SqlError::TooManyAtOnce | SqlError::Overloaded) => {
                ("refused", "refused".to_owned())
            }
            Err(SqlError::Invalid { .. } | SqlError::Internal(_)) => {
                ("failed", "failed".to_owned())
            }
        };
        let error = outcome.err().map(|error| match error {
            SqlError::Internal(source) => format!("internal error: {source}"),
            error => error.to_string(),
        });
        let Caller {
            request_id,
            key_id,
            protocol,
            ..
        } = self.caller;
        let duration_ms = self.started.elapsed().as_millis() as u64;
        tracing::info!(
            %request_id, %key_id, protocol = protocol.as_str(), outcome = written, rows = self.rows, bytes = self.bytes,
            duration_ms, "query"
        );
        // Errors quote the query, so only the audit log contains them; internal errors are also logged here.
        if let Err(SqlError::Internal(source)) = outcome {
            tracing::error!(%request_id, error = %source, "a query failed");
        }
        let tallies = &self.tallies;
        tallies.running.fetch_sub(1, Ordering::Relaxed);
        tallies.rows.fetch_add(self.rows, Ordering::Relaxed);
        tallies.bytes.fetch_add(self.bytes, Ordering::Relaxed);
        let place = OUTCOMES.iter().position(|outcome| *outcome == counted);
        if let Some(place) = place {
            tallies.ended[protocol as usize][place].fetch_add(1, Ordering::Relaxed);
        }
        QueryEnding {
            outcome: written,
            error,
            rows: self.rows,
            bytes: self.bytes,
            duration_ms,
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let ending = self.ending(Err(&SqlError::Cancelled));
        let (audit, request_id) = (self.audit.clone(), self.caller.request_id);
        let snapshots = std::mem::take(&mut self.snapshots);
        self.handle.spawn(async move {
            if let Err(error) = audit.end(request_id, snapshots, ending).await {
                tracing::error!(%error, "the end of a query is not in the audit log");
            }
        });
    }
}
