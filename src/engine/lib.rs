//! Questions over the lake: typed filters, top-k with cursor, exact totals, scans for scoring.
//!
//! A question's way: the filter is compiled ([`predicate`]) to DataFusion expressions; row groups that cannot match are
//! skipped by their footer statistics ([`view`]); what remains is read as decoded columns kept in memory under a budget
//! ([`cache`]), where zones of 1,024 rows are skipped by their own bounds; the expressions run on the rest ([`scan`],
//! [`select`]), and the best k by sort key are kept ([`topk`]). Nothing is planned on this path: a placed question over
//! five million rows touches a few tens of thousands of values and takes well under a millisecond. Batches in memory
//! are asked the same way ([`batch`]). [`session`] is the other way in: any SQL, planned and run by DataFusion over the
//! same files.

pub mod batch;
pub mod cache;
mod changed;
pub mod decoded;
mod expression;
pub mod functions;
mod gauges;
pub mod interrupt;
mod loops;
pub mod parts_store;
pub mod pool;
pub mod predicate;
#[cfg(test)]
mod predicate_tests;
pub mod priority;
pub mod rows;
mod runs;
pub mod scan;
pub mod select;
pub mod session;
mod settings;
mod some_item;
pub mod topk;
pub mod view;

use std::path::Path;
use std::sync::Arc;

use cache::ColumnCache;
pub use settings::EngineSettings;
use toise_lake::schema::TableSchema;
use toise_lake::{self as lake, Lake};
use view::{TableState, TableView};

/// What a question can fail with; none of it is caused by the question itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files could not be read.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// An expression could not be compiled or evaluated.
    #[error("query engine: {0}")]
    DataFusion(#[from] datafusion::error::DataFusionError),
    /// A statement that is not a query.
    #[error("only queries are answered here, nothing is written, defined or set: {0}")]
    ReadOnly(String),
    /// The engine was asked for a table it was not opened with.
    #[error("no table named {0}")]
    UnknownTable(String),
    /// Whoever asked does not wait for the answer any more.
    #[error("interrupted")]
    Interrupted,
}

/// How much the engine may use.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes of decoded columns kept in memory.
    pub cache_bytes: u64,
    /// Bytes SQL queries may hold before they spill to disk.
    pub sql_bytes: usize,
}

impl Default for Budget {
    /// That of a configuration without anything set.
    fn default() -> Self {
        Self::from(&EngineSettings::default())
    }
}

impl From<&EngineSettings> for Budget {
    fn from(engine: &EngineSettings) -> Self {
        Self {
            cache_bytes: engine.column_cache_mib << 20,
            sql_bytes: usize::try_from(engine.sql_memory_mib << 20).unwrap_or(usize::MAX),
        }
    }
}

/// The tables of a lake, ready for questions. Cheap to share behind an [`Arc`].
#[derive(Debug)]
pub struct Engine {
    lake: Lake,
    tables: Vec<TableState>,
    cache: ColumnCache,
    budget: Budget,
}

impl Engine {
    /// Opens tables of the lake under a data folder; a table without data is empty.
    pub fn open(
        data: &Path,
        schemas: &[&'static TableSchema],
        budget: Budget,
    ) -> Result<Self, Error> {
        let lake = Lake::open(data)?;
        let tables = schemas
            .iter()
            .map(|schema| TableState::open(&lake, schema))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            lake,
            tables,
            cache: ColumnCache::new(budget.cache_bytes),
            budget,
        })
    }

    /// The present view of a table; looks for a newer snapshot at most five times a second.
    pub fn view(&self, schema: &TableSchema) -> Result<Arc<TableView>, Error> {
        Ok(self.table(schema)?.present(&self.lake)?)
    }

    /// Has the next view of a table be of the newest snapshot.
    pub fn look_again(&self, schema: &TableSchema) -> Result<(), Error> {
        Ok(self.table(schema)?.look_again(&self.lake)?)
    }

    fn table(&self, schema: &TableSchema) -> Result<&TableState, Error> {
        let mut tables = self.tables.iter();
        tables
            .find(|table| table.schema().name == schema.name)
            .ok_or_else(|| Error::UnknownTable(schema.name.into()))
    }

    /// Tables the engine was opened with.
    pub fn schemas(&self) -> impl Iterator<Item = &'static TableSchema> {
        self.tables.iter().map(TableState::schema)
    }

    /// The decoded columns kept in memory.
    pub fn cache(&self) -> &ColumnCache {
        &self.cache
    }

    /// The budget the engine was opened with.
    pub fn budget(&self) -> Budget {
        self.budget
    }
}
