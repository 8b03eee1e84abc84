//! The service that runs queries for keys: HTTP, Flight and MCP call it, and differ only in what they send.
//!
//! Each query runs in a separate process ([`crate::process`]). It is written to the audit log, waits for a slot of its
//! key and for memory, and ends at its limits or when its caller goes away.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::SqlError;
use crate::audit::{AuditLog, Caller};
use crate::batch_bytes::batch_bytes;
use crate::limits::{Limit, QueryLimits};
use crate::memory::QueryMemory;
use crate::process::Launch;
use crate::process::pool::Pool;
pub use crate::process::query::DerivedRows;
use crate::process::query::{CallHandler, Permits, ProcessMessage, QueryText, RemoteQuery, Task};
use crate::request::SqlRequest;
use crate::running::{AbortOnDrop, Piece, QueryShape, QueryStart, RunningQuery, opened_in_time};
use crate::settings::SqlSettings;
use crate::slots::{KeySlots, WAIT_MAX};
use crate::tables::{SqlTables, describe};
use crate::tallies::{Recording, SqlTallies};
use toise_engine::priority;

/// Parts of a result that wait for the client.
const PIECES_WAITING_MAX: usize = 2;
/// Queries of one key that are planned at once, in addition to those that run.
const PLANNED_AT_ONCE: usize = 1;

/// The tables and functions that queries can use.
#[derive(Clone)]
pub struct Backend {
    /// The tables, with the functions that the processes let the server compute.
    pub tables: SqlTables,
    /// Computes rows of the derived tables.
    pub derived: DerivedRows,
    /// The state that the functions depend on, for other machines.
    pub state: Arc<dyn Fn() -> String + Send + Sync>,
    /// How the processes are started.
    pub launch: Launch,
}

/// The service that runs queries. Cheap to clone.
#[derive(Clone)]
pub struct SqlService(Arc<Inner>);

struct Inner {
    backend: Backend,
    limits: QueryLimits,
    concurrent_max: usize,
    running: KeySlots,
    planning: KeySlots,
    memory: QueryMemory,
    audit: AuditLog,
    tallies: Arc<SqlTallies>,
    pool: Pool,
    runtime: QueryThreads,
}

/// The threads that pass results on. They stop when the service is dropped, on any thread.
struct QueryThreads(Option<Runtime>);

impl Drop for QueryThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl SqlService {
    /// Starts the service; all its queries together have `memory_mib` of memory. No process is started yet.
    ///
    /// # Errors
    /// The threads cannot be started.
    pub fn start(
        backend: Backend,
        settings: &SqlSettings,
        memory_mib: u64,
        audit: AuditLog,
    ) -> std::io::Result<Self> {
        let mut limits = QueryLimits::from(settings);
        limits.memory_mib = limits.memory_mib.min(memory_mib);
        let runtime = Builder::new_multi_thread()
            .worker_threads(settings.threads())
            .thread_name("sql")
            .on_thread_start(priority::lower)
            .enable_all()
            .build()?;
        Ok(Self(Arc::new(Inner {
            pool: Pool::new(backend.launch.clone()),
            backend,
            limits,
            concurrent_max: usize::try_from(settings.concurrent_max).unwrap_or(1).max(1),
            running: KeySlots::default(),
            planning: KeySlots::default(),
            memory: QueryMemory::new(memory_mib, limits.memory_mib),
            audit,
            tallies: Arc::default(),
            runtime: QueryThreads(Some(runtime)),
        })))
    }

    /// Starts a second service over the same tables, with other settings.
    ///
    /// # Errors
    /// As for [`SqlService::start`].
    pub fn with_settings(&self, settings: &SqlSettings, memory_mib: u64) -> std::io::Result<Self> {
        let Inner { backend, audit, .. } = &*self.0;
        Self::start(backend.clone(), settings, memory_mib, audit.clone())
    }

    /// Starts a process for the first query, in the background.
    pub fn prepare(&self) {
        if let Ok(handle) = self.handle() {
            self.0.pool.prepare(&handle);
        }
    }

    /// Returns the limits of a query whose request sets none.
    pub fn limits(&self) -> QueryLimits {
        self.0.limits
    }

    /// Returns the longest time that a call of [`SqlService::run`] and its result may take, waits included.
    pub fn time_max(&self) -> Duration {
        self.0.limits.time_max + 2 * WAIT_MAX
    }

    /// Returns the counts since the start.
    pub fn tallies(&self) -> &SqlTallies {
        &self.0.tallies
    }

    /// Returns the tables that queries read, with their columns.
    pub fn catalogue(&self) -> Vec<(&'static str, SchemaRef)> {
        let tables = &self.0.backend.tables;
        let stored = tables.engine.schemas();
        let stored = stored.map(|schema| (schema.name, Arc::clone(schema.arrow())));
        let derived = tables.derived.iter();
        stored
            .chain(derived.map(|(name, table)| (*name, table.schema())))
            .collect()
    }

