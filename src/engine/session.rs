//! The tables of the lake in a DataFusion context. `toise_sql` makes the context and plans the queries.
//!
//! Tables are the data files of the snapshots that were current when the session was opened. They are read through the
//! descriptors of their views (`engine/data_file_store.rs`), so imports may publish in the meantime. A table with
//! changes that are not in its data files ([`MergeOnReadTable`]) consists of those files without hidden rows, and the
//! rows in memory (`engine/merge_on_read.rs`).

use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;

use url::Url;

use super::data_file_store::{DataFileStore, data_file_table};
pub use super::merge_on_read::MergeOnReadTable;
use super::time_travel::TimeTravel;
use super::view::TableView;
use super::{Engine, Error};

/// URL of the session's tables in DataFusion.
pub const STORE: &str = "toise://lake/";

/// The version of a table that a session reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableVersion {
    /// Name of the table.
    pub table: &'static str,
    /// Sequence of its snapshot: how often the table was published.
    pub sequence: u64,
    /// For a table of listings: number of the last change of the store that the session shows.
    pub through: Option<i64>,
    /// Digest of the snapshot; empty for a table without rows.
    pub checksum: String,
}

impl TableVersion {
    /// Returns the version of a table whose files hold all its rows.
    pub fn of(view: &TableView) -> Self {
        Self {
            table: view.schema().name,
            sequence: view.snapshot().sequence,
            through: view.snapshot().through,
            checksum: view.snapshot().checksum.clone(),
        }
    }

    /// Returns the version of a table with changes that are not in its files.
    pub fn of_changed(table: &MergeOnReadTable) -> Self {
        Self {
            through: Some(table.through),
            ..Self::of(&table.view)
        }
    }
}

/// Returns the current views of the tables of an engine that are not among the changed ones. A damaged table is skipped
/// unless `is_wanted` returns true for its name.
///
/// # Errors
/// A table cannot be read.
pub fn unchanged_views(
    engine: &Engine,
    changed: &[MergeOnReadTable],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Arc<TableView>>, Error> {
    let is_changed = |name: &str| {
        let mut changed = changed.iter();
        changed.any(|table| table.view.schema().name == name)
    };
    let unchanged = engine.schemas().filter(|schema| !is_changed(schema.name));
    let views = unchanged.filter_map(|schema| match engine.view(schema) {
        Err(Error::Damaged { table, .. }) if !is_wanted(table) => None,
        view => Some(view),
    });
    views.collect()
}

/// A session over the current snapshots of the engine's tables.
pub struct Session {
    context: SessionContext,
    versions: Vec<TableVersion>,
    former: TimeTravel,
}

impl Session {
    /// Registers open tables with a context that the caller created, and keeps the context.
    ///
    /// # Errors
    /// A table cannot be registered.
    pub fn of_views(
        context: SessionContext,
        engine: &Engine,
        views: Vec<Arc<TableView>>,
        changed: Vec<MergeOnReadTable>,
    ) -> Result<Self, Error> {
        let mut versions = Vec::new();
        let store_url =
            Url::parse(STORE).map_err(|error| DataFusionError::External(error.into()))?;
        let mut store = DataFileStore::default();
        for view in views {
            versions.push(TableVersion::of(&view));
            let places = store.add(&view);
            let files = data_file_table(&view, &store_url, &places)?;
            context.register_table(view.schema().name, files)?;
        }
        for table in changed {
            versions.push(TableVersion::of_changed(&table));
            let places = store.add(&table.view);
            let files = data_file_table(&table.view, &store_url, &places)?;
            context.register_table(table.view.schema().name, table.over(files, &places))?;
        }
        context.register_object_store(&store_url, Arc::new(store));
        Ok(Self {
            context,
            versions,
            former: TimeTravel::new(engine),
        })
    }

    /// Returns the versions of the tables, which do not change while the session lives.
    pub fn versions(&self) -> &[TableVersion] {
        &self.versions
    }

    /// Makes every query that does not name another version read a table as of this kept version. A table of listings
    /// then lacks the changes that are not in its files.
    ///
    /// # Errors
    /// There is no such table, or the version is not kept.
    pub fn set_version(&mut self, table: &str, version: u64) -> Result<(), Error> {
        self.former.set(table, version)
    }

    /// Parses one statement, and opens the versions of tables that it names (`TABLE for version as of N`).
    ///
    /// # Errors
    /// It cannot be parsed, or a version is not kept or cannot be read.
    pub async fn statement(&self, sql: &str) -> Result<Statement, Error> {
        self.former.statement(&self.context, sql).await
    }

    /// Returns the underlying DataFusion context.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }
}
