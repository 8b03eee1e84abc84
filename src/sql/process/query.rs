//! The server's side of one query that runs in a separate process.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use bytes::Bytes;
use datafusion::common::ParamValues;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::ScalarUDF;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::calls::computed;
use super::ipc::{from_bits, from_parameters, from_stream, to_stream};
pub(crate) use super::messages::Task;
use super::messages::{ChangesOrder, Order, QueryOrder, Report, ServerCall, TableOrder};
use super::pool::{Orders, Pool, QueryProcess};
use crate::SqlError;
use crate::explain::is_internal;
use crate::limits::QueryLimits;
use crate::request::Output;
use crate::running::{Piece, QueryShape};
use crate::tables::TablesAt;
use toise_engine::cancellation::{Interrupt, RaiseOnDrop};

/// Maximum bytes of an Arrow message. The server holds the whole message before it passes its rows on.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// A function that computes rows of a derived table: its name, and which rows. Blocks.
pub type DerivedRows =
    Arc<dyn Fn(&str, &str, &Interrupt) -> Result<RecordBatch, DataFusionError> + Send + Sync>;

/// The functions and tables that the server computes for the processes that run queries.
#[derive(Clone)]
pub(crate) struct CallHandler {
    /// The functions of the product, as of the start of the query.
    pub functions: Arc<HashMap<String, ScalarUDF>>,
    /// Rows of derived tables.
    pub derived: DerivedRows,
    /// The state that the functions depend on.
    pub state: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The slot and the memory of a query. They are released when its last call has been computed, which may be after the
/// query was stopped: otherwise a key could start more work than its share by stopping its queries.
pub(crate) type Permits = Arc<dyn Send + Sync>;

/// A query for a process.
pub(crate) struct QueryText<'q> {
    pub sql: &'q str,
    pub parameters: Option<&'q ParamValues>,
    pub limits: QueryLimits,
    pub task: Task,
}

/// A query that runs in a process.
pub(crate) struct RemoteQuery {
    process: QueryProcess,
    orders: Orders,
    handler: CallHandler,
    permits: Permits,
    /// Calls that are being computed; they are cancelled with the query.
    computing: JoinSet<()>,
    /// A failure of the service in a call, which the process reports only in words.
    failure: Arc<Mutex<Option<SqlError>>>,
    interrupt: Interrupt,
    _cancelled_with_query: RaiseOnDrop,
    batches: Option<StreamDecoder>,
    /// Bytes of the message that the decoder does not have completely yet.
    incomplete_bytes: usize,
}

/// A message from a process that runs a query.
pub(crate) enum ProcessMessage {
    /// The query runs: its columns, and whether other machines answered it, if it was large enough for them.
    Opened(SchemaRef, Option<bool>),
    /// A part of the result, with the number of rows that end in it.
    Rows(Vec<Piece>, u64),
    /// The shape of the query.
    Shape(QueryShape),
    /// The query has ended.
    Ended,
}

impl RemoteQuery {
    /// Sends a query to a process.
    ///
    /// # Errors
    /// The process is gone, or a value cannot be sent.
    pub async fn start(
        process: QueryProcess,
        text: QueryText<'_>,
        at: &TablesAt,
        state: String,
        handler: CallHandler,
        permits: Permits,
    ) -> Result<Self, SqlError> {
        let (order, body) = order(&text, at, state)?;
        let orders = process.orders();
        let sent = orders.send(&Order::Run(Box::new(order)), &body).await;
        let sends_batches = matches!(text.task, Task::Rows(Output::Batches));
        if sent.is_err() {
            return Err(process.ended().await);
        }
        let interrupt = Interrupt::default();
        Ok(Self {
            process,
            orders,
            handler,
            permits,
            computing: JoinSet::new(),
            failure: Arc::default(),
            _cancelled_with_query: interrupt.raise_on_drop(),
            interrupt,
            batches: sends_batches.then(StreamDecoder::new),
            incomplete_bytes: 0,
        })
    }

    /// Answers calls until another message arrives. Returns that message, and the query if it has not ended.
    ///
    /// # Errors
    /// The query failed; its process was returned to the pool or has ended.
    pub async fn next(mut self, pool: &Pool) -> Result<(ProcessMessage, Option<Self>), SqlError> {
        loop {
            let Ok(Some((report, body))) = self.process.report().await else {
                return Err(self.process.ended().await);
            };
            let arrived = match report {
                Report::Call { call, what } => {
                    self.compute(call, what, body);
                    continue;
                }
                Report::Opened { is_distributed } => {
                    let (schema, _) = from_stream(body).map_err(SqlError::internal)?;
                    ProcessMessage::Opened(schema, is_distributed)
                }
                Report::Rows { rows, place } => {
                    let bytes = match place {
                        None => body,
                        Some(place) => match self.process.copied(place).await {
                            Ok(piece) => piece,
                            Err(_) => return Err(self.process.ended().await),
                        },
                    };
                    ProcessMessage::Rows(self.pieces(bytes)?, rows)
                }
                Report::Shape {
                    columns,
                    parameters,
                    types,
                } => {
                    let shape = shape(body, columns, parameters, &types);
                    ProcessMessage::Shape(shape.map_err(SqlError::internal)?)
                }
                Report::Ended { error, is_spent } => {
                    self.forget_answered();
                    // A process with unanswered calls is not reused: a thread of it waits for each of them, and gets no
                    // answer after this query.
                    if !is_spent && self.computing.is_empty() {
                        pool.give_back(self.process);
                    }
                    let failure = self.failure.lock().take();
                    return match error {
                        Some(error) => Err(failure.unwrap_or_else(|| error.into())),
                        None => Ok((ProcessMessage::Ended, None)),
                    };
                }
            };
            return Ok((arrived, Some(self)));
        }
    }

