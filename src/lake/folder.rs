//! The folder of all tables: opens it, and starts imports, compactions and checks of its tables.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::locked_table::LockedTable;
use super::schema::TableSchema;
use super::settings::KEEP_VERSIONS;
use super::{check, import, layout, snapshot, versions};
use toise_base::clock::Clock;

/// Name of the lake in a data folder.
const ROOT: &str = "lake";

/// The folder of all tables.
#[derive(Clone, Debug)]
pub struct Lake {
    root: PathBuf,
    clock: Clock,
    keep_versions: usize,
}

impl Lake {
    /// Opens the lake under a data folder (`<data>/lake`) and creates the folder if it does not exist.
    pub fn open(data: &Path) -> Result<Self, Error> {
        Self::open_with_clock(data, Clock::system())
    }

    /// Opens the lake with a given clock.
    pub fn open_with_clock(data: &Path, clock: Clock) -> Result<Self, Error> {
        let root = data.join(ROOT);
        fs::create_dir_all(&root).map_err(|source| Error::io(&root, source))?;
        layout::refresh_shared_folders(&root)?;
        Ok(Self::at(root, clock))
    }

    /// Opens the lake under a data folder like [`Lake::open`], but fails if it does not exist.
    pub fn open_existing(data: &Path) -> Result<Self, Error> {
        let lake = Self::open_without_changes(data)?;
        layout::refresh_shared_folders(&lake.root)?;
        Ok(lake)
    }

    /// Opens the existing lake under a data folder without creating or rebuilding anything.
    pub fn open_without_changes(data: &Path) -> Result<Self, Error> {
        let root = data.join(ROOT);
        fs::metadata(&root).map_err(|source| Error::io(&root, source))?;
        Ok(Self::at(root, Clock::system()))
    }

    fn at(root: PathBuf, clock: Clock) -> Self {
        Self {
            root,
            clock,
            keep_versions: KEEP_VERSIONS,
        }
    }

    /// Sets how many versions of a table a publication keeps, the current one included; at least 1.
    #[must_use]
    pub fn keeping(self, versions: usize) -> Self {
        Self {
            keep_versions: versions.max(1),
            ..self
        }
    }

    /// Returns a table's own folder, with its data files, their indexes and checksums, and its snapshots.
    pub fn folder(&self, schema: &TableSchema) -> PathBuf {
        layout::own_folder(&self.root, schema.name)
    }

    /// Returns a table's own folder in the lake under a data folder, whether or not it exists.
    pub fn folder_in(data: &Path, schema: &TableSchema) -> PathBuf {
        layout::own_folder(&data.join(ROOT), schema.name)
    }

    /// Returns a table's shared folder, which other programs open: the data files of the current snapshot, and a Delta
    /// log.
    pub fn shared_folder(&self, schema: &TableSchema) -> PathBuf {
        self.root.join(schema.name)
    }

    /// Starts an import into a table; at most one runs on a table at a time, across processes.
    pub fn import(&self, schema: &'static TableSchema) -> Result<import::TableImport, Error> {
        import::TableImport::start(self.lock(schema)?)
    }

    /// Starts an import whose rows replace the whole table, which may be damaged. The table stays unchanged until the
    /// import is published.
    pub fn import_replacing(
        &self,
        schema: &'static TableSchema,
    ) -> Result<import::TableImport, Error> {
        Ok(import::TableImport::start_replacing(self.lock(schema)?))
    }

    /// Locks a table for writing.
    fn lock(&self, schema: &'static TableSchema) -> Result<LockedTable, Error> {
        LockedTable::lock(
            &self.folder(schema),
            schema,
            self.clock.clone(),
            self.keep_versions,
        )
    }

    /// Returns the table's current snapshot, which is empty if nothing was imported yet.
    pub fn snapshot(&self, schema: &TableSchema) -> Result<snapshot::Snapshot, Error> {
        snapshot::Snapshot::load(&self.folder(schema))
    }

    /// Returns a kept snapshot of the table by its sequence number.
    ///
    /// # Errors
    /// [`Error::UnknownVersion`] if it is not kept.
    pub fn snapshot_at(
        &self,
        schema: &TableSchema,
        version: u64,
    ) -> Result<snapshot::Snapshot, Error> {
        versions::load(&self.folder(schema), schema.name, version)
    }

    /// Returns the kept snapshots of a table, oldest first; the last is the current one.
    pub fn versions(&self, schema: &TableSchema) -> Result<Vec<snapshot::Snapshot>, Error> {
        versions::kept(&self.folder(schema))
    }

    /// Rebuilds the table's shared folder and its Delta log from the kept snapshots. Does not wait: fails if an import
    /// is running on the table.
    pub fn rebuild_delta_log(&self, schema: &'static TableSchema) -> Result<(), Error> {
        import::rebuild_delta_log(&self.lock(schema)?)
    }

    /// Deletes all previous versions of a table at once, with the files that only they name, including those in the
    /// shared folder. A program that is listing that folder may find files gone. Does not wait: fails if an import is
    /// running on the table.
    pub fn forget_versions(&self, schema: &'static TableSchema) -> Result<(), Error> {
        import::forget_versions(&self.clone().keeping(1).lock(schema)?)
    }

    /// Merges all runs of a table into one. Returns the number of rows written, 0 if there is at most one run. Readers
    /// keep using the snapshot they hold. Needs as much free space as the table takes; `progress` is called with the
    /// number of rows of each batch written.
    pub fn compact(
        &self,
        schema: &'static TableSchema,
        progress: &dyn Fn(u64),
    ) -> Result<u64, Error> {
        import::compact(&self.lock(schema)?, progress)
    }

    /// Opens the current snapshot of a table to verify every byte of it. Damage is part of the result, never an error.
    pub fn check(&self, schema: &TableSchema) -> check::TableVerification {
        check::TableVerification::open(&self.folder(schema), schema)
    }
}
