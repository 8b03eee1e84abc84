//! The messages between the server and a process that runs queries.

use serde::{Deserialize, Serialize};

use super::shared::Place;
use crate::SqlError;
use crate::error::Position;
use crate::limits::{Limit, QueryLimits};
use crate::request::Output;

/// A message from the server to the process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Run a query. The body is the parts that the order counts, one after another.
    Run(Box<QueryOrder>),
    /// The answer to a call: an Arrow stream, or the error.
    Answer {
        /// Number of the call.
        call: u32,
        /// The error, if the call failed.
        error: Option<String>,
    },
    /// The server has copied the piece of a result in this slot of the shared memory.
    Copied {
        /// Index of the slot.
        index: u32,
    },
}

/// A query.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct QueryOrder {
    /// Its text.
    pub sql: String,
    /// How its parameters are given; their values are the first part of the body.
    pub parameters: Option<ParameterStyle>,
    /// Limits of memory, disk space and time.
    pub limits: QueryLimits,
    /// The request of the server.
    pub task: Task,
    /// The tables as of the start of the query.
    pub tables: Vec<TableOrder>,
    /// The state that the functions of the product depend on, for other machines.
    pub state: String,
    /// Bytes of each part of the body.
    pub parts: Vec<usize>,
}

/// The task of a process for a query.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Its rows.
    Rows(Output),
    /// Its columns and placeholders.
    Shape,
}

/// How parameters are given: by position or by name.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum ParameterStyle {
    /// `$1` or `?`.
    Numbered,
    /// `$name`.
    Named,
}

/// A table as of the start of a query.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableOrder {
    /// Its name.
    pub name: String,
    /// Sequence of its snapshot.
    pub sequence: u64,
    /// Changes that are not in its files.
    pub changes: Option<ChangesOrder>,
}

/// Changes of a table that are not in its files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChangesOrder {
    /// Number of the last change of the store that they include.
    pub through: i64,
    /// For each data file with hidden rows, its number of rows: a part of the body has one bit for each. `None` for
    /// other files.
    pub hidden: Vec<Option<usize>>,
}

/// A message from the process to the server.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The query runs. The body is an Arrow stream with the columns of the result and no rows.
    Opened {
        /// Whether other machines answered a query that was large enough for them; `None` for one that was not.
        is_distributed: Option<bool>,
    },
    /// The next bytes of the result. They are in the body, or in shared memory.
    Rows {
        /// Rows that end in these bytes.
        rows: u64,
        /// Where they are in the shared memory.
        place: Option<Place>,
    },
    /// The shape of a query. The body is an Arrow stream with its columns, then a column for each placeholder whose
    /// type is known.
    Shape {
        /// Number of its columns.
        columns: usize,
        /// Names of its placeholders.
        parameters: Vec<String>,
        /// Column of the stream that has the type of each placeholder; `None` if the type is unknown.
        types: Vec<Option<usize>>,
    },
    /// The process asks the server to compute something; it waits for [`Order::Answer`].
    Call {
        /// Number of the call.
        call: u32,
        /// The function to compute. The body is an Arrow stream with the arguments.
        what: ServerCall,
    },
    /// The query has ended.
    Ended {
        /// The error, if it failed.
        error: Option<WireError>,
        /// Whether the process should not run another query.
        is_spent: bool,
    },
}

/// A computation that a process asks the server for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ServerCall {
    /// A function of the product.
    Function(String),
    /// Rows of a derived table: its name, and which rows.
    Table(String, String),
    /// The state that the functions depend on now.
    State,
}

/// A [`SqlError`] on the wire.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WireError {
    /// [`SqlError::Invalid`].
    Invalid(String, Option<Position>),
    /// [`SqlError::ReadOnly`].
    ReadOnly(String),
    /// [`SqlError::Limit`].
    Limit(Limit),
    /// [`SqlError::Overloaded`].
    Overloaded,
    /// Any other error.
    Internal(String),
}

impl From<SqlError> for WireError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::Invalid { message, position } => WireError::Invalid(message, position),
            SqlError::ReadOnly(message) => WireError::ReadOnly(message),
            SqlError::Limit(limit) => WireError::Limit(limit),
            SqlError::Overloaded => WireError::Overloaded,
            SqlError::Internal(source) => WireError::Internal(chain(source.as_ref())),
            // Only the server produces these.
            error @ (SqlError::TooManyAtOnce | SqlError::Cancelled) => {
                WireError::Internal(error.to_string())
            }
        }
    }
}

/// Writes an error and its sources in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let sources = std::iter::successors(Some(error), |error| error.source());
    let lines: Vec<String> = sources.map(ToString::to_string).collect();
    lines.join(": ")
}

impl From<WireError> for SqlError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Invalid(message, position) => SqlError::Invalid { message, position },
            WireError::ReadOnly(message) => SqlError::ReadOnly(message),
            WireError::Limit(limit) => SqlError::Limit(limit),
            WireError::Overloaded => SqlError::Overloaded,
            WireError::Internal(message) => SqlError::internal(message),
        }
    }
}
