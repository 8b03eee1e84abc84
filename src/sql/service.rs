//! The service that runs queries for keys: HTTP, Flight and MCP call it, and differ only in what they send.
//!
//! Queries run on threads of their own, of low priority, so that no other request waits for them. Every query is written
//! to the audit log, waits for its key's turn and for memory, and ends at its limits or when its caller goes away.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ParamValues;
use futures::StreamExt;
use std::collections::HashMap;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::audit::{AuditLog, Caller};
use crate::encode::{Encoder, RowFormat};
use crate::explain::explain;
use crate::limits::{Limit, QueryLimits, RequestedLimits};
use crate::names::Known;
use crate::plan::plan;
use crate::running::{AbortOnDrop, Opened, Piece, RunningQuery, opened_in_time};
use crate::settings::SqlSettings;
use crate::slots::{KeySlots, WAIT_MAX};
use crate::tables::SqlTables;
use crate::tallies::{Recording, SqlTallies};
use crate::workers::{PlannedQuery, Workers};
use crate::{SqlError, tables};
use toise_accounts::sql_limits::SqlLimits;
use toise_engine::priority;

/// Parts of an answer that wait for the client.
const PIECES_WAITING_MAX: usize = 2;
/// Stack of a thread that runs queries, in bytes: planning walks deep trees.
const STACK_BYTES: usize = 64 << 20;

/// A query of a key.
#[derive(Clone, Debug)]
pub struct SqlRequest {
    /// The text.
    pub sql: String,
    /// Values of its placeholders.
    pub parameters: Option<ParamValues>,
    /// Limits of the key, lower than those of the service.
    pub key_limits: SqlLimits,
    /// Limits lower than the key's.
    pub limits: RequestedLimits,
    /// What the parts of the answer are.
    pub output: Output,
    /// Who asks.
    pub caller: Caller,
}

/// What the parts of an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Batches of rows.
    Batches,
    /// Bytes of a format, compressed or not.
    Encoded(RowFormat, bool),
}

/// What is known of a query that was only planned.
#[derive(Clone, Debug)]
pub struct QueryShape {
    /// The columns of its answer.
    pub schema: SchemaRef,
    /// Names and types of its placeholders, sorted; a type is `None` where it does not follow from the query.
    pub parameters: Vec<(String, Option<DataType>)>,
}

/// Runs queries. Cheap to clone.
#[derive(Clone)]
pub struct SqlService(Arc<Inner>);

struct Inner {
    tables: SqlTables,
    limits: QueryLimits,
    concurrent_max: usize,
    threads: usize,
    slots: KeySlots,
    memory: Arc<Semaphore>,
    audit: AuditLog,
    workers: Option<Arc<dyn Workers>>,
    tallies: Arc<SqlTallies>,
    runtime: QueryThreads,
}

/// The threads; they stop when the service is dropped, wherever that is.
struct QueryThreads(Option<Runtime>);