    /// Returns the batches that bytes of an Arrow stream complete; the bytes themselves for another format.
    ///
    /// # Errors
    /// A message is too long, because of a long row, or the bytes are not of an Arrow stream.
    fn pieces(&mut self, body: Bytes) -> Result<Vec<Piece>, SqlError> {
        let Some(decoder) = &mut self.batches else {
            return Ok(vec![Piece::Bytes(body)]);
        };
        let mut bytes = Buffer::from(body);
        self.incomplete_bytes += bytes.len();
        let mut pieces = Vec::new();
        while let Some(batch) = decoder.decode(&mut bytes).map_err(SqlError::internal)? {
            self.incomplete_bytes = bytes.len();
            pieces.push(Piece::Batch(batch));
        }
        if self.incomplete_bytes > MESSAGE_BYTES_MAX {
            return Err(SqlError::invalid("a row of the result is too long"));
        }
        Ok(pieces)
    }

    /// Forgets the calls that were answered.
    fn forget_answered(&mut self) {
        while self.computing.try_join_next().is_some() {}
    }

    /// Computes a call in the background and sends the answer.
    fn compute(&mut self, call: u32, what: ServerCall, body: Bytes) {
        self.forget_answered();
        let (handler, interrupt) = (self.handler.clone(), self.interrupt.clone());
        let (orders, permits) = (self.orders.clone(), Arc::clone(&self.permits));
        let failure = Arc::clone(&self.failure);
        self.computing.spawn(async move {
            let computing = tokio::task::spawn_blocking(move || {
                let computed = handler.compute(&what, body, &interrupt);
                drop(permits);
                computed
            });
            let (error, body) = match computing.await {
                Ok(Ok(body)) => (None, body),
                Ok(Err(error)) => {
                    let message = error.strip_backtrace();
                    if is_internal(error.find_root()) {
                        *failure.lock() = Some(SqlError::internal(error));
                    }
                    (Some(message), Vec::new())
                }
                Err(_panic) => (Some("a function failed on a value".to_owned()), Vec::new()),
            };
            // A process that has ended does not need an answer.
            let _ = orders.send(&Order::Answer { call, error }, &body).await;
        });
    }
}

impl CallHandler {
    fn compute(
        &self,
        what: &ServerCall,
        body: Bytes,
        interrupt: &Interrupt,
    ) -> Result<Vec<u8>, DataFusionError> {
        match what {
            ServerCall::Function(name) => match self.functions.get(name) {
                Some(function) => computed(function, body),
                None => datafusion::common::exec_err!("there is no function {name} here"),
            },
            ServerCall::Table(name, wanted) => {
                let rows = (self.derived)(name, wanted, interrupt)?;
                Ok(to_stream(&rows.schema(), &[rows])?)
            }
            ServerCall::State => Ok((self.state)().into_bytes()),
        }
    }
}

/// Returns the message that starts a query, and its body.
fn order(
    text: &QueryText<'_>,
    at: &TablesAt,
    state: String,
) -> Result<(QueryOrder, Vec<u8>), SqlError> {
    let (mut body, mut parts) = (Vec::new(), Vec::new());
    let mut add = |part: &[u8]| {
        body.extend_from_slice(part);
        parts.push(part.len());
    };
    let parameters = match text.parameters {
        Some(values) => {
            let (style, row) = from_parameters(values).map_err(SqlError::internal)?;
            add(&row);
            Some(style)
        }
        None => None,
    };
    let mut tables = Vec::new();
    for view in &at.views {
        tables.push(TableOrder {
            name: view.schema().name.to_owned(),
            sequence: view.snapshot().sequence,
            changes: None,
        });
    }
    for table in &at.changed {
        let hidden = table.hidden.iter().map(|bits| {
            let bits = bits.as_ref()?;
            add(&from_bits(bits));
            Some(bits.len())
        });
        let hidden = hidden.collect();
        let schema = table.view.schema().arrow();
        add(&to_stream(schema, &table.rows).map_err(SqlError::internal)?);
        tables.push(TableOrder {
            name: table.view.schema().name.to_owned(),
            sequence: table.view.snapshot().sequence,
            changes: Some(ChangesOrder {
                through: table.through,
                hidden,
            }),
        });
    }
    let order = QueryOrder {
        sql: text.sql.to_owned(),
        parameters,
        limits: text.limits,
        task: text.task,
        tables,
        state,
        parts,
    };
    Ok((order, body))
}

/// Reads the shape of a query.
fn shape(
    body: Bytes,
    columns: usize,
    parameters: Vec<String>,
    types: &[Option<usize>],
) -> Result<QueryShape, ArrowError> {
    let (schema, _) = from_stream(body)?;
    let fields = schema.fields();
    let type_of = |column: &Option<usize>| -> Option<DataType> {
        Some(fields.get((*column)?)?.data_type().clone())
    };
    let types = types.iter().map(type_of);
    let answered: Vec<_> = fields.iter().take(columns).cloned().collect();
    Ok(QueryShape {
        schema: Arc::new(Schema::new_with_metadata(
            answered,
            schema.metadata().clone(),
        )),
        parameters: parameters.into_iter().zip(types).collect(),
    })
}
