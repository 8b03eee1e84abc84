//! Runs queries in a separate process: reads orders from standard input, and writes the results to standard output,
//! until the server closes its end.
//!
//! One thread does nothing but read, so the process ends as soon as the server goes away. The operating system bounds
//! memory and time on the processor, and ends a process that exceeds them.

use std::collections::HashMap;
use std::io::{self, StdinLock};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use arrow::datatypes::{Field, Schema, SchemaRef};
use bytes::Bytes;
use datafusion::common::{ParamValues, exec_err};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::{FutureExt, StreamExt};
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};

use super::calls::Calls;
use super::frames;
use super::ipc::{from_stream, to_bits, to_parameters, to_stream};
use super::messages::{Order, QueryOrder, Report, Task, WireError};
use super::shared::{PIECE_BYTES, SharedWriter};
use crate::SqlError;
use crate::batch_bytes::parts;
use crate::encode::{EncodeError, Encoder, RowFormat};
use crate::limits::QueryLimits;
use crate::plan::{explain_failure, plan};
use crate::request::Output;
use crate::tables::{SqlTables, TablesAt};
use crate::workers::{Distributed, PlannedQuery, Workers};
use toise_engine::session::{MergeOnReadTable, Session};

/// Stack of a thread that runs queries, in bytes: planning walks deep trees.
const STACK_BYTES: usize = 64 << 20;
/// Threads for work that blocks.
const BLOCKING_THREADS: usize = 4;
/// Time on the processor that a query may take beyond its time limit times its threads.
const PROCESSOR_GRACE: Duration = Duration::from_secs(2);
/// Maximum bytes of the columns of a result as an Arrow stream.
const COLUMNS_BYTES_MAX: usize = 4 << 20;
/// Memory that a process may keep after a query, in addition to its own memory before the first one: what the allocator
/// retains. A process that keeps more does not run another query.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// The parts with which this process runs queries.
pub struct QueryRunner {
    /// The tables. Their functions and derived tables call the server.
    pub tables: SqlTables,
    /// Threads of a query.
    pub threads: usize,
    /// Other machines that run large queries.
    pub workers: Option<Arc<dyn Workers>>,
}

/// The link of this process to its server.
pub struct ServerLink {
    orders: StdinLock<'static>,
    calls: Calls,
}

impl ServerLink {
    /// Reads the setup that the server sends first.
    ///
    /// # Errors
    /// Standard input does not come from a server.
    pub fn open<T: DeserializeOwned>() -> io::Result<(T, Self)> {
        let mut orders = io::stdin().lock();
        let (setup, shared) =
            frames::read_blocking(&mut orders)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        // Without a path, or if the file cannot be opened, pieces go through the pipe.
        let shared = std::str::from_utf8(&shared).ok();
        let shared = shared.and_then(|path| SharedWriter::open(Path::new(path)).ok());
        let calls = Calls::new(shared)?;
        Ok((setup, Self { orders, calls }))
    }

    /// Returns the calls of this process to the server.
    pub fn calls(&self) -> Calls {
        self.calls.clone()
    }

    /// Runs queries until the server closes its end. Blocks.
    ///
    /// # Errors
    /// Standard input fails, or threads cannot be started.
    pub fn serve(mut self, runner: QueryRunner) -> io::Result<()> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(runner.threads.max(1))
            .thread_stack_size(STACK_BYTES)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_keep_alive(Duration::MAX)
            .enable_all()
            .build()?;
        start_blocking_threads(&runtime);
        let runner = Arc::new(runner);
        let bounds = Bounds::measured();
        while let Some((order, body)) = frames::read_blocking::<Order>(&mut self.orders)? {
            match order {
                Order::Answer { call, error } => {
                    self.calls.answer(call, error.map_or(Ok(body), Err));
                }
                Order::Copied { index } => self.calls.free(index),
                Order::Run(order) => {
                    let (runner, calls) = (Arc::clone(&runner), self.calls.clone());
                    runtime.spawn(async move { runner.run(*order, body, calls, bounds).await });
                }
            }
        }
        // A query that is still running ends with the process.
        runtime.shutdown_background();
        Ok(())
    }
}

