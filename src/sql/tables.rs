//! The tables that queries read. A query sees all tables of the lake as of its start, and the listings with every
//! change committed before.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::logical_expr::ScalarUDF;

use crate::SqlError;
use crate::context::new_context;
use crate::limits::QueryLimits;
use toise_contract::listings::filters::ListingKind;
use toise_engine::Engine;
use toise_engine::session::{MergeOnReadTable, Session, TableVersion, unchanged_views};
use toise_engine::view::TableView;
use toise_layers::Layers;
use toise_layers::table::{register_store, tables as layer_tables};
use toise_listings::Listings;
use toise_listings::search::projection::{self, sql_tables};

/// A function that returns the functions of the product, as of the start of a query.
pub type ProductFunctions = Arc<dyn Fn() -> Vec<ScalarUDF> + Send + Sync>;

/// The tables of a data folder and the functions over them. Cheap to clone.
#[derive(Clone)]
pub struct SqlTables {
    /// The tables of the lake.
    pub engine: Arc<Engine>,
    /// The store of listings, if the data folder has one.
    pub listings: Option<Listings>,
    /// The functions of the product.
    pub functions: ProductFunctions,
    /// Tables that are computed when they are read, by name. They see the data as of that read.
    pub derived: Vec<(&'static str, Arc<dyn TableProvider>)>,
    /// The current layers, each as a table.
    pub layers: Layers,
}

impl SqlTables {
    /// Opens the current tables. Blocks: the changes of listings since their last compaction are read if the query
    /// names their table.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn now(&self, sql: &str) -> Result<TablesAt, SqlError> {
        let changed = match &self.listings {
            Some(listings) => changed_tables(listings, &self.engine, &self.named_listings(sql))?,
            None => Vec::new(),
        };
        let lower = sql.to_ascii_lowercase();
        let views = unchanged_views(&self.engine, &changed, |table| lower.contains(table))?;
        Ok(TablesAt { views, changed })
    }

    /// Returns a session over open tables, the derived tables and the layers. Blocks: reads the descriptions of layers.
    ///
    /// # Errors
    /// The folder of temporary files cannot be created.
    pub fn session(
        &self,
        at: TablesAt,
        limits: QueryLimits,
        threads: usize,
    ) -> Result<Session, SqlError> {
        let context = new_context(
            limits.memory_bytes(),
            limits.spill_bytes(),
            threads,
            (self.functions)(),
        )
        .map_err(SqlError::internal)?;
        for (name, table) in &self.derived {
            let registered = context.register_table(*name, Arc::clone(table));
            registered.map_err(SqlError::internal)?;
        }
        register_store(&context, &self.layers).map_err(SqlError::internal)?;
        for (name, table) in layer_tables(&self.layers) {
            let registered = context.register_table(name, table);
            registered.map_err(SqlError::internal)?;
        }
        let TablesAt { views, changed } = at;
        Ok(Session::of_views(context, &self.engine, views, changed)?)
    }

    /// Opens a session over all current tables. Blocks.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn open(
        &self,
        sql: &str,
        limits: QueryLimits,
        threads: usize,
    ) -> Result<Session, SqlError> {
        self.session(self.now(sql)?, limits, threads)
    }

    /// Returns the tables of listings whose name occurs in a query.
    fn named_listings(&self, sql: &str) -> Vec<ListingKind> {
        let sql = sql.to_ascii_lowercase();
        let opened: Vec<&str> = self.engine.schemas().map(|schema| schema.name).collect();
        let mut listings = vec![ListingKind::Property, ListingKind::Advert];
        listings
            .retain(|listing| opened.contains(&listing.table()) && sql.contains(listing.table()));
        listings
    }
}

/// All tables of a session, open.
#[derive(Debug, Default)]
pub struct TablesAt {
    /// Tables whose files hold all their rows.
    pub views: Vec<Arc<TableView>>,
    /// Tables with changes that are not in their files.
    pub changed: Vec<MergeOnReadTable>,
}

impl TablesAt {
    /// Returns the versions of the tables.
    pub fn versions(&self) -> Vec<TableVersion> {
        let unchanged = self.views.iter().map(|view| TableVersion::of(view));
        let changed = self.changed.iter().map(TableVersion::of_changed);
        unchanged.chain(changed).collect()
    }
}

fn changed_tables(
    listings: &Listings,
    engine: &Engine,
    wanted: &[ListingKind],
) -> Result<Vec<MergeOnReadTable>, SqlError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    sql_tables::tables(listings, engine, wanted).map_err(|error| match error {
        projection::Error::Behind => SqlError::Overloaded,
        error => SqlError::internal(error),
    })
}

/// Formats the versions of all tables in one line, as `dvf=3, properties=12@4521`: how often a table was published and,
/// for listings, the sequence of the last change of the store that the query sees.
pub fn describe(versions: &[TableVersion]) -> String {
    let described = versions.iter().map(|version| match version.through {
        Some(through) => format!("{}={}@{through}", version.table, version.sequence),
        None => format!("{}={}", version.table, version.sequence),
    });
    let described: Vec<String> = described.collect();
    described.join(", ")
}
