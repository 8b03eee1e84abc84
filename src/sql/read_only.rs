//! Planning of what only reads: everything that writes, defines or sets anything is refused.

use datafusion::prelude::{DataFrame, SQLOptions};

use crate::SqlError;
use crate::explain::explain;
use crate::names::Known;
use toise_engine::session::Session;

/// Plans a text that was checked.
pub(crate) async fn planned(session: &Session, sql: &str) -> Result<DataFrame, SqlError> {
    let read_only = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let context = session.context();
    let explained = |error| explain(error, sql, &Known::of(context));
    let statement = session.statement(sql).await.map_err(|error| match error {
        toise_engine::Error::DataFusion(error) => explained(error),
        error => SqlError::invalid(error.to_string()),
    })?;
    let plan = context.state().statement_to_plan(statement).await;
    let plan = plan.map_err(explained)?;
    read_only.verify_plan(&plan).map_err(explained)?;
    context.execute_logical_plan(plan).await.map_err(explained)
}