impl Drop for QueryThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl SqlService {
    /// Starts the service; all its queries together have `memory_mib` of memory. Large ones are run by `workers`, if
    /// there are any.
    ///
    /// # Errors
    /// The threads cannot be started.
    pub fn start(
        tables: SqlTables,
        settings: &SqlSettings,
        memory_mib: u64,
        audit: AuditLog,
        workers: Option<Arc<dyn Workers>>,
    ) -> std::io::Result<Self> {
        let mut limits = QueryLimits::from(settings);
        limits.memory_mib = limits.memory_mib.min(memory_mib);
        let threads = settings.threads();
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("sql")
            .thread_stack_size(STACK_BYTES)
            .on_thread_start(priority::lower)
            .enable_all()
            .build()?;
        let memory = usize::try_from(memory_mib).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self(Arc::new(Inner {
            tables,
            limits,
            concurrent_max: usize::try_from(settings.concurrent_max).unwrap_or(1).max(1),
            threads,
            slots: KeySlots::default(),
            memory: Arc::new(Semaphore::new(memory.min(Semaphore::MAX_PERMITS))),
            audit,
            workers,
            tallies: Arc::default(),
            runtime: QueryThreads(Some(runtime)),
        })))
    }

    /// The limits of a query that asks for none.
    pub fn limits(&self) -> QueryLimits {
        self.0.limits
    }

    /// The longest that a call of [`SqlService::run`] and its answer may take, waits included.
    pub fn time_max(&self) -> Duration {
        self.0.limits.time_max + 2 * WAIT_MAX
    }

    /// What was counted since the start.
    pub fn tallies(&self) -> &SqlTallies {
        &self.0.tallies
    }

    /// The tables that queries read, with their columns.
    pub fn catalogue(&self) -> Vec<(&'static str, SchemaRef)> {
        let tables = &self.0.tables;
        let stored = tables.engine.schemas();
        let stored = stored.map(|schema| (schema.name, Arc::clone(schema.arrow())));
        let derived = tables.derived.iter();
        stored
            .chain(derived.map(|(name, table)| (*name, table.schema())))
            .collect()
    }

    /// The threads that run queries, for what else may wait behind light requests.
    ///
    /// # Errors
    /// The service has stopped.
    pub fn handle(&self) -> Result<Handle, SqlError> {
        let runtime = self.0.runtime.0.as_ref();
        let runtime = runtime.ok_or_else(|| SqlError::internal("the service has stopped"))?;
        Ok(runtime.handle().clone())
    }

    /// Runs a query; returns once it is planned and reads its tables.
    ///
    /// # Errors
    /// It is not a valid query, or a limit is reached. Every query is in the audit log, whatever becomes of it.
    pub async fn run(&self, request: SqlRequest) -> Result<RunningQuery, SqlError> {
        let handle = self.handle()?;
        let begun = self.0.audit.begin(request.caller, &request.sql).await;
        begun.map_err(SqlError::internal)?;
        let (caller, audit) = (request.caller, self.0.audit.clone());
        let tallies = Arc::clone(&self.0.tallies);
        let recording = Recording::new(caller, audit, tallies, handle.clone());
        let of_key = self.0.limits.lowered_to(request.key_limits.into());
        let limits = of_key.lowered_to(request.limits);
        let permits = match self
            .permits(caller.key_id, request.key_limits.concurrent, limits)
            .await
        {
            Ok(permits) => permits,
            Err(error) => {
                recording.end(Err(&error)).await;
                return Err(error);
            }
        };
        let time = (Instant::now() + limits.time_max, limits.time_max);
        let (opened_sender, opened) = oneshot::channel();
        let (sender, pieces) = mpsc::channel(PIECES_WAITING_MAX);
        let service = self.clone();
        let task = handle.spawn(async move {
            let work = Work {
                request,
                limits,
                opened: Some(opened_sender),
                pieces: sender,
                recording,
            };
            work.run(service, time.0).await;
            drop(permits);
        });
        let task = AbortOnDrop(task.abort_handle());
        let opened = opened_in_time(opened, time).await?;
        Ok(RunningQuery::new(opened, pieces, time, task))
    }

    /// Plans a query without running it.
    ///
    /// # Errors
    /// It is not a valid query, or it takes too long to plan. It is in the audit log then; a valid query is once it runs.
    pub async fn describe(&self, sql: &str, caller: Caller) -> Result<QueryShape, SqlError> {
        let shape = self.shape(sql).await;
        if let Err(error) = &shape {
            let begun = self.0.audit.begin(caller, sql).await;
            begun.map_err(SqlError::internal)?;
            let (audit, tallies) = (self.0.audit.clone(), Arc::clone(&self.0.tallies));
            let recording = Recording::new(caller, audit, tallies, self.handle()?);
            recording.end(Err(error)).await;
        }
        shape
    }

    async fn shape(&self, sql: &str) -> Result<QueryShape, SqlError> {
        let (service, sql) = (self.clone(), sql.to_owned());
        let limits = self.0.limits;
        let planning = self.handle()?.spawn(async move {
            let session = service.open(&sql, limits).await?;
            let frame = plan(&session, &sql, None).await?;
            let explained = |error| explain(error, &sql, &Known::default());
            let types = frame
                .logical_plan()
                .get_parameter_types()
                .map_err(explained)?;
            let schema = match types.is_empty() {
                true => frame
                    .create_physical_plan()
                    .await
                    .map_err(explained)?
                    .schema(),
                false => Arc::new(frame.schema().as_arrow().clone()),
            };
            Ok(QueryShape {
                schema,
                parameters: sorted(types),
            })
        });
        let _stopped_with_caller = AbortOnDrop(planning.abort_handle());
        match tokio::time::timeout(limits.time_max, planning).await {
            Ok(Ok(shape)) => shape,
            Ok(Err(panicked)) => Err(SqlError::internal(panicked)),
            Err(_elapsed) => Err(SqlError::Limit(Limit::Time(limits.time_max))),
        }
    }

    /// The turn of the key and the memory of a query, held while it runs.
    async fn permits(
        &self,
        key_id: uuid::Uuid,
        concurrent_max: Option<u64>,
        limits: QueryLimits,
    ) -> Result<impl Send + use<>, SqlError> {
        let own = concurrent_max.and_then(|own| usize::try_from(own).ok());
        let concurrent_max = own.unwrap_or(usize::MAX).min(self.0.concurrent_max);
        let turn = self.0.slots.turn(key_id, concurrent_max.max(1)).await?;
        let wanted = u32::try_from(limits.memory_mib).unwrap_or(u32::MAX);
        let memory = Arc::clone(&self.0.memory).acquire_many_owned(wanted);
        match tokio::time::timeout(WAIT_MAX, memory).await {
            Ok(Ok(memory)) => Ok((turn, memory)),
            _ => Err(SqlError::Overloaded),
        }
    }

    /// Opens the tables on a thread that may block.
    async fn open(
        &self,
        sql: &str,
        limits: QueryLimits,
    ) -> Result<toise_engine::session::Session, SqlError> {
        let (service, sql) = (self.clone(), sql.to_owned());
        let opening = move || {
            let Inner {
                tables, threads, ..
            } = &*service.0;
            tables.open(&sql, limits, *threads)
        };
        let opened = tokio::task::spawn_blocking(opening).await;
        opened.map_err(SqlError::internal)?
    }
}

