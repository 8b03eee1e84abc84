//! From the text of a query to its plan: one statement, that only reads.

use datafusion::common::ParamValues;
use datafusion::prelude::{DataFrame, SQLOptions, SessionContext};

use crate::names::Known;
use crate::{SqlError, summarize, text};

/// Plans a query; `summarize TABLE` is one too.
///
/// # Errors
/// It is not one statement, not a query, too long, or names what does not exist. The error tells the position.
pub async fn plan(
    context: &SessionContext,
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
    let summary = summarize::rewritten(context, sql).await?;
    let frame = planned(context, summary.as_deref().unwrap_or(sql)).await?;
    match parameters {
        None => Ok(frame),
        Some(values) => frame
            .with_param_values(values)
            .map_err(|error| SqlError::explain(error, sql, &Known::default())),
    }
}

/// Plans a text that was checked.
pub(crate) async fn planned(context: &SessionContext, sql: &str) -> Result<DataFrame, SqlError> {
    let read_only = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let planned = context.sql_with_options(sql, read_only).await;
    planned.map_err(|error| SqlError::explain(error, sql, &Known::of(context)))
}
