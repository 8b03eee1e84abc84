//! What a key asks for.

use datafusion::common::ParamValues;

use crate::audit::Caller;
use crate::encode::RowFormat;
use crate::limits::RequestedLimits;
use toise_accounts::sql_limits::SqlLimits;

/// A query of a key.
#[derive(Clone, Debug)]
pub struct SqlRequest {
    /// The text.
    pub sql: String,
    /// Values of its placeholders.
    pub parameters: Option<ParamValues>,
    /// Limits of the key, lower than those of the service.
    pub key_limits: SqlLimits,
    /// Limits lower than the key's.
    pub limits: RequestedLimits,
    /// What the parts of the answer are.
    pub output: Output,
    /// Who asks.
    pub caller: Caller,
}

/// What the parts of an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Batches of rows.
    Batches,
    /// Bytes of a format, compressed or not.
    Encoded(RowFormat, bool),
}