fn sorted(types: HashMap<String, Option<DataType>>) -> Vec<(String, Option<DataType>)> {
    let mut types: Vec<_> = types.into_iter().collect();
    // `$2` before `$10`.
    types.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
    types
}

/// One query on the threads of the service.
struct Work {
    request: SqlRequest,
    limits: QueryLimits,
    opened: Option<oneshot::Sender<Result<Opened, SqlError>>>,
    pieces: mpsc::Sender<Result<Piece, SqlError>>,
    recording: Recording,
}

impl Work {
    async fn run(mut self, service: SqlService, deadline: Instant) {
        let outcome = tokio::time::timeout_at(deadline, self.answer(&service)).await;
        let timed_out = Err(SqlError::Limit(Limit::Time(self.limits.time_max)));
        // A nested loop notices the end of the time itself, and fails.
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

    async fn answer(&mut self, service: &SqlService) -> Result<(), SqlError> {
        let sql = self.request.sql.clone();
        crate::text::check(&sql)?;
        let workers = service.0.workers.as_ref();
        let workers = workers.map(|workers| (workers, workers.state()));
        let session = service.open(&sql, self.limits).await?;
        self.recording.snapshots = tables::describe(session.versions());
        let frame = plan(&session, &sql, self.request.parameters.take()).await?;
        let explained = |error| explain(error, &sql, &Known::default());
        let elsewhere = match workers {
            None => None,
            Some((workers, state)) => {
                let query = PlannedQuery {
                    session: &session,
                    frame: &frame,
                    state: &state,
                    limits: self.limits,
                };
                workers.run(query).await?
            }
        };
        let mut rows = match elsewhere {
            Some(rows) => rows,
            None => frame.execute_stream().await.map_err(explained)?,
        };
        let schema = rows.schema();
        let mut encoder = match self.request.output {
            Output::Batches => None,
            Output::Encoded(format, compresses) => {
                let encoder = Encoder::new(format, &schema, compresses);
                Some(encoder.map_err(|error| SqlError::invalid(error.to_string()))?)
            }
        };
        let mut unread = Some(Opened {
            schema,
            versions: session.versions().to_vec(),
        });
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(explained)?;
            // Only now: a query that fails on its first rows is an error, not a broken answer.
            self.open(&mut unread)?;
            self.recording.rows += batch.num_rows() as u64;
            if self.recording.rows > self.limits.rows_max {
                return Err(SqlError::Limit(Limit::Rows(self.limits.rows_max)));
            }
            let piece = match &mut encoder {
                None => Some(Piece::Batch(batch)),
                Some(encoder) => {
                    let piece = encoder.write(&batch);
                    let piece = piece.map_err(|error| SqlError::invalid(error.to_string()))?;
                    piece.map(Piece::Bytes)
                }
            };
            if let Some(piece) = piece {
                self.send(piece).await?;
            }
        }
        self.open(&mut unread)?;
        if let Some(encoder) = encoder {
            let last = encoder
                .finish()
                .map_err(|error| SqlError::invalid(error.to_string()))?;
            self.send(Piece::Bytes(last)).await?;
        }
        Ok(())
    }

    /// Tells the caller what is known before the first row.
    fn open(&mut self, unread: &mut Option<Opened>) -> Result<(), SqlError> {
        let (Some(opened), Some(sender)) = (unread.take(), self.opened.take()) else {
            return Ok(());
        };
        sender.send(Ok(opened)).map_err(|_| SqlError::Cancelled)
    }

    /// Hands a part to the caller once it takes it.
    async fn send(&mut self, piece: Piece) -> Result<(), SqlError> {
        self.recording.bytes += match &piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Batch(batch) => batch.get_array_memory_size() as u64,
        };
        if self.recording.bytes > self.limits.bytes_max {
            return Err(SqlError::Limit(Limit::Bytes(self.limits.bytes_max)));
        }
        let sent = self.pieces.send(Ok(piece)).await;
        sent.map_err(|_| SqlError::Cancelled)
    }
}
