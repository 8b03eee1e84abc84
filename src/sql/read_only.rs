//! Plans statements that only read; statements that write, define or set anything are refused.

use datafusion::prelude::{DataFrame, SQLOptions};
use datafusion::sql::parser::Statement;

use crate::SqlError;
use crate::explain::explain;
use crate::names::KnownNames;
use toise_engine::session::Session;

/// Parses a text that has been checked.
pub(crate) async fn parsed(session: &Session, sql: &str) -> Result<Statement, SqlError> {
    session.statement(sql).await.map_err(|error| match error {
        toise_engine::Error::DataFusion(error) => {
            explain(error, sql, &KnownNames::of(session.context()))
        }
        error => SqlError::invalid(error.to_string()),
    })
}

/// Plans a statement whose text was checked; `sql` is that text.
pub(crate) async fn planned(
    session: &Session,
    sql: &str,
    statement: Statement,
) -> Result<DataFrame, SqlError> {
    let read_only = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let context = session.context();
    let explained = |error| explain(error, sql, &KnownNames::of(context));
    let plan = context.state().statement_to_plan(statement).await;
    let plan = plan.map_err(explained)?;
    read_only.verify_plan(&plan).map_err(explained)?;
    context.execute_logical_plan(plan).await.map_err(explained)
}
