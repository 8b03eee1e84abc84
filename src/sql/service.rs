//! The service that runs queries for keys: HTTP, Flight and MCP call it, and differ only in what they send.
//!
//! Queries run on dedicated threads of low priority, so that no other request waits for them. Every query is written to
//! the audit log, waits for its key's turn and for memory, and ends at its limits or when its caller goes away.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{DataType, SchemaRef};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::SqlError;
use crate::audit::{AuditLog, Caller};
use crate::explain::explain;
use crate::limits::{Limit, QueryLimits};
use crate::names::KnownNames;
use crate::plan::{Planned, plan};
use crate::request::SqlRequest;
use crate::running::{AbortOnDrop, RunningQuery, opened_in_time};
use crate::settings::SqlSettings;
use crate::slots::{KeySlots, Turn, WAIT_MAX};
use crate::tables::SqlTables;
use crate::tallies::{Recording, SqlTallies};
use crate::work::{Work, bound_functions};
use crate::workers::Workers;
use toise_engine::priority;

/// Parts of an answer that wait for the client.
const PIECES_WAITING_MAX: usize = 2;
/// Stack of a thread that runs queries, in bytes: planning walks deep trees.
const STACK_BYTES: usize = 64 << 20;

/// The shape of a query that was only planned.
#[derive(Clone, Debug)]
pub struct QueryShape {
    /// The columns of its answer.
    pub schema: SchemaRef,
    /// Names and types of its placeholders, sorted; a type is `None` where it does not follow from the query.
    pub parameters: Vec<(String, Option<DataType>)>,
}

/// The service that runs queries. Cheap to clone.
#[derive(Clone)]
pub struct SqlService(Arc<Inner>);

struct Inner {
    tables: SqlTables,
    limits: QueryLimits,
    concurrent_max: usize,
    threads: usize,
    slots: KeySlots,
    plans: KeySlots,
    memory: Arc<Semaphore>,
    audit: AuditLog,
    workers: Option<Arc<dyn Workers>>,
    tallies: Arc<SqlTallies>,
    runtime: QueryThreads,
}

