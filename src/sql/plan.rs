//! From the text of a query to its plan: one statement, that only reads.

use datafusion::common::ParamValues;
use datafusion::prelude::DataFrame;

use crate::explain::explain;
use crate::names::Known;
use crate::read_only::planned;
use crate::{SqlError, summarize, text};
use toise_engine::session::Session;

/// Plans a query; `summarize TABLE` is one too.
///
/// # Errors
/// It is not one statement, not a query, too long, or names what does not exist. The error tells the position.
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
    let summary = summarize::rewritten(session, sql).await?;
    let frame = planned(session, summary.as_deref().unwrap_or(sql)).await?;
    match parameters {
        None => Ok(frame),
        Some(values) => frame
            .with_param_values(values)
            .map_err(|error| explain(error, sql, &Known::default())),
    }
}
