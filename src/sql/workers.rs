//! The interface to other machines that run queries for the service. The application crate decides what they are and
//! how they are reached.

use async_trait::async_trait;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::DataFrame;

use crate::SqlError;
use crate::limits::QueryLimits;
use toise_engine::session::Session;

/// A planned query that may be run elsewhere.
#[derive(Clone, Copy)]
pub struct PlannedQuery<'q> {
    /// The session that it was planned in, with the versions of its tables.
    pub session: &'q Session,
    /// The plan.
    pub frame: &'q DataFrame,
    /// The state that the functions of the product depended on before the session was opened.
    pub state: &'q str,
    /// The limits of the query.
    pub limits: QueryLimits,
}

/// The outcome of sending a query to other machines.
pub enum Distributed {
    /// They answered it. These are its rows, which have arrived or are safe from the failure of a machine.
    Answered(SendableRecordBatchStream),
    /// It was large enough for them, but this machine has to run it.
    Impossible,
    /// It is too small for them.
    TooSmall,
}

/// Other machines that run queries.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Runs a query on other machines.
    ///
    /// # Errors
    /// The answer reaches a limit.
    async fn run(&self, query: PlannedQuery<'_>) -> Result<Distributed, SqlError>;
}