/// Starts all threads for work that blocks: their stacks must not count as memory of a query.
fn start_blocking_threads(runtime: &Runtime) {
    let all_run = Arc::new(Barrier::new(BLOCKING_THREADS + 1));
    for _ in 0..BLOCKING_THREADS {
        let all_run = Arc::clone(&all_run);
        runtime.spawn_blocking(move || all_run.wait());
    }
    all_run.wait();
}

/// The memory of this process before its first query.
#[derive(Clone, Copy)]
struct Bounds {
    /// Bytes; `None` if the operating system does not report them.
    own_bytes: Option<usize>,
}

impl Bounds {
    fn measured() -> Self {
        Self {
            own_bytes: data_bytes(),
        }
    }

    /// Bounds the memory and the processor time of this process for one query. Memory kept from earlier queries is not
    /// counted.
    fn set(self, limits: QueryLimits, threads: usize) {
        let time = limits.time_max.saturating_mul(threads as u32) + PROCESSOR_GRACE;
        let before = self.own_bytes.zip(data_bytes());
        let memory = before.map(|(own, now)| own.max(now) + limits.process_bytes());
        if let Err(error) = limit(memory, time) {
            tracing::warn!(%error, "the memory of a query process cannot be bounded");
        }
    }

    /// Returns whether this process has kept too much memory to run another query within its limits.
    fn is_spent(self) -> bool {
        let kept = self.own_bytes.zip(data_bytes());
        kept.is_some_and(|(own, now)| now > own + KEPT_BYTES_MAX)
    }
}

/// Returns the bytes of this process that count towards its limit of memory.
fn data_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmData:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

fn limit(memory: Option<usize>, time: Duration) -> nix::Result<()> {
    use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
    let set = |resource, soft: u64| {
        let (_, hard) = getrlimit(resource)?;
        setrlimit(resource, soft.min(hard), hard)
    };
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let used = (usage.user_time().tv_sec() + usage.system_time().tv_sec()).unsigned_abs();
    set(Resource::RLIMIT_CPU, used + time.as_secs() + 1)?;
    match memory {
        Some(bytes) => set(Resource::RLIMIT_DATA, bytes as u64),
        None => Ok(()),
    }
}

impl QueryRunner {
    async fn run(&self, order: QueryOrder, body: Bytes, calls: Calls, bounds: Bounds) {
        bounds.set(order.limits, self.threads);
        let mut answer = AnswerWriter {
            calls: calls.clone(),
            is_open: false,
            is_distributed: None,
        };
        // The engine panics on some values, for example if a column becomes longer than its format allows.
        let outcome = AssertUnwindSafe(self.answer(order, body, &mut answer));
        let (error, has_panicked) = match outcome.catch_unwind().await {
            Ok(outcome) => (outcome.err(), false),
            Err(_panic) => (Some(SqlError::crashed()), true),
        };
        let ended = Report::Ended {
            error: error.map(WireError::from),
            is_spent: has_panicked || bounds.is_spent(),
        };
        // If the server is gone, this process ends too.
        let _ = calls.send(&ended, &[]);
    }

    async fn answer(
        &self,
        order: QueryOrder,
        body: Bytes,
        answer: &mut AnswerWriter,
    ) -> Result<(), SqlError> {
        let mut body = Parts::of(&order.parts, body);
        let parameters = match order.parameters {
            Some(style) => Some(to_parameters(style, body.next()?).map_err(SqlError::internal)?),
            None => None,
        };
        let at = self.tables_at(&order, &mut body)?;
        let session = self.tables.session(at, order.limits, self.threads)?;
        match order.task {
            Task::Rows(output) => {
                let (rows, is_distributed) = self.rows(&session, &order, parameters).await?;
                answer.is_distributed = is_distributed;
                let sent = answer.rows(rows, output).await;
                sent.map_err(|stopped| stopped.explained(&order.sql))
            }
            Task::Shape => answer.shape(&session, &order.sql).await,
        }
    }

