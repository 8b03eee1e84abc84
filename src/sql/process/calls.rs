//! Calls from a process that runs queries to its server. The server evaluates functions that need a model or the index
//! of addresses, and computes tables that depend on its caches. A call carries one batch of arguments and waits for the
//! answer.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use bytes::Bytes;
use datafusion::common::{exec_datafusion_err, exec_err};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;
use parking_lot::Mutex;

use super::frames;
use super::ipc::{from_stream, to_stream};
use super::messages::{Report, ServerCall};
use super::shared::SharedWriter;
use crate::batch_bytes::parts;

/// The answer to a call: an Arrow stream, or the error.
pub(super) type Answer = Result<Bytes, String>;

/// Calls of a process to its server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Calls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    out: Mutex<File>,
    waiting: Mutex<HashMap<u32, SyncSender<Answer>>>,
    next: AtomicU32,
    /// Shared memory for pieces of results, if the system has it.
    shared: Option<SharedWriter>,
}

impl Calls {
    /// Sends calls over standard output; long pieces of results go through shared memory, if there is any.
    ///
    /// # Errors
    /// Standard output is closed.
    pub(super) fn new(shared: Option<SharedWriter>) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            out: Mutex::new(unbuffered_stdout()?),
            waiting: Mutex::default(),
            next: AtomicU32::default(),
            shared,
        })))
    }

    /// Sends a piece of a result, in which `rows` rows end. Blocks until it is written.
    pub(super) fn send_piece(&self, rows: u64, piece: &[u8]) -> std::io::Result<()> {
        let shared = self.0.shared.as_ref();
        let place = shared
            .filter(|_| SharedWriter::takes(piece))
            .map(|shared| shared.write(piece));
        match place {
            Some(Ok(place)) => {
                let place = Some(place);
                self.send(&Report::Rows { rows, place }, &[])
            }
            // The memory file system is full, or the piece is short.
            _ => self.send(&Report::Rows { rows, place: None }, piece),
        }
    }

    /// Marks a slot of the shared memory as free: the server has copied the piece in it.
    pub(super) fn free(&self, index: u32) {
        if let Some(shared) = &self.0.shared {
            shared.free(index);
        }
    }

    /// Sends a message to the server. Blocks until it is written.
    pub(super) fn send(&self, report: &Report, body: &[u8]) -> std::io::Result<()> {
        frames::write_blocking(&mut *self.0.out.lock(), report, body)
    }

    /// Hands an answer to the call that waits for it.
    pub(super) fn answer(&self, call: u32, answer: Answer) {
        if let Some(waiting) = self.0.waiting.lock().remove(&call) {
            // A call that was given up does not need an answer.
            drop(waiting.send(answer));
        }
    }

    /// Calls the server and waits for its answer. Blocks.
    fn call(&self, what: ServerCall, body: &[u8]) -> Answer {
        if body.len() > frames::REPORT_BYTES_MAX {
            return Err("the arguments of a function are too long".to_owned());
        }
        let call = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = sync_channel(1);
        self.0.waiting.lock().insert(call, sender);
        let sent = self.send(&Report::Call { call, what }, body);
        sent.map_err(|error| error.to_string())?;
        answer.recv().map_err(|error| error.to_string())?
    }

    /// Returns a function that the server computes. It has the name and the types of `shape`, which is never called.
    pub fn function(&self, shape: ScalarUDF) -> ScalarUDF {
        ScalarUDF::from(RemoteFunction {
            shape,
            calls: self.clone(),
        })
    }

    /// Returns rows of a derived table that the server computes. Blocks.
    ///
    /// # Errors
    /// The server cannot compute them.
    pub fn rows(&self, table: &str, wanted: &str) -> Result<RecordBatch> {
        let what = ServerCall::Table(table.to_owned(), wanted.to_owned());
        self.call(what, &[])
            .map_err(|error| exec_datafusion_err!("{error}"))
            .and_then(only_batch)
    }

    /// Returns the state that the functions of the server depend on now; empty if it cannot be asked. Blocks.
    pub fn state(&self) -> String {
        let state = self.call(ServerCall::State, &[]).unwrap_or_default();
        String::from_utf8_lossy(&state).into_owned()
    }
}

