//! The folder that holds all tables, and what can be done with one of them.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::schema::TableSchema;
use super::{check, import, snapshot};
use toise_base::clock::Clock;

/// The folder of all tables.
#[derive(Clone, Debug)]
pub struct Lake {
    root: PathBuf,
    clock: Clock,
}

impl Lake {
    /// Opens the lake under a data folder (`<data>/lake`), making the folder if need be.
    pub fn open(data: &Path) -> Result<Self, Error> {
        Self::open_with_clock(data, Clock::system())
    }

    /// Opens the lake with a given clock.
    pub fn open_with_clock(data: &Path, clock: Clock) -> Result<Self, Error> {
        let root = data.join("lake");
        fs::create_dir_all(&root).map_err(|source| Error::io(&root, source))?;
        Ok(Self { root, clock })
    }

    /// Opens the lake under a data folder where there is one; makes nothing.
    pub fn open_existing(data: &Path) -> Result<Self, Error> {
        let root = data.join("lake");
        fs::metadata(&root).map_err(|source| Error::io(&root, source))?;
        Ok(Self {
            root,
            clock: Clock::system(),
        })
    }

    /// Folder of a table.
    pub fn folder(&self, schema: &TableSchema) -> PathBuf {
        self.root.join(schema.name)
    }

    /// Starts an import into a table; at most one runs on a table at a time, across processes.
    pub fn import(&self, schema: &'static TableSchema) -> Result<import::TableImport, Error> {
        import::TableImport::start(&self.folder(schema), schema, self.clock.clone())
    }

    /// Starts an import whose rows take the place of all that is in a table, which may be damaged; until it is published,
    /// and when it never is, the table stays what it was.
    pub fn import_replacing(
        &self,
        schema: &'static TableSchema,
    ) -> Result<import::TableImport, Error> {
        import::TableImport::start_replacing(&self.folder(schema), schema, self.clock.clone())
    }

    /// The table's present snapshot; an empty one when nothing was imported yet.
    pub fn snapshot(&self, schema: &TableSchema) -> Result<snapshot::Snapshot, Error> {
        snapshot::Snapshot::load(&self.folder(schema))
    }

    /// Merges all runs of a table into one; returns the rows written, 0 when there is at most one run. Readers go on
    /// with the snapshot they hold. Needs free space of the size of the table; `progress` is told of rows as they are
    /// written.
    pub fn compact(
        &self,
        schema: &'static TableSchema,
        progress: &dyn Fn(u64),
    ) -> Result<u64, Error> {
        import::compact(&self.folder(schema), schema, self.clock.clone(), progress)
    }

    /// Opens the present snapshot of a table to verify every byte of it; what is wrong is found, never an error.
    pub fn check(&self, schema: &TableSchema) -> check::TableVerification {
        check::TableVerification::open(&self.folder(schema), schema)
    }
}
