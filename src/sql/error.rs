//! Errors of queries. `explain` converts DataFusion's errors to them.

use serde::{Deserialize, Serialize};

use crate::limits::Limit;

/// A position in the text of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
}

/// The reason why a query has no result, or an incomplete one.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The query is not valid, or failed on a value.
    #[error("{}", placed(.message, .position))]
    Invalid {
        /// The fault, without its position.
        message: String,
        /// Its position, if known.
        position: Option<Position>,
    },
    /// A statement that is not a query.
    #[error("only queries are allowed: {0}")]
    ReadOnly(String),
    /// A limit was reached.
    #[error("{0}")]
    Limit(Limit),
    /// The key has reached its maximum of running and waiting queries.
    #[error("too many queries at once for this key; retry shortly")]
    TooManyAtOnce,
    /// All memory for queries is in use.
    #[error("too many queries at once; retry shortly")]
    Overloaded,
    /// The caller has gone away.
    #[error("the caller has gone away")]
    Cancelled,
    /// A failure that the query did not cause.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn placed(message: &str, position: &Option<Position>) -> String {
    match position {
        Some(Position { line, column }) => format!("line {line}, column {column}: {message}"),
        None => message.to_owned(),
    }
}

impl SqlError {
    /// Returns the error of an invalid query, without a position.
    pub fn invalid(message: impl Into<String>) -> Self {
        SqlError::Invalid {
            message: message.into(),
            position: None,
        }
    }

    /// Wraps a failure that the query did not cause.
    pub fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        SqlError::Internal(error.into())
    }

    /// Returns the error of a query on which the engine panicked.
    pub(crate) fn crashed() -> Self {
        SqlError::invalid("the query cannot be computed: a value or a column of it is too long")
    }

    /// Returns the position of the fault, if it is known.
    pub fn position(&self) -> Option<Position> {
        match self {
            SqlError::Invalid { position, .. } => *position,
            _ => None,
        }
    }
}

impl From<toise_engine::Error> for SqlError {
    fn from(error: toise_engine::Error) -> Self {
        SqlError::internal(error)
    }
}
