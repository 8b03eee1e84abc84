//! The interface to other machines that run queries for the service. The composition decides what they are and how they
//! are reached.

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
    /// The result of [`Workers::state`] before the session was opened.
    pub state: &'q str,
    /// The limits of the query.
    pub limits: QueryLimits,
}

/// Other machines that run queries.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Returns the state that the functions of the product depend on now. If it is equal before and after a session is
    /// opened, the session has the functions of that state.
    fn state(&self) -> String;

    /// Runs a query on other machines; `None` if this machine should run it. The rows have arrived, or can no longer be
    /// lost by the failure of a machine.
    ///
    /// # Errors
    /// The answer reaches a limit.
    async fn run(
        &self,
        query: PlannedQuery<'_>,
    ) -> Result<Option<SendableRecordBatchStream>, SqlError>;
}
