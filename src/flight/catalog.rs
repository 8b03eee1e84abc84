//! The metadata of the server: one catalog, one schema, the tables of the service, and the server's capabilities.

use std::sync::LazyLock;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{GetCatalogsBuilder, SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::{
    CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables, SqlInfo, SqlSupportedTransaction,
};
use tonic::Status;

use toise_sql::service::SqlService;

/// The catalog of the tables, and their schema.
const CATALOG: &str = "datafusion";
const SCHEMA: &str = "public";
/// The type of all tables.
const TABLE_TYPE: &str = "TABLE";

static INFO: LazyLock<Option<SqlInfoData>> = LazyLock::new(|| {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "toise");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, arrow::ARROW_VERSION);
    info.append(SqlInfo::FlightSqlServerReadOnly, true);
    info.append(SqlInfo::FlightSqlServerSql, true);
    info.append(SqlInfo::FlightSqlServerSubstrait, false);
    info.append(
        SqlInfo::FlightSqlServerTransaction,
        SqlSupportedTransaction::None as i32,
    );
    info.append(SqlInfo::FlightSqlServerCancel, false);
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.append(SqlInfo::SqlDdlCatalog, false);
    info.append(SqlInfo::SqlDdlSchema, false);
    info.append(SqlInfo::SqlDdlTable, false);
    info.build().ok()
});

/// Returns the capabilities of the server.
pub(super) fn info() -> Result<&'static SqlInfoData, Status> {
    INFO.as_ref()
        .ok_or_else(|| Status::internal("the description of the server cannot be built"))
}

pub(super) fn catalogs() -> Result<RecordBatch, FlightError> {
    let mut catalogs = GetCatalogsBuilder::new();
    catalogs.append(CATALOG);
    catalogs.build()
}

pub(super) fn schemas(query: CommandGetDbSchemas) -> Result<RecordBatch, FlightError> {
    let mut schemas = query.into_builder();
    schemas.append(CATALOG, SCHEMA);
    schemas.build()
}

pub(super) fn tables(
    query: CommandGetTables,
    service: &SqlService,
) -> Result<RecordBatch, FlightError> {
    let mut tables = query.into_builder();
    for (name, columns) in service.catalogue() {
        tables.append(CATALOG, SCHEMA, name, TABLE_TYPE, &columns)?;
    }
    tables.build()
}

pub(super) fn table_types(query: CommandGetTableTypes) -> Result<RecordBatch, FlightError> {
    let mut types = query.into_builder();
    types.append(TABLE_TYPE);
    types.build()
}

/// Converts a failure of Arrow to a status.
pub(super) fn failed(error: impl Into<FlightError>) -> Status {
    Status::from(error.into())
}

/// Converts a failure to describe columns to a status.
pub(super) fn undescribed(error: ArrowError) -> Status {
    Status::internal(error.to_string())
}