    /// Returns the threads that pass results on, for other low-priority work.
    ///
    /// # Errors
    /// The service has stopped.
    pub fn handle(&self) -> Result<Handle, SqlError> {
        let runtime = self.0.runtime.0.as_ref();
        let runtime = runtime.ok_or_else(|| SqlError::internal("the service has stopped"))?;
        Ok(runtime.handle().clone())
    }

    /// Runs a query; returns once it is planned and has started to read its tables.
    ///
    /// # Errors
    /// It is not a valid query, or a limit is reached. Every query is in the audit log, however it ends.
    pub async fn run(&self, request: SqlRequest) -> Result<RunningQuery, SqlError> {
        let handle = self.handle()?;
        let recording = self.begin(request.caller, &request.sql, &handle).await?;
        let of_key = self.0.limits.lowered_to(request.key_limits);
        let limits = of_key.lowered_to(request.limits);
        let slots = (
            &self.0.running,
            self.concurrent_max(request.key_limits.concurrent),
        );
        let permits = match self.permits(request.caller, slots, limits).await {
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
            let mut results = ResultSender {
                opened: Some(opened_sender),
                pieces: sender,
                recording,
                limits,
            };
            let outcome = service.pass_rows(&request, &mut results, permits);
            let outcome = in_time(outcome, time).await;
            results.end(outcome).await;
        });
        let task = AbortOnDrop(task.abort_handle());
        let opened = opened_in_time(opened, time).await?;
        Ok(RunningQuery::new(opened, pieces, time, task))
    }

    /// Plans a query without running it. A key plans one query at a time, in addition to those that run, and others
    /// wait.
    ///
    /// # Errors
    /// It is not a valid query, or it takes too long to plan. Only such a query is written to the audit log here; a
    /// valid one is written when it runs.
    pub async fn describe(&self, sql: &str, caller: Caller) -> Result<QueryShape, SqlError> {
        let limits = self.0.limits;
        let slots = (&self.0.planning, PLANNED_AT_ONCE);
        let permits = self.permits(caller, slots, limits).await?;
        let (service, text) = (self.clone(), sql.to_owned());
        let handle = self.handle()?;
        let planning = handle.spawn(async move {
            let time = (Instant::now() + limits.time_max, limits.time_max);
            in_time(service.shape(&text, permits), time).await
        });
        let _stopped_with_caller = AbortOnDrop(planning.abort_handle());
        let shape = planning.await.map_err(SqlError::internal)?;
        if let Err(error) = &shape {
            let recording = self.begin(caller, sql, &handle).await?;
            recording.end(Err(error)).await;
        }
        shape
    }

    /// Writes to the audit log that a query arrived.
    async fn begin(
        &self,
        caller: Caller,
        sql: &str,
        handle: &Handle,
    ) -> Result<Recording, SqlError> {
        let begun = self.0.audit.begin(caller, sql).await;
        begun.map_err(SqlError::internal)?;
        let (audit, tallies) = (self.0.audit.clone(), Arc::clone(&self.0.tallies));
        Ok(Recording::new(caller, audit, tallies, handle.clone()))
    }

    /// Starts a query in a process.
    ///
    /// `at_tables` receives the versions of the tables, as [`crate::tables::describe`] writes them.
    async fn start_query(
        &self,
        text: QueryText<'_>,
        permits: Permits,
        at_tables: impl FnOnce(String),
    ) -> Result<RemoteQuery, SqlError> {
        crate::text::check_length(text.sql)?;
        let backend = self.0.backend.clone();
        // Read before the tables are opened: other machines compare it with the state afterwards.
        let state = (backend.state)();
        let sql = text.sql.to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            let functions = (backend.tables.functions)().into_iter();
            let functions = functions.map(|function| (function.name().to_owned(), function));
            let handler = CallHandler {
                functions: Arc::new(functions.collect::<HashMap<_, _>>()),
                derived: backend.derived,
                state: backend.state,
            };
            Ok::<_, SqlError>((backend.tables.now(&sql)?, handler))
        });
        let (at, handler) = opening.await.map_err(SqlError::internal)??;
        at_tables(describe(&at.versions()));
        let process = self.0.pool.take(&self.handle()?).await;
        let process = process.map_err(SqlError::internal)?;
        RemoteQuery::start(process, text, &at, state, handler, permits).await
    }

    /// Runs a query and passes its rows to the caller as they arrive.
    async fn pass_rows(
        &self,
        request: &SqlRequest,
        results: &mut ResultSender,
        permits: Permits,
    ) -> Result<(), SqlError> {
        let text = QueryText {
            sql: &request.sql,
            parameters: request.parameters.as_ref(),
            limits: results.limits,
            task: Task::Rows(request.output),
        };
        let snapshots = &mut results.recording.snapshots;
        let mut query = self
            .start_query(text, permits, |at| *snapshots = at)
            .await?;
        loop {
            let (arrived, rest) = query.next(&self.0.pool).await?;
            match arrived {
                ProcessMessage::Opened(schema, is_distributed) => {
                    self.0.tallies.count_distributed(is_distributed);
                    results.open(schema)?;
                }
                ProcessMessage::Rows(pieces, rows) => results.pass(pieces, rows).await?,
                ProcessMessage::Shape(_) | ProcessMessage::Ended => {}
            }
            match rest {
                Some(rest) => query = rest,
                None => return Ok(()),
            }
        }
    }

    /// Plans a query.
    async fn shape(&self, sql: &str, permits: Permits) -> Result<QueryShape, SqlError> {
        let text = QueryText {
            sql,
            parameters: None,
            limits: self.0.limits,
            task: Task::Shape,
        };
        let mut query = self.start_query(text, permits, drop).await?;
        let mut shape = None;
        loop {
            let (arrived, rest) = query.next(&self.0.pool).await?;
            if let ProcessMessage::Shape(found) = arrived {
                shape = Some(found);
            }
            match rest {
                Some(rest) => query = rest,
                None => break,
            }
        }
        shape.ok_or_else(|| SqlError::internal("a query ended without its shape"))
    }

    /// Returns how many queries a key may run at once; `own` is the limit of the key itself.
    fn concurrent_max(&self, own: Option<u64>) -> usize {
        let own = own.and_then(|own| usize::try_from(own).ok());
        own.unwrap_or(usize::MAX).clamp(1, self.0.concurrent_max)
    }

    /// Waits for a slot of the key and for the memory of a query; both are held while it runs.
    async fn permits(
        &self,
        caller: Caller,
        (slots, concurrent_max): (&KeySlots, usize),
        limits: QueryLimits,
    ) -> Result<Permits, SqlError> {
        let slot = slots.acquire(caller.key_id, concurrent_max).await?;
        let memory = self.0.memory.acquire(caller.key_id, limits.memory_mib);
        match tokio::time::timeout(WAIT_MAX, memory).await {
            Ok(memory) => Ok(Arc::new((slot, memory))),
            Err(_elapsed) => Err(SqlError::Overloaded),
        }
    }
}

