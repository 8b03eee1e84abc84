//! The query engine: typed filters, top-k with cursor, exact totals, scans for scoring.
//!
//! A query runs as follows. The filter is compiled ([`predicate`]) to DataFusion expressions. Row groups that cannot
//! match are skipped by their footer statistics and bloom filters ([`view`]). The others are read as decoded columns
//! from a memory-bounded cache ([`cache`]), where zones of 1,024 rows are skipped by their zone maps. The expressions
//! run on the remaining rows ([`scan`], [`select`]), and the best k by sort key are collected ([`topk`]). There is no
//! planning on this path: a query about one town over five million rows reads a few tens of thousands of values and
//! takes well under a millisecond. Batches in memory are queried in the same way ([`batch`]). [`session`] is the second
//! entry point: any SQL, planned by `toise_sql` and executed by DataFusion over the same files; [`spatial`] writes its
//! rows as geodata.

#![forbid(unsafe_code)]

pub mod batch;
pub mod cache;
pub mod cancellation;
pub mod csv_rows;
pub mod data_file_store;
pub mod decoded;
mod error;
mod expression;
pub mod functions;
mod gauges;
mod job_threads;
mod kernels;
mod merge_on_read;
pub mod pool;
pub mod predicate;
#[cfg(test)]
mod predicate_tests;
pub mod priority;
pub mod rows;
pub mod scan;
pub mod select;
mod selection;
pub mod session;
mod settings;
mod some_item;
pub mod spatial;
pub mod texts;
mod time_travel;
pub mod topk;
pub mod view;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cache::ColumnCache;
pub use error::Error;
pub use settings::EngineSettings;
use toise_lake::Lake;
use toise_lake::schema::TableSchema;
use view::{TableHandle, TableView};

/// The memory limit of the engine.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Maximum bytes of decoded columns in memory.
    pub cache_bytes: u64,
}

impl Default for Budget {
    /// Returns the budget of the default configuration.
    fn default() -> Self {
        Self::from(&EngineSettings::default())
    }
}

impl From<&EngineSettings> for Budget {
    fn from(engine: &EngineSettings) -> Self {
        Self {
            cache_bytes: engine.column_cache_mib << 20,
        }
    }
}

/// The tables of a lake, open for queries. Cheap to share behind an [`Arc`].
#[derive(Debug)]
pub struct Engine {
    lake: Lake,
    tables: Vec<TableHandle>,
    cache: ColumnCache,
    budget: Budget,
    /// Whether views change only in [`Engine::switch`].
    is_held: AtomicBool,
}

impl Engine {
    /// Opens tables of the lake in a data folder; a table without data is empty.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn open(
        data: &Path,
        schemas: &[&'static TableSchema],
        budget: Budget,
    ) -> Result<Self, Error> {
        Self::open_despite_damage(data, schemas, &[], budget)
    }

    /// Opens tables like [`Engine::open`], but tables in `may_be_damaged` whose files are damaged or missing are opened
    /// too: their views are errors ([`Error::Damaged`]) until the files are restored.
    ///
    /// # Errors
    /// Another table cannot be read.
    pub fn open_despite_damage(
        data: &Path,
        schemas: &[&'static TableSchema],
        may_be_damaged: &[&'static TableSchema],
        budget: Budget,
    ) -> Result<Self, Error> {
        let lake = Lake::open(data)?;
        let open = |schema: &&'static TableSchema| {
            let mut excused = may_be_damaged.iter();
            let is_excused = excused.any(|excused| excused.name == schema.name);
            TableHandle::open(&lake, schema, is_excused)
        };
        let tables = schemas.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            lake,
            tables,
            cache: ColumnCache::new(budget.cache_bytes),
            budget,
            is_held: AtomicBool::new(false),
        })
    }

    /// Returns the current view of a table. Checks for a newer snapshot at most every 20 ms.
    pub fn view(&self, schema: &TableSchema) -> Result<Arc<TableView>, Error> {
        let table = self.table(schema)?;
        if self.is_held.load(Ordering::Relaxed) {
            table.held()
        } else {
            table.current(&self.lake)
        }
    }

    /// Returns a table as of one of its snapshots: the current view if it has that sequence, otherwise a kept version.
    ///
    /// # Errors
    /// The version is not kept, or cannot be read.
    pub fn view_at(&self, schema: &TableSchema, sequence: u64) -> Result<Arc<TableView>, Error> {
        let table = self.table(schema)?;
        let has_sequence = |view: &Arc<TableView>| view.snapshot().sequence == sequence;
        if let Some(view) = table.held().ok().filter(has_sequence) {
            return Ok(view);
        }
        table.refresh_now(&self.lake)?;
        if let Some(view) = table.held().ok().filter(has_sequence) {
            return Ok(view);
        }
        let version = TableView::open_version(&self.lake, table.schema(), sequence)?;
        Ok(Arc::new(version))
    }

    /// Lets views change only in [`Engine::switch`] from now on: for replicas, whose tables change together.
    pub fn freeze_views(&self) {
        self.is_held.store(true, Ordering::Relaxed);
    }

    /// Switches to the latest snapshots of all tables: opens the new snapshots first, then exchanges all views within
    /// microseconds. Blocks.
    ///
    /// # Errors
    /// A table cannot be opened; all views then stay unchanged.
    pub fn switch(&self) -> Result<(), Error> {
        let tables = self.tables.iter();
        let newer = tables
            .map(|table| table.open_newer(&self.lake))
            .collect::<Result<Vec<_>, _>>()?;
        for (table, newer) in self.tables.iter().zip(newer) {
            if let Some(newer) = newer {
                table.show(newer);
            }
        }
        Ok(())
    }

    /// Forces the next view of a table to use the latest snapshot.
    pub fn refresh_now(&self, schema: &TableSchema) -> Result<(), Error> {
        Ok(self.table(schema)?.refresh_now(&self.lake)?)
    }

    fn table(&self, schema: &TableSchema) -> Result<&TableHandle, Error> {
        let mut tables = self.tables.iter();
        tables
            .find(|table| table.schema().name == schema.name)
            .ok_or_else(|| Error::UnknownTable(schema.name.into()))
    }

    /// Returns the tables that the engine was opened with.
    pub fn schemas(&self) -> impl Iterator<Item = &'static TableSchema> {
        self.tables.iter().map(TableHandle::schema)
    }

    /// Returns the cache of decoded columns.
    pub fn cache(&self) -> &ColumnCache {
        &self.cache
    }

    /// Returns the lake that the tables are in.
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Returns the budget the engine was opened with.
    pub fn budget(&self) -> Budget {
        self.budget
    }
}
