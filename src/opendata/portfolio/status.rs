//! The status of a portfolio row: whether it has a result, and otherwise the kind of fault, for filters and counts.

use toise_geo::plausible::PositionFault;

/// Output column with the status of each row.
pub const STATUS: &str = "status";
/// Status of a row that was processed.
pub const STATUS_OK: &str = "ok";
/// Status of a row with a fault other than its position; the column `error` says which.
const STATUS_ERROR: &str = "error";

/// Why a row has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowFault {
    /// The position is not plausible for a home in France.
    #[error("{path}: {fault}")]
    Position {
        /// Path of its fields, for messages.
        path: &'static str,
        /// The fault, for the message.
        fault: PositionFault,
    },
    /// Any other fault, in words.
    #[error("{0}")]
    Other(String),
}

impl RowFault {
    /// Returns the status of the row: `outside_france`, `coordinates_swapped?` or `error`.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Position { fault, .. } => fault.name(),
            Self::Other(_) => STATUS_ERROR,
        }
    }
}