/// The threads that run queries. They stop when the service is dropped, on any thread.
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
            plans: KeySlots::default(),
            memory: Arc::new(Semaphore::new(memory.min(Semaphore::MAX_PERMITS))),
            audit,
            workers,
            tallies: Arc::default(),
            runtime: QueryThreads(Some(runtime)),
        })))
    }

    /// Returns the limits of a query that asks for none.
    pub fn limits(&self) -> QueryLimits {
        self.0.limits
    }

    /// Returns the longest time that a call of [`SqlService::run`] and its answer may take, waits included.
    pub fn time_max(&self) -> Duration {
        self.0.limits.time_max + 2 * WAIT_MAX
    }

    /// Returns the counts since the start.
    pub fn tallies(&self) -> &SqlTallies {
        &self.0.tallies
    }

    /// Returns the tables that queries read, with their columns.
    pub fn catalogue(&self) -> Vec<(&'static str, SchemaRef)> {
        let tables = &self.0.tables;
        let stored = tables.engine.schemas();
        let stored = stored.map(|schema| (schema.name, Arc::clone(schema.arrow())));
        let derived = tables.derived.iter();
        stored
            .chain(derived.map(|(name, table)| (*name, table.schema())))
            .collect()
    }

    /// Returns the threads that run queries, for other work that may wait behind light requests.
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
    /// It is not a valid query, or a limit is reached. Every query is in the audit log, however it ends.
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
        let inner = Arc::clone(&self.0);
        let task = handle.spawn(async move {
            let work = Work {
                tables: inner.tables.clone(),
                threads: inner.threads,
                workers: inner.workers.clone(),
                request,
                limits,
                opened: Some(opened_sender),
                pieces: sender,
                recording,
            };
            work.run(time.0).await;
            drop(permits);
        });
        let task = AbortOnDrop(task.abort_handle());
        let opened = opened_in_time(opened, time).await?;
        Ok(RunningQuery::new(opened, pieces, time, task))
    }

    /// Plans a query without running it. A key plans as many queries at once as it may run, and others wait.
    ///
    /// # Errors
    /// It is not a valid query, or it takes too long to plan. Only such a query is written to the audit log here; a
    /// valid one is written when it runs.
    pub async fn describe(
        &self,
        sql: &str,
        caller: Caller,
        concurrent_max: Option<u64>,
    ) -> Result<QueryShape, SqlError> {
        let concurrent_max = self.concurrent_max(concurrent_max);
        let turn = self.0.plans.turn(caller.key_id, concurrent_max).await?;
        let shape = self.shape(sql, turn).await;
        if let Err(error) = &shape {
            let begun = self.0.audit.begin(caller, sql).await;
            begun.map_err(SqlError::internal)?;
            let (audit, tallies) = (self.0.audit.clone(), Arc::clone(&self.0.tallies));
            let recording = Recording::new(caller, audit, tallies, self.handle()?);
            recording.end(Err(error)).await;
        }
        shape
    }

    async fn shape(&self, sql: &str, turn: Turn) -> Result<QueryShape, SqlError> {
        let (inner, sql) = (Arc::clone(&self.0), sql.to_owned());
        let limits = self.0.limits;
        let planning = self.handle()?.spawn(async move {
            // The turn is held as long as this computes, even if nobody waits for the result.
            let _turn = turn;
            crate::text::check(&sql)?;
            let tables = inner.tables.clone();
            let session = tables.opened(sql.clone(), limits, inner.threads).await?;
            let Planned { frame, size } = plan(&session, &sql, None).await?;
            bound_functions(&session, size);
            let explained = |error| explain(error, &sql, &KnownNames::default());
            let types = frame
                .logical_plan()
                .get_parameter_types()
                .map_err(explained)?;
            let schema = if types.is_empty() {
                frame
                    .create_physical_plan()
                    .await
                    .map_err(explained)?
                    .schema()
            } else {
                Arc::new(frame.schema().as_arrow().clone())
            };
            Ok(QueryShape {
                schema,
                parameters: sorted(types),
            })
        });
        let _stopped_with_caller = AbortOnDrop(planning.abort_handle());
        match tokio::time::timeout(limits.time_max, planning).await {
            Ok(Ok(shape)) => shape,
            Ok(Err(failed)) if failed.is_panic() => Err(SqlError::crashed()),
            Ok(Err(failed)) => Err(SqlError::internal(failed)),
            Err(_elapsed) => Err(SqlError::Limit(Limit::Time(limits.time_max))),
        }
    }

    /// Returns how many queries a key may run at once; `own` is the limit of the key itself.
    fn concurrent_max(&self, own: Option<u64>) -> usize {
        let own = own.and_then(|own| usize::try_from(own).ok());
        own.unwrap_or(usize::MAX).clamp(1, self.0.concurrent_max)
    }

    /// Waits for the key's turn and for the memory of a query; both are held while it runs.
    async fn permits(
        &self,
        key_id: uuid::Uuid,
        concurrent_max: Option<u64>,
        limits: QueryLimits,
    ) -> Result<impl Send + use<>, SqlError> {
        let concurrent_max = self.concurrent_max(concurrent_max);
        let turn = self.0.slots.turn(key_id, concurrent_max).await?;
        let wanted = u32::try_from(limits.memory_mib).unwrap_or(u32::MAX);
        let memory = Arc::clone(&self.0.memory).acquire_many_owned(wanted);
        match tokio::time::timeout(WAIT_MAX, memory).await {
            Ok(Ok(memory)) => Ok((turn, memory)),
            _ => Err(SqlError::Overloaded),
        }
    }
}

fn sorted(types: HashMap<String, Option<DataType>>) -> Vec<(String, Option<DataType>)> {
    let mut types: Vec<_> = types.into_iter().collect();
    // `$2` before `$10`.
    types.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
    types
}
