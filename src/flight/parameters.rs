//! The parameters of a prepared statement, as clients send them: one row, in Arrow messages.
//!
//! The decoder of the Arrow library trusts these messages. A compressed buffer announces its length, which is allocated
//! before a byte is decompressed. A header of a few kilobytes can refer to one text a million times. Mismatched types
//! make the decoder panic. Therefore every message is checked before it is decoded: clients send parameters
//! uncompressed, and parameters are few and short.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::ipc::{MessageHeader, root_as_message_with_opts};
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use datafusion::common::ParamValues;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::scalar::ScalarValue;
use flatbuffers::VerifierOptions;
use futures::{FutureExt, Stream, StreamExt, stream};
use tonic::Status;

use toise_sql::parameters::{self, PARAMETERS_BYTES_MAX, PARAMETERS_MAX};

/// Maximum messages: the columns, some batches without rows, and the row.
const MESSAGES_MAX: usize = 16;
/// Maximum bytes of all messages: the values, with what Arrow needs around each.
const MESSAGES_BYTES_MAX: usize = PARAMETERS_BYTES_MAX + 512 * PARAMETERS_MAX;
/// Limits of a header: some parts for each parameter, and their names.
const HEADER: VerifierOptions = VerifierOptions {
    max_depth: 16,
    max_tables: 8 * PARAMETERS_MAX,
    max_apparent_size: 4 * MESSAGES_BYTES_MAX,
    ignore_missing_null_terminator: true,
};

/// Reads the parameters from the only row.
///
/// # Errors
/// There is no row or more than one; or the row is compressed, has dictionaries, is too long, or has types that
/// parameters cannot have.
pub async fn read(
    data: impl Stream<Item = Result<FlightData, Status>> + Send,
) -> Result<ParamValues, Status> {
    let mut data = std::pin::pin!(data);
    let (mut messages, mut bytes) = (Vec::new(), 0);
    while let Some(message) = data.next().await {
        let message = message?;
        // Empty messages also count, so that they cannot go on forever.
        bytes += message.data_header.len() + message.data_body.len() + 1;
        if bytes > MESSAGES_BYTES_MAX {
            let bound = format!("parameters have at most {PARAMETERS_BYTES_MAX} bytes together");
            return Err(Status::invalid_argument(bound));
        }
        if messages.len() == MESSAGES_MAX {
            return Err(one_row());
        }
        if is_content(&message)? {
            messages.push(message);
        }
    }
    // The decoder panics on input that it does not expect.
    let decoded = catch_unwind(AssertUnwindSafe(|| decoded(messages)));
    decoded.unwrap_or_else(|_| Err(Status::invalid_argument("the parameters cannot be read")))
}

fn one_row() -> Status {
    Status::invalid_argument("bind one row of parameters: a query runs once")
}

/// Returns whether a message has columns or rows.
///
/// # Errors
/// Parameters may not be sent in such a message.
fn is_content(message: &FlightData) -> Result<bool, Status> {
    if message.data_header.is_empty() {
        return Ok(false);
    }
    let header = root_as_message_with_opts(&HEADER, &message.data_header)
        .map_err(|_| Status::invalid_argument("a message of the parameters cannot be read"))?;
    match header.header_type() {
        MessageHeader::NONE => Ok(false),
        MessageHeader::Schema => Ok(true),
        MessageHeader::RecordBatch => {
            let batch = header.header_as_record_batch();
            if batch.is_some_and(|batch| batch.compression().is_some()) {
                let refused = "send parameters without compression";
                return Err(Status::invalid_argument(refused));
            }
            if batch.is_some_and(|batch| batch.length() > 1) {
                Err(one_row())
            } else {
                Ok(true)
            }
        }
        MessageHeader::DictionaryBatch => Err(Status::invalid_argument(
            "send parameters as values, not as dictionaries",
        )),
        _ => Err(Status::invalid_argument(
            "the parameters have a message that is neither columns nor rows",
        )),
    }
}

/// Decodes the row of messages that were checked.
fn decoded(messages: Vec<FlightData>) -> Result<ParamValues, Status> {
    let messages = stream::iter(messages.into_iter().map(Ok));
    let mut batches = FlightRecordBatchStream::new_from_flight_data(messages);
    let mut row: Option<RecordBatch> = None;
    // All messages are in memory, so the stream never waits.
    while let Some(batch) = batches.next().now_or_never().flatten() {
        let batch = batch.map_err(|error: FlightError| {
            Status::invalid_argument(format!("the parameters cannot be read: {error}"))
        })?;
        match batch.num_rows() {
            0 => {}
            1 if row.is_none() => row = Some(batch),
            _ => return Err(one_row()),
        }
    }
    values(&row.ok_or_else(one_row)?)
}

/// Returns the values of a row, in order.
fn values(row: &RecordBatch) -> Result<ParamValues, Status> {
    if row.num_columns() > PARAMETERS_MAX {
        let message = format!("at most {PARAMETERS_MAX} parameters");
        return Err(Status::invalid_argument(message));
    }
    let scalars = row.columns().iter().map(|column| {
        let data_type = column.data_type();
        if !is_parameter(data_type) {
            let refused = format!("a parameter cannot be of the type {data_type}");
            return Err(Status::invalid_argument(refused));
        }
        let scalar = ScalarValue::try_from_array(column, 0);
        scalar
            .map(ScalarAndMetadata::from)
            .map_err(|error| Status::invalid_argument(error.to_string()))
    });
    let values = ParamValues::List(scalars.collect::<Result<_, _>>()?);
    let checked = parameters::checked(values);
    checked.map_err(|error| Status::invalid_argument(error.to_string()))
}

/// Returns whether a parameter may have a type: a plain value, or a list of plain values.
fn is_parameter(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => true,
        DataType::List(item) | DataType::LargeList(item) => is_plain(item.data_type()),
        plain => is_plain(plain),
    }
}

fn is_plain(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, Boolean, LargeBinary, LargeUtf8, Utf8, Utf8View};
    data_type.is_primitive()
        || matches!(
            data_type,
            Boolean | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView
        )
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
