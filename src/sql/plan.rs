//! Turns the text of a query into its plan: one statement that only reads.

use datafusion::common::ParamValues;
use datafusion::error::DataFusionError;
use datafusion::prelude::DataFrame;

use crate::explain::explain;
use crate::names::KnownNames;
use crate::read_only::{parsed, planned};
use crate::{SqlError, summarize, text};
use toise_engine::session::Session;

/// Plans a query; `summarize TABLE` is also a query.
///
/// # Errors
/// It is not one statement, not a query, too long, or uses a name that does not exist. The error has the position, if
/// known.
pub async fn plan(
    session: &Session,
    sql: &str,
    parameters: Option<ParamValues>,
) -> Result<DataFrame, SqlError> {
    text::check(sql)?;
    let statements = text::statements(sql)?;
    match statements.as_slice() {
        [] => return Err(SqlError::invalid("the query is empty")),
        [_] => {}
        _ => return Err(SqlError::invalid("one statement at a time")),
    }
    let sql = &text::numbered(sql)?;
    let rewritten = summarize::rewritten(session, sql).await?;
    let text = rewritten.as_ref().unwrap_or(sql);
    let statement = parsed(session, text).await?;
    let frame = planned(session, text, statement).await?;
    match parameters {
        None => Ok(frame),
        Some(values) => frame
            .with_param_values(values)
            .map_err(|error| explain_failure(error, sql)),
    }
}

/// Explains the failure of a planned query to its author.
pub fn explain_failure(error: DataFusionError, sql: &str) -> SqlError {
    explain(error, sql, &KnownNames::default())
}
