//! Planning of what only reads: everything that writes, defines or sets anything is refused.

use datafusion::prelude::{DataFrame, SQLOptions, SessionContext};

use crate::SqlError;
use crate::explain::explain;
use crate::names::Known;

/// Plans a text that was checked.
pub(crate) async fn planned(context: &SessionContext, sql: &str) -> Result<DataFrame, SqlError> {
    let read_only = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let planned = context.sql_with_options(sql, read_only).await;
    planned.map_err(|error| explain(error, sql, &Known::of(context)))
}
