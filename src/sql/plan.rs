//! Turns the text of a query into its plan: one statement that only reads.

use datafusion::common::ParamValues;
use datafusion::prelude::DataFrame;

use crate::expansion::{Expansion, measured};
use crate::explain::explain;
use crate::names::KnownNames;
use crate::read_only::{parsed, planned};
use crate::{SqlError, fixed_sizes, summarize, text};
use toise_engine::session::Session;

/// A planned query.
pub struct Planned {
    /// The plan.
    pub frame: DataFrame,
    /// The size of its text.
    pub(crate) size: Expansion,
}

/// Plans a query; `summarize TABLE` is also a query.
///
/// # Errors
/// It is not one statement, not a query, too long, or uses a name that does not exist. The error has the position, if
/// known.
pub async fn plan(
    session: &Session,
    sql: &str,
    parameters: Option<ParamValues>,
) -> Result<Planned, SqlError> {
    text::check(sql)?;
    let statements = text::statements(sql)?;
    match statements.as_slice() {
        [] => return Err(SqlError::invalid("the query is empty")),
        [_] => {}
        _ => return Err(SqlError::invalid("one statement at a time")),
    }
    let sql = &text::numbered(sql)?;
    let (text, statement, size) =
        match summarize::rewritten(session, sql, parameters.as_ref()).await? {
            // The rewritten query exceeds its source only by a limited number of columns.
            Some((text, size)) => {
                let statement = parsed(session, &text).await?;
                (text, statement, size)
            }
            None => {
                let statement = parsed(session, sql).await?;
                let size = measured(&statement, parameters.as_ref())?;
                (sql.to_owned(), statement, size)
            }
        };
    let frame = planned(session, &text, statement).await?;
    fixed_sizes::check(frame.logical_plan())?;
    let frame = match parameters {
        None => frame,
        Some(values) => frame
            .with_param_values(values)
            .map_err(|error| explain(error, sql, &KnownNames::default()))?,
    };
    Ok(Planned { frame, size })
}
