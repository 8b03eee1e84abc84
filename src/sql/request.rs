//! The request of a key to run a query.

use datafusion::common::ParamValues;
use serde::{Deserialize, Serialize};

use crate::audit::Caller;
use crate::encode::RowFormat;
use toise_accounts::sql_limits::SqlLimits;

/// A query of a key.
#[derive(Clone, Debug)]
pub struct SqlRequest {
    /// The text.
    pub sql: String,
    /// Values of its placeholders.
    pub parameters: Option<ParamValues>,
    /// Limits of the key; they cannot raise those of the service.
    pub key_limits: SqlLimits,
    /// Limits of the request; they cannot raise those of the key. `concurrent` has no effect.
    pub limits: SqlLimits,
    /// The form of the parts of the result.
    pub output: Output,
    /// The caller.
    pub caller: Caller,
}

/// The form of the parts of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// Batches of rows.
    Batches,
    /// Bytes of a format, compressed or not.
    Encoded(RowFormat, bool),
}