/// Waits for an outcome until a deadline.
async fn in_time<T>(
    outcome: impl Future<Output = Result<T, SqlError>>,
    (deadline, time_max): (Instant, Duration),
) -> Result<T, SqlError> {
    match tokio::time::timeout_at(deadline, outcome).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(SqlError::Limit(Limit::Time(time_max))),
    }
}

/// Sends the result of a query to the caller, and counts it.
struct ResultSender {
    opened: Option<oneshot::Sender<Result<QueryStart, SqlError>>>,
    pieces: mpsc::Sender<Result<Piece, SqlError>>,
    recording: Recording,
    limits: QueryLimits,
}

impl ResultSender {
    /// Sends the caller what is known before the first row.
    fn open(&mut self, schema: SchemaRef) -> Result<(), SqlError> {
        let opened = QueryStart {
            schema,
            snapshots: self.recording.snapshots.clone(),
        };
        match self.opened.take() {
            Some(sender) => sender.send(Ok(opened)).map_err(|_| SqlError::Cancelled),
            None => Ok(()),
        }
    }

    /// Sends parts to the caller, and counts them; waits until the caller has room.
    async fn pass(&mut self, pieces: Vec<Piece>, rows: u64) -> Result<(), SqlError> {
        self.recording.rows += rows;
        if self.recording.rows > self.limits.rows_max {
            return Err(SqlError::Limit(Limit::Rows(self.limits.rows_max)));
        }
        for piece in pieces {
            self.recording.bytes += match &piece {
                Piece::Bytes(bytes) => bytes.len() as u64,
                Piece::Batch(batch) => batch_bytes(batch) as u64,
            };
            if self.recording.bytes > self.limits.bytes_max {
                return Err(SqlError::Limit(Limit::Bytes(self.limits.bytes_max)));
            }
            let sent = self.pieces.send(Ok(piece)).await;
            sent.map_err(|_| SqlError::Cancelled)?;
        }
        Ok(())
    }

    /// Records in the audit log how the query ended, and sends the caller its error, if any.
    async fn end(self, outcome: Result<(), SqlError>) {
        self.recording.end(outcome.as_ref().copied()).await;
        let Err(error) = outcome else {
            return;
        };
        // A caller that went away does not need the error.
        match self.opened {
            Some(opened) => drop(opened.send(Err(error))),
            None => drop(self.pieces.send(Err(error)).await),
        }
    }
}
