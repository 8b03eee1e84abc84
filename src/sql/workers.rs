//! Other machines that run queries for the service. What they are and how they are reached is for the composition to say.

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
    /// What [`Workers::state`] said before the session was opened.
    pub state: &'q str,
    /// The limits of the query.
    pub limits: QueryLimits,
}

/// Other machines that run queries.
#[async_trait]
pub trait Workers: Send + Sync {
    /// What the functions of the product depend on now. A query whose session was opened between two equal states has the
    /// functions of that state.
    fn state(&self) -> String;

    /// Runs a query elsewhere; `None` if it is for this machine to run. Its rows are there, or can no longer fail with
    /// a machine.
    ///
    /// # Errors
    /// The answer reaches a limit.
    async fn run(
        &self,
        query: PlannedQuery<'_>,
    ) -> Result<Option<SendableRecordBatchStream>, SqlError>;
}
