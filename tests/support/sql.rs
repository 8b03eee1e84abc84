//! Queries over all tables of a data folder, and sqllogictest files of queries with their results.
//!
//! In the files `I` is a column of integers, `R` of other numbers, `T` of anything else and `?` of any type; `NULL`
//! is a missing value.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::logical_expr::ScalarUDF;
use serde_json::json;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Record, Runner};
use toise::app::config::Config;
use toise::base::clock::Clock;
use toise::contract::listings::filters::ListingKind;
use toise::engine::session::{MergeOnReadTable, Session, unchanged_views};
use toise::engine::{Budget, Engine, Error};
use toise::layers::Layers;
use toise::listings::Listings;
use toise::listings::columns::{adverts, properties};
use toise::listings::search::projection::sql_tables;
use toise::opendata::{dpe, dvf};
use toise::service::App;
use toise::sql::audit::{AuditLog, Caller, Protocol};
use toise::sql::context::new_context;
use toise::sql::plan::plan;
use toise::sql::process::Launch;
use toise::sql::service::{Backend, SqlService};
use toise::sql::settings::SqlSettings;
use toise::sql::tables::SqlTables;
use toise::store::Store;
use uuid::Uuid;

use super::process::executable;

/// Changes the settings of the SQL service of an application.
pub fn set_sql(app: &mut App, settings: &SqlSettings) {
    let memory_mib = Config::default().engine.sql_memory_mib;
    app.data.sql = app.data.sql.with_settings(settings, memory_mib).unwrap();
}

/// A service over a table without rows. It computes the functions that processes leave to the server with these.
pub fn small_service(data: &Path, functions: Vec<ScalarUDF>, settings: &SqlSettings) -> SqlService {
    let engine = Engine::open(data, &[dvf::schema()], Budget::default()).unwrap();
    let tables = SqlTables {
        engine: Arc::new(engine),
        listings: None,
        functions: Arc::new(move || functions.clone()),
        derived: Vec::new(),
        layers: Layers::of(data),
    };
    let audit = AuditLog::new(Store::open(data).unwrap(), Clock::system(), 1);
    let arguments = [
        "--data".into(),
        data.as_os_str().to_owned(),
        "sql-process".into(),
    ];
    let launch = Launch {
        program: executable().into(),
        arguments: arguments.to_vec(),
        setup: json!({"config": Config::default(), "tables": ["dvf"]}),
    };
    let backend = Backend {
        tables,
        derived: Arc::new(|_, _, _| unreachable!()),
        state: Arc::new(String::new),
        launch,
    };
    SqlService::start(backend, settings, 1_024, audit).unwrap()
}

/// The caller of a small service.
pub fn caller() -> Caller {
    Caller {
        request_id: Uuid::now_v7(),
        account_id: Uuid::nil(),
        key_id: Uuid::nil(),
        protocol: Protocol::Flight,
    }
}

/// A session over the tables of an engine, with the functions of queries and some more.
pub fn session_over(
    engine: &Engine,
    changed: Vec<MergeOnReadTable>,
    functions: Vec<ScalarUDF>,
) -> Result<Session, Error> {
    let views = unchanged_views(engine, &changed, |_| true)?;
    let context = new_context(1 << 30, 1 << 30, 2, functions)?;
    Session::of_views(context, engine, views, changed)
}

/// A session over the current tables.
pub fn session(data: &Path, listings: &Listings) -> Session {
    let tables = [dvf::schema(), dpe::schema(), properties(), adverts()];
    let engine = Engine::open(data, &tables, Budget::default()).unwrap();
    let both = [ListingKind::Property, ListingKind::Advert];
    let changed = sql_tables::tables(listings, &engine, &both).unwrap();
    session_over(&engine, changed, Vec::new()).unwrap()
}

/// The rows of a query, or its error. Runs on a separate thread, so that any test can call it.
pub fn answered(session: &Session, sql: &str) -> Result<Vec<String>, String> {
    Ok(lines(&batches(session, sql)?))
}

fn batches(session: &Session, sql: &str) -> Result<Vec<RecordBatch>, String> {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let frame = plan(session, sql, None)
                    .await
                    .map_err(|error| error.to_string())?;
                frame.collect().await.map_err(|error| error.to_string())
            })
        });
        asking.join().unwrap()
    })
}

fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let rows = rows(batches);
    rows.iter().map(|row| row.join(" ")).collect()
}

fn rows(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<ArrayFormatter> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values = columns.iter().map(|column| column.value(row).to_string());
            rows.push(values.collect());
        }
    }
    rows
}

/// A session, adapted to sqllogictest.
struct Asked<'s>(&'s Session);

/// The error of a query.
#[derive(Debug)]
struct Failed(String);

impl std::fmt::Display for Failed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl DB for Asked<'_> {
    type Error = Failed;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failed> {
        let batches = batches(self.0, sql).map_err(Failed)?;
        let types = batches.first().map_or_else(Vec::new, |batch| {
            let schema = batch.schema();
            let fields = schema.fields().iter();
            fields.map(|field| type_of(field.data_type())).collect()
        });
        let rows = rows(&batches);
        Ok(DBOutput::Rows { types, rows })
    }
}

fn type_of(data_type: &DataType) -> DefaultColumnType {
    match data_type {
        _ if data_type.is_integer() => DefaultColumnType::Integer,
        _ if data_type.is_floating() => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

/// Whether the types are the expected ones; `?` stands for any.
#[expect(
    clippy::ptr_arg,
    reason = "the runner's validator is a function of two vectors"
)]
fn same_types(found: &Vec<DefaultColumnType>, written: &Vec<DefaultColumnType>) -> bool {
    let is_same = |(found, written): (&DefaultColumnType, &DefaultColumnType)| {
        *written == DefaultColumnType::Any || found == written
    };
    found.is_empty() || (found.len() == written.len() && found.iter().zip(written).all(is_same))
}

/// Checks a session against every record of a file in `tests/engine`; returns the number of records.
pub fn holds(session: &Session, file: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/engine")
        .join(file);
    let records = sqllogictest::parse_file::<DefaultColumnType>(&path).unwrap();
    let asked =
        |record: &&Record<_>| matches!(record, Record::Query { .. } | Record::Statement { .. });
    let count = records.iter().filter(asked).count();
    let mut runner = Runner::new(|| async { Ok(Asked(session)) });
    runner.with_column_validator(same_types);
    for record in records {
        if let Err(error) = runner.run(record) {
            panic!("{file}: {error}");
        }
    }
    count
}
