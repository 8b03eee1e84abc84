//! The sources that answer queries: a data folder in this process, or a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::DataFrame;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::json;
use tempfile::TempDir;

use super::remote::RemoteSource;
#[cfg(feature = "cluster")]
use super::shared;
use super::{Failure, SqlArgs};
use crate::Common;
use crate::indicators::market_over;
use toise_app::config::Config;
use toise_app::verify::tables;
use toise_base::clock::Clock;
use toise_contract::listings::filters::ListingKind;
use toise_engine::session::Session;
use toise_engine::{Budget, Engine};
use toise_estimate as estimate;
use toise_lake::Lake;
use toise_layers::{Layers, functions as layer_functions};
use toise_listings::Listings;
use toise_listings::search::projection::sql_tables;
use toise_market::table::{self, MarketTable};
use toise_opendata::{address_functions, functions};
use toise_sql::SqlError;
use toise_sql::files::ReadyFile;
use toise_sql::limits::QueryLimits;
use toise_sql::plan::{explain_failure, plan};
use toise_sql::tables::SqlTables;
use toise_store::Store;

/// Maximum disk space that a query on the command line may spill to, in MiB.
const SPILL_MIB: u64 = 100 << 10;

/// The rows of a query.
pub(super) struct Rows {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows, batch by batch.
    pub batches: BoxStream<'static, Result<RecordBatch, Failure>>,
}

/// A source that answers queries.
pub(super) enum SqlSource {
    /// A data folder, in this process.
    Local(Box<LocalSource>),
    /// A server.
    Remote(RemoteSource),
}

impl SqlSource {
    pub fn open(common: &Common, arguments: &SqlArgs) -> Result<Self, Failure> {
        match (&arguments.url, &arguments.key) {
            (Some(url), Some(key)) => Ok(Self::Remote(RemoteSource::new(url, key)?)),
            _ => Ok(Self::Local(Box::new(LocalSource {
                folder: SqlFolder::of(common)?,
                config: common.configuration(Vec::new())?.config,
                files: ready(common, arguments)?,
                as_of: arguments.as_of.clone(),
                #[cfg(feature = "cluster")]
                workers: match &arguments.cluster.workers {
                    Some(list) => Some(shared::Workers::new(common, list)?),
                    None => None,
                },
            }))),
        }
    }

    /// Runs one statement.
    pub async fn ask(&self, statement: &str) -> Result<Rows, Failure> {
        match self {
            Self::Local(local) => local.ask(statement).await,
            Self::Remote(remote) => remote.ask(statement).await,
        }
    }
}

/// A data folder, with files as further tables.
pub(super) struct LocalSource {
    folder: SqlFolder,
    config: Config,
    files: Vec<ReadyFile>,
    as_of: Vec<(String, u64)>,
    #[cfg(feature = "cluster")]
    workers: Option<shared::Workers>,
}

/// The folder whose tables queries read.
enum SqlFolder {
    Existing(PathBuf),
    /// An empty one, for queries over files alone, with the error for queries that name other tables.
    Empty(TempDir, String),
}

impl SqlFolder {
    fn of(common: &Common) -> Result<Self, Failure> {
        Ok(match common.existing_folder() {
            Ok(()) => Self::Existing(common.data.clone()),
            Err(missing) => Self::Empty(tempfile::tempdir()?, missing),
        })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Existing(path) => path,
            Self::Empty(folder, _) => folder.path(),
        }
    }

    /// Checks that a plan reads no table of a folder that does not exist.
    fn check(&self, frame: &DataFrame) -> Result<(), Failure> {
        let Self::Empty(_, missing) = self else {
            return Ok(());
        };
        let mut names: Vec<&str> = tables().iter().map(|schema| schema.name).collect();
        names.push(table::NAME);
        let mut reads_one = false;
        frame.logical_plan().apply_with_subqueries(|node| {
            reads_one |= matches!(node, LogicalPlan::TableScan(scan) if names.contains(&scan.table_name.table()));
            Ok(TreeNodeRecursion::Continue)
        })?;
        if reads_one {
            return Err(missing.clone().into());
        }
        Ok(())
    }
}