    /// Opens the tables of an order.
    fn tables_at(&self, order: &QueryOrder, body: &mut Parts<'_>) -> Result<TablesAt, SqlError> {
        let engine = &self.tables.engine;
        let schemas: HashMap<&str, _> = engine
            .schemas()
            .map(|schema| (schema.name, schema))
            .collect();
        let mut at = TablesAt::default();
        for table in &order.tables {
            let unknown = || SqlError::internal(format!("there is no table {}", table.name));
            let schema = schemas.get(table.name.as_str()).ok_or_else(unknown)?;
            let view = engine.view_at(schema, table.sequence)?;
            let Some(changes) = &table.changes else {
                at.views.push(view);
                continue;
            };
            let hidden = changes.hidden.iter().map(|rows| {
                let bits = |rows: &usize| body.next().map(|bytes| to_bits(&bytes, *rows));
                rows.as_ref().map(bits).transpose()
            });
            let hidden = hidden.collect::<Result<_, _>>()?;
            let (_, rows) = from_stream(body.next()?).map_err(SqlError::internal)?;
            at.changed.push(MergeOnReadTable {
                view,
                hidden,
                through: changes.through,
                rows,
            });
        }
        Ok(at)
    }

    /// Starts a query, on other machines if there are any and the query is large enough. Returns its rows, and whether
    /// other machines answered it.
    async fn rows(
        &self,
        session: &Session,
        order: &QueryOrder,
        parameters: Option<ParamValues>,
    ) -> Result<(SendableRecordBatchStream, Option<bool>), SqlError> {
        let frame = plan(session, &order.sql, parameters).await?;
        let mut is_distributed = None;
        if let Some(workers) = &self.workers {
            let query = PlannedQuery {
                session,
                frame: &frame,
                state: &order.state,
                limits: order.limits,
            };
            match workers.run(query).await? {
                Distributed::Answered(rows) => return Ok((rows, Some(true))),
                Distributed::Impossible => is_distributed = Some(false),
                Distributed::TooSmall => {}
            }
        }
        let rows = frame.execute_stream().await;
        let rows = rows.map_err(|error| explain_failure(error, &order.sql))?;
        Ok((rows, is_distributed))
    }
}

/// The parts of a body.
struct Parts<'o> {
    lengths: std::slice::Iter<'o, usize>,
    rest: Bytes,
}

impl<'o> Parts<'o> {
    fn of(lengths: &'o [usize], body: Bytes) -> Self {
        Self {
            lengths: lengths.iter(),
            rest: body,
        }
    }

    fn next(&mut self) -> Result<Bytes, SqlError> {
        let length = self.lengths.next().copied();
        let length = length.filter(|length| *length <= self.rest.len());
        let length =
            length.ok_or_else(|| SqlError::internal("a query came without all its parts"))?;
        Ok(self.rest.split_to(length))
    }
}

/// Writes an answer to the server.
struct AnswerWriter {
    calls: Calls,
    /// Whether the server knows that the query runs.
    is_open: bool,
    /// Whether other machines answered a query that was large enough for them.
    is_distributed: Option<bool>,
}

