//! The errors of queries.

use toise_lake as lake;

/// Errors of queries. Except in SQL, none is caused by the query itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A data file could not be read.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// An expression could not be compiled or evaluated.
    #[error("query engine: {0}")]
    DataFusion(#[from] datafusion::error::DataFusionError),
    /// Files of a table are damaged or missing. Other tables are not affected.
    #[error("the table {table} cannot be read: {reason}")]
    Damaged {
        /// Name of the table.
        table: &'static str,
        /// The reason, with the file and what to do.
        reason: String,
    },
    /// The engine was not opened with the requested table.
    #[error("no table named {0}")]
    UnknownTable(String),
    /// A query requests a previous version of a table in a malformed way.
    #[error("{0}")]
    Version(String),
    /// Rows have changed since the previous page, so that a row may have moved past the place where the next one starts.
    #[error("rows have changed since the previous page")]
    RowsChanged,
    /// The query was cancelled because its caller is gone.
    #[error("interrupted")]
    Interrupted,
}