impl LocalSource {
    async fn ask(&self, statement: &str) -> Result<Rows, Failure> {
        #[cfg(feature = "cluster")]
        if let Some(workers) = &self.workers {
            return workers.ask(self, statement).await;
        }
        let (session, frame) = self.planned(statement).await?;
        let sql = statement.to_owned();
        let failed = move |error| explain(explain_failure(error, &sql));
        let rows = frame.execute_stream().await.map_err(&failed)?;
        let schema = rows.schema();
        // The session keeps the files open that the rows are read from.
        let batches = rows.map(move |batch| {
            let _open = &session;
            batch.map_err(&failed)
        });
        Ok(Rows {
            schema,
            batches: batches.boxed(),
        })
    }

    /// Opens a session over all tables, and plans a statement in it.
    pub(super) async fn planned(&self, statement: &str) -> Result<(Session, DataFrame), Failure> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let tables = self.tables(statement, threads)?;
        let limits = QueryLimits {
            rows_max: u64::MAX,
            bytes_max: u64::MAX,
            memory_mib: self.config.engine.sql_memory_mib,
            spill_mib: SPILL_MIB,
            time_max: Duration::MAX,
        };
        let session = tables.open(statement, limits, threads);
        let mut session = session.map_err(explain)?;
        for (table, version) in &self.as_of {
            session.set_version(table, *version)?;
        }
        for file in &self.files {
            file.register(session.context()).await?;
        }
        let frame = plan(&session, statement, None).await.map_err(explain)?;
        self.folder.check(&frame)?;
        Ok((session, frame))
    }

    /// Opens the tables with all changes committed so far. A listing table with many changes is compacted first.
    fn tables(&self, statement: &str, threads: usize) -> Result<SqlTables, Failure> {
        let data = self.folder.path();
        let clock = Clock::system();
        let named = statement.to_ascii_lowercase();
        let mut wanted = vec![ListingKind::Property, ListingKind::Advert];
        let has_market = named.contains(table::NAME);
        wanted.retain(|listing| {
            named.contains(listing.table()) || has_market && *listing == ListingKind::Property
        });
        let store = Store::open_existing(data)?.filter(|_| !wanted.is_empty());
        let listings = store.map(|store| Listings::new(store, clock.clone()));
        if let Some(listings) = &listings {
            let lake = Lake::open(data)?.keeping(self.config.lake.keep_versions);
            sql_tables::compact_pending(listings, &lake, &wanted, |listing| {
                eprintln!(
                    "many {} changed since the last compaction; compacting the table first",
                    listing.table()
                );
            })?;
        }
        let engine = Engine::open(data, &tables(), Budget::from(&self.config.engine))?;
        let engine = Arc::new(engine);
        let counted = listings.as_ref().filter(|_| has_market);
        let market = market_over(data, &self.config, &engine, counted, clock.clone())?;
        let market = MarketTable::new(market, threads)?;
        let layers = Layers::of(data);
        let asked = layers.clone();
        let (data, adjustments) = (data.to_owned(), self.config.estimate.adjustments());
        let functions = move || {
            let mut functions = functions::scalar_functions();
            functions.extend(address_functions::scalar_functions(&data));
            functions.extend(layer_functions::scalar_functions(&asked));
            let today = clock.now().date_naive();
            functions.extend(estimate::functions::scalar_functions(
                &data, adjustments, today,
            ));
            functions
        };
        Ok(SqlTables {
            engine,
            listings,
            functions: Arc::new(functions),
            derived: vec![(table::NAME, Arc::new(market))],
            layers,
        })
    }
}

/// Prepares the files of the command line, and says on standard error what was understood of them: as JSON if asked.
fn ready(common: &Common, arguments: &SqlArgs) -> Result<Vec<ReadyFile>, Failure> {
    let mut files = Vec::with_capacity(arguments.files.len());
    let mut read = Vec::new();
    for table in &arguments.files {
        let file = ReadyFile::new(table, &arguments.text_columns)?;
        if common.json {
            let notes: Vec<&String> = file.note.iter().collect();
            read.push(json!({"name": table.path, "form": file.form(), "notes": notes}));
        } else if let Some(note) = &file.note {
            eprintln!("{note}");
        }
        files.push(file);
    }
    if !read.is_empty() {
        eprintln!("{}", json!({"files": read}));
    }
    Ok(files)
}

/// Converts an error for display. An internal error is shown in full, because the command runs on the user's own
/// machine.
fn explain(error: SqlError) -> Failure {
    match error {
        SqlError::Internal(source) => source,
        error => error.into(),
    }
}