impl AnswerWriter {
    /// Sends rows as they come.
    async fn rows(
        &mut self,
        mut rows: SendableRecordBatchStream,
        output: Output,
    ) -> Result<(), Stopped> {
        let schema = rows.schema();
        let (format, compresses) = match output {
            Output::Batches => (RowFormat::Arrow, false),
            Output::Encoded(format, compresses) => (format, compresses),
        };
        let mut encoder = Encoder::new(format, &schema, compresses)?;
        let mut encoded = 0;
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            // Reports the query as opened only now, so that a query that fails on its first rows returns an error and
            // not a broken result.
            self.open(&schema)?;
            for part in parts(&batch) {
                encoded += part.num_rows() as u64;
                if let Some(bytes) = encoder.write(&part)? {
                    self.send(std::mem::take(&mut encoded), &bytes)?;
                }
            }
        }
        self.open(&schema)?;
        let last = encoder.finish()?;
        self.send(encoded, &last)
    }

    fn open(&mut self, schema: &SchemaRef) -> Result<(), Stopped> {
        if std::mem::replace(&mut self.is_open, true) {
            return Ok(());
        }
        let columns = to_columns(schema)?;
        let opened = Report::Opened {
            is_distributed: self.is_distributed,
        };
        Ok(self.calls.send(&opened, &columns)?)
    }

    fn send(&self, mut rows: u64, bytes: &[u8]) -> Result<(), Stopped> {
        for piece in bytes.chunks(PIECE_BYTES) {
            let rows = std::mem::take(&mut rows);
            self.calls.send_piece(rows, piece)?;
        }
        Ok(())
    }

    /// Plans a query and sends its shape.
    async fn shape(&mut self, session: &Session, sql: &str) -> Result<(), SqlError> {
        let frame = plan(session, sql, None).await?;
        let explained = |error| explain_failure(error, sql);
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
        let mut placeholders: Vec<_> = types.into_iter().collect();
        // Sorts `$2` before `$10`.
        placeholders.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
        let mut fields: Vec<_> = schema.fields().to_vec();
        let (mut parameters, mut types) = (Vec::new(), Vec::new());
        for (name, data_type) in placeholders {
            types.push(data_type.as_ref().map(|_| fields.len()));
            fields.extend(data_type.map(|data_type| Arc::new(Field::new(&name, data_type, true))));
            parameters.push(name);
        }
        let columns = Schema::new_with_metadata(fields, schema.metadata().clone());
        let columns = to_columns(&columns).map_err(explained)?;
        let report = Report::Shape {
            columns: schema.fields().len(),
            parameters,
            types,
        };
        self.calls
            .send(&report, &columns)
            .map_err(SqlError::internal)
    }
}

/// Writes the columns of a result as an Arrow stream without rows.
fn to_columns(schema: &Schema) -> Result<Vec<u8>, DataFusionError> {
    let columns = to_stream(schema, &[])?;
    // A reader refuses columns that are nested deeply.
    if columns.len() > COLUMNS_BYTES_MAX || from_stream(Bytes::from(columns.clone())).is_err() {
        return exec_err!("the result has too many columns, or they are nested too deeply");
    }
    Ok(columns)
}

/// The reason why a query stopped before its last row.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum Stopped {
    /// The engine failed.
    Engine(#[from] DataFusionError),
    /// A value has no form in the format.
    Unencodable(#[from] EncodeError),
    /// The server is gone.
    Server(#[from] io::Error),
}

impl Stopped {
    fn explained(self, sql: &str) -> SqlError {
        match self {
            Stopped::Engine(error) => explain_failure(error, sql),
            Stopped::Unencodable(error) => SqlError::invalid(error.to_string()),
            Stopped::Server(error) => SqlError::internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Fields};

    use super::*;

    #[test]
    fn columns_that_are_too_large_or_nested_too_deeply_are_refused() {
        let nested = |width: usize, depth: usize| {
            (0..depth).fold(DataType::Int64, |inner, _| {
                let field = |at| Field::new(format!("c{at}"), inner.clone(), true);
                DataType::Struct((0..width).map(field).collect::<Fields>())
            })
        };
        for (width, depth, is_refused) in [(2, 4, false), (2, 16, true), (1, 200, true)] {
            let schema = Schema::new(vec![Field::new("s", nested(width, depth), true)]);
            assert_eq!(to_columns(&schema).is_err(), is_refused, "{width} {depth}");
        }
    }
}