/// Returns standard output without the standard library's line buffering.
fn unbuffered_stdout() -> std::io::Result<File> {
    Ok(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))
}

fn only_batch(bytes: Bytes) -> Result<RecordBatch> {
    let (schema, batches) = from_stream(bytes)?;
    Ok(arrow::compute::concat_batches(&schema, &batches)?)
}

/// A function that the server computes.
#[derive(Debug)]
struct RemoteFunction {
    shape: ScalarUDF,
    calls: Calls,
}

impl PartialEq for RemoteFunction {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
    }
}

impl Eq for RemoteFunction {}

impl Hash for RemoteFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shape.hash(state);
    }
}

impl ScalarUDFImpl for RemoteFunction {
    fn name(&self) -> &str {
        self.shape.name()
    }

    fn aliases(&self) -> &[String] {
        self.shape.aliases()
    }

    fn signature(&self) -> &Signature {
        self.shape.signature()
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.shape.coerce_types(given)
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        self.shape.return_type(given)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.shape.return_field_from_args(arguments)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = arguments
            .args
            .iter()
            .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if is_constant {
            1
        } else {
            arguments.number_rows
        };
        let columns = arguments.args.into_iter();
        let columns = columns.map(|column| without_views(column.into_array(rows)?));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let fields = columns
            .iter()
            .map(|column| Field::new("", column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        // The server holds the arguments of a call in memory.
        let answers = parts(&batch).map(|part| self.answer(&part));
        let answers = answers.collect::<Result<Vec<_>>>()?;
        let answers: Vec<&dyn Array> = answers.iter().map(AsRef::as_ref).collect();
        let column = concat(&answers)?;
        Ok(if is_constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&column, 0)?)
        } else {
            ColumnarValue::Array(column)
        })
    }
}

impl RemoteFunction {
    /// Returns the values for one part of the arguments. Blocks.
    fn answer(&self, arguments: &RecordBatch) -> Result<ArrayRef> {
        let body = to_stream(&arguments.schema(), std::slice::from_ref(arguments))?;
        let what = ServerCall::Function(self.name().to_owned());
        let answer = self.calls.call(what, &body);
        let answer = answer.map_err(|error| exec_datafusion_err!("{error}"))?;
        let batch = only_batch(answer)?;
        match batch.columns() {
            [column] if column.len() == arguments.num_rows() => Ok(Arc::clone(column)),
            _ => exec_err!("{} returned another number of rows", self.name()),
        }
    }
}

/// Converts views of texts to texts: a part of an array of views is sent with the buffers of the whole array.
fn without_views(column: ArrayRef) -> Result<ArrayRef> {
    Ok(match column.data_type() {
        DataType::Utf8View => cast(&column, &DataType::Utf8)?,
        _ => column,
    })
}

/// Computes a function for a process: `body` is the Arrow stream of its arguments. Blocks.
///
/// # Errors
/// The function fails, or the arguments do not fit it.
pub(super) fn computed(function: &ScalarUDF, body: Bytes) -> Result<Vec<u8>> {
    let arguments = only_batch(body)?;
    let fields = arguments.schema().fields().to_vec();
    let unknown = vec![None; fields.len()];
    let return_field = function.return_field_from_args(ReturnFieldArgs {
        arg_fields: &fields,
        scalar_arguments: &unknown,
    })?;
    let rows = arguments.num_rows();
    let columns = arguments.columns().iter();
    let value = function.invoke_with_args(ScalarFunctionArgs {
        args: columns.cloned().map(ColumnarValue::Array).collect(),
        arg_fields: fields,
        number_rows: rows,
        return_field,
        config_options: Arc::new(ConfigOptions::default()),
    })?;
    let column = value.into_array(rows)?;
    let field = Field::new("", column.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column])?;
    Ok(to_stream(&schema, &[batch])?)
}
