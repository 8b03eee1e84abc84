//! A table as one query sees it: the open data files of one snapshot and the statistics of their row groups.
//!
//! A view never changes. A newer snapshot leads to a new view, which shares the data files that both snapshots name.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use parking_lot::Mutex;
use parquet::file::statistics::Statistics;

use super::cache::{ColumnCache, ColumnKey, DecodedColumn};
use super::error::Error as QueryError;
pub use super::rows::{RowRef, RowSet};
use toise_lake::data_file::{DataFile, item_leaf_of, leaf_of};
use toise_lake::schema::{ColumnKind, TableSchema};
use toise_lake::snapshot::Snapshot;
use toise_lake::{Error, Lake, bloom, id_index};

/// Minimum interval between two checks for a newer snapshot, which take some microseconds each.
const REFRESH_EVERY: Duration = Duration::from_millis(20);
/// Attempts to open the files when a publication deletes some of them in the meantime.
const OPEN_ATTEMPTS: usize = 5;

static NEXT_DATA_FILE: AtomicU32 = AtomicU32::new(0);

/// Footer statistics of a column of a row group.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnStatistics {
    /// No statistics.
    Unknown,
    /// All values are null.
    AllMissing,
    /// Minimum and maximum, of numbers or days.
    Numbers(f64, f64),
    /// A lower and an upper bound of the texts.
    Texts(Box<[u8]>, Box<[u8]>),
}

/// An open data file with its number in the cache.
#[derive(Debug)]
pub struct OpenDataFile {
    /// The data file.
    pub data_file: DataFile,
    number: u32,
    /// The last version of the table in which a row of the file was corrected; read on first use.
    last_correction: OnceLock<u32>,
}

impl OpenDataFile {
    fn last_correction(&self) -> Result<u32, Error> {
        if let Some(version) = self.last_correction.get() {
            return Ok(*version);
        }
        let version = self.data_file.id_index().last_correction()?;
        Ok(*self.last_correction.get_or_init(|| version))
    }
}

/// One row group.
#[derive(Debug)]
pub struct RowGroup {
    /// Index of the data file in the view.
    pub data_file: u32,
    /// Row group in the data file.
    pub group: u16,
    /// Number of rows.
    pub rows: u32,
    /// Row number of the first row in the data file.
    pub first_row: u32,
    /// Bounds by column of the table's schema, then by field of its lists of structs.
    pub bounds: Arc<[ColumnStatistics]>,
}

/// An open snapshot of a table.
#[derive(Debug)]
pub struct TableView {
    schema: &'static TableSchema,
    snapshot: Snapshot,
    parts: Vec<Arc<OpenDataFile>>,
    chunks: Vec<RowGroup>,
    superseded: OnceLock<RowSet>,
}

impl TableView {
    fn open(
        lake: &Lake,
        schema: &'static TableSchema,
        former: Option<&TableView>,
    ) -> Result<Self, Error> {
        let mut attempt = 1;
        loop {
            let snapshot = lake.snapshot(schema)?;
            match Self::open_snapshot(lake, schema, &snapshot, former) {
                // A publication deleted files after the snapshot was read: read it again.
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && attempt < OPEN_ATTEMPTS =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// Opens a kept version of a table.
    pub(super) fn open_version(
        lake: &Lake,
        schema: &'static TableSchema,
        version: u64,
    ) -> Result<Self, Error> {
        Self::open_snapshot(lake, schema, &lake.snapshot_at(schema, version)?, None)
    }

    fn open_snapshot(
        lake: &Lake,
        schema: &'static TableSchema,
        snapshot: &Snapshot,
        former: Option<&TableView>,
    ) -> Result<Self, Error> {
        let folder = lake.folder(schema);
        let mut parts = Vec::with_capacity(snapshot.parts.len());
        let mut chunks = Vec::new();
        for (index, entry) in snapshot.parts.iter().enumerate() {
            let known = former.and_then(|view| {
                view.parts
                    .iter()
                    .find(|open| open.data_file.entry() == entry)
            });
            let open = match known {
                Some(open) => Arc::clone(open),
                None => Arc::new(OpenDataFile {
                    data_file: DataFile::open(&folder, entry, schema)?,
                    number: NEXT_DATA_FILE.fetch_add(1, Ordering::Relaxed),
                    last_correction: OnceLock::new(),
                }),
            };
            chunks.extend(chunks_of(schema, &open.data_file, index as u32));
            parts.push(open);
        }
        Ok(Self {
            schema,
            snapshot: snapshot.clone(),
            parts,
            chunks,
            superseded: OnceLock::new(),
        })
    }

    /// Returns the schema of the table.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Returns the snapshot behind the view.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the row groups in file order.
    pub fn chunks(&self) -> &[RowGroup] {
        &self.chunks
    }

    /// Returns the data files.
    pub fn parts(&self) -> &[Arc<OpenDataFile>] {
        &self.parts
    }

    /// Returns the row group that contains a row.
    pub fn chunk_of(&self, row: RowRef) -> Option<&RowGroup> {
        let after = self.chunks.partition_point(|chunk| {
            (chunk.data_file, chunk.first_row) <= (row.data_file, row.row)
        });
        self.chunks[..after].last()
    }

    /// Returns a decoded column of a row group, from the cache.
    pub fn column(
        &self,
        cache: &ColumnCache,
        chunk: &RowGroup,
        column: usize,
    ) -> Result<Arc<DecodedColumn>, Error> {
        let open = &self.parts[chunk.data_file as usize];
        let key = ColumnKey {
            data_file: open.number,
            group: chunk.group,
            column: column as u16,
        };
        cache.get(key, &open.data_file)
    }

    /// Returns whether a row group may hold one of some texts in a column, by the column's bloom filter.
    pub fn may_hold(
        &self,
        chunk: &RowGroup,
        column: usize,
        texts: &[String],
    ) -> Result<bool, Error> {
        let data_file = &self.parts[chunk.data_file as usize].data_file;
        match self.schema.columns.get(column) {
            Some(column) => bloom::may_hold(data_file, chunk.group.into(), &column.name, texts),
            None => Ok(true),
        }
    }

    /// Returns the record texts of rows, in the order given.
    pub fn records(&self, rows: &[RowRef]) -> Result<Vec<Bytes>, Error> {
        let mut records = vec![Bytes::new(); rows.len()];
        for data_file in 0..self.parts.len() as u32 {
            let wanted: Vec<usize> = (0..rows.len())
                .filter(|index| rows[*index].data_file == data_file)
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let numbers: Vec<u32> = wanted.iter().map(|index| rows[*index].row).collect();
            let found = self.parts[data_file as usize].data_file.records(&numbers)?;
            for (index, record) in wanted.into_iter().zip(found) {
                records[index] = record;
            }
        }
        Ok(records)
    }

    /// Returns the row with an id, found through the id indexes without a scan.
    pub fn row_of(&self, id: &str) -> Result<Option<RowRef>, Error> {
        self.row_of_digest(id_index::digest(id))
    }

    /// Returns the row whose id has a digest, as [`Self::row_of`] does.
    pub fn row_of_digest(&self, digest: u128) -> Result<Option<RowRef>, Error> {
        for (data_file, open) in self.parts.iter().enumerate() {
            if let Some(row) = open.data_file.id_index().row(digest)? {
                return Ok(Some(RowRef {
                    data_file: data_file as u32,
                    row,
                }));
            }
        }
        Ok(None)
    }

    /// Returns whether a row has got other content since a version of the table. Reads the id index of each data file
    /// that was written since, once (8 bytes per row).
    pub fn has_corrections_since(&self, version: u64) -> Result<bool, Error> {
        for open in &self.parts {
            let entry = open.data_file.entry();
            if entry.may_have_changed_since(version) && u64::from(open.last_correction()?) > version
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the rows that another row of the table supersedes; computed on first use (about 0.1 s per million rows).
    /// A row that names itself supersedes nothing.
    pub fn superseded(&self) -> Result<&RowSet, Error> {
        if let Some(rows) = self.superseded.get() {
            return Ok(rows);
        }
        let rows = self.collect_superseded()?;
        Ok(self.superseded.get_or_init(|| rows))
    }

    fn collect_superseded(&self) -> Result<RowSet, Error> {
        use arrow::array::AsArray;
        let index_of = |name| self.schema.column(name).map(|(index, _)| index);
        let columns = self.schema.supersedes.and_then(index_of);
        let Some((column, id_column)) = columns.zip(index_of(self.schema.id)) else {
            return Ok(RowSet::default());
        };
        let mut named = Vec::new();
        for chunk in self
            .chunks
            .iter()
            .filter(|chunk| chunk.bounds[column] != ColumnStatistics::AllMissing)
        {
            // Bypasses the cache: these columns are used only once.
            let data_file = &self.parts[chunk.data_file as usize].data_file;
            let values = data_file.read_column(chunk.group.into(), column)?;
            let own = data_file.read_column(chunk.group.into(), id_column)?;
            let own = own.as_string::<i32>();
            for (row, value) in values.as_string::<i32>().iter().enumerate() {
                named.extend(
                    value
                        .filter(|name| *name != own.value(row))
                        .map(id_index::digest),
                );
            }
        }
        named.sort_unstable();
        named.dedup();
        let mut rows = RowSet::default();
        if named.is_empty() {
            return Ok(rows);
        }
        for (index, open) in self.parts.iter().enumerate() {
            let mut names = named.iter().peekable();
            for entry in open.data_file.id_index().entries()? {
                while names.next_if(|name| **name < entry.id).is_some() {}
                if names.next_if(|name| **name == entry.id).is_some() {
                    rows.insert(index, entry.row, open.data_file.entry().rows);
                }
            }
        }
        Ok(rows)
    }
}

fn chunks_of(schema: &TableSchema, data_file: &DataFile, index: u32) -> Vec<RowGroup> {
    let metadata = data_file.metadata();
    let columns = schema.columns.iter().map(|column| {
        let leaf = column.filterable && !matches!(column.kind, ColumnKind::Items(_));
        leaf.then(|| leaf_of(metadata, &column.name)).flatten()
    });
    let items = schema.items.iter().map(|item| {
        let list = &schema.columns[item.list].name;
        let leaf = item.field.filterable;
        leaf.then(|| item_leaf_of(metadata, list, &item.field.name))
            .flatten()
    });
    let leaves: Vec<Option<usize>> = columns.chain(items).collect();
    let is_missing = |column: usize| !data_file.has_column(column);
    metadata
        .row_groups()
        .iter()
        .enumerate()
        .map(|(group, row_group)| {
            let rows = row_group.num_rows() as u32;
            let bounds = leaves
                .iter()
                .enumerate()
                .map(|(column, leaf)| {
                    if is_missing(column) {
                        return ColumnStatistics::AllMissing;
                    }
                    let column = leaf.map(|leaf| row_group.column(leaf));
                    let known = column.and_then(|column| Some((column, column.statistics()?)));
                    known.map_or(ColumnStatistics::Unknown, |(column, statistics)| {
                        bounds_of(statistics, column.num_values())
                    })
                })
                .collect();
            RowGroup {
                data_file: index,
                group: group as u16,
                rows,
                first_row: data_file.group_starts()[group],
                bounds,
            }
        })
        .collect()
}

/// Bounds of a column with `values` values including nulls; in a list column, an empty list counts as a null.
fn bounds_of(statistics: &Statistics, values: i64) -> ColumnStatistics {
    if statistics.null_count_opt() == u64::try_from(values).ok() {
        return ColumnStatistics::AllMissing;
    }
    let numbers = |min: Option<f64>, max: Option<f64>| match (min, max) {
        (Some(min), Some(max)) => ColumnStatistics::Numbers(min, max),
        _ => ColumnStatistics::Unknown,
    };
    match statistics {
        Statistics::Double(values) => numbers(values.min_opt().copied(), values.max_opt().copied()),
        Statistics::Int64(values) => numbers(
            values.min_opt().map(|value| *value as f64),
            values.max_opt().map(|value| *value as f64),
        ),
        Statistics::Int32(values) => numbers(
            values.min_opt().copied().map(f64::from),
            values.max_opt().copied().map(f64::from),
        ),
        Statistics::ByteArray(values) => match (values.min_opt(), values.max_opt()) {
            (Some(min), Some(max)) => ColumnStatistics::Texts(min.data().into(), max.data().into()),
            _ => ColumnStatistics::Unknown,
        },
        _ => ColumnStatistics::Unknown,
    }
}

/// A table of an engine: its current view, replaced when there is a newer snapshot.
#[derive(Debug)]
pub struct TableHandle {
    schema: &'static TableSchema,
    view: ArcSwap<TableView>,
    /// Why the table cannot be read, if it was damaged when it was opened.
    damage: ArcSwapOption<String>,
    checked: Mutex<RefreshState>,
}

/// A view that is open but not current yet.
pub(super) struct NewerView {
    view: TableView,
    stamp: Option<(SystemTime, u64)>,
}

#[derive(Debug)]
struct RefreshState {
    at: Instant,
    stamp: Option<(SystemTime, u64)>,
}

impl TableHandle {
    /// Opens the table's current snapshot. If the table `may_be_damaged` and is, its views are errors until it can be
    /// opened.
    pub fn open(
        lake: &Lake,
        schema: &'static TableSchema,
        may_be_damaged: bool,
    ) -> Result<Self, Error> {
        let stamp = Snapshot::stamp(&lake.folder(schema));
        let (view, damage) = match TableView::open(lake, schema, None) {
            Ok(view) => (view, None),
            Err(error) if may_be_damaged && error.damaged_file().is_some() => {
                tracing::error!(%error, "the table {} cannot be read", schema.name);
                let nothing = TableView::open_snapshot(lake, schema, &Snapshot::default(), None)?;
                (nothing, Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            schema,
            view: ArcSwap::from_pointee(view),
            damage: ArcSwapOption::from_pointee(damage),
            checked: Mutex::new(RefreshState {
                at: Instant::now(),
                stamp,
            }),
        })
    }

    /// Returns the schema of the table.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Returns the current view. The thread that notices a newer snapshot opens it; others continue with the existing
    /// view.
    ///
    /// # Errors
    /// A newer snapshot cannot be opened, or the table is damaged.
    pub fn current(&self, lake: &Lake) -> Result<Arc<TableView>, QueryError> {
        if let Some(mut checked) = self.checked.try_lock()
            && checked.at.elapsed() >= REFRESH_EVERY
        {
            self.refresh(lake, &mut checked)?;
        }
        self.held()
    }

    /// Checks for a newer snapshot now, regardless of the last check; called after a publication by this process.
    pub fn refresh_now(&self, lake: &Lake) -> Result<(), Error> {
        let mut checked = self.checked.lock();
        self.refresh(lake, &mut checked)
    }

    /// Returns the current view without checking for a newer snapshot.
    ///
    /// # Errors
    /// The table is damaged.
    pub(super) fn held(&self) -> Result<Arc<TableView>, QueryError> {
        match &*self.damage.load() {
            Some(reason) => Err(QueryError::Damaged {
                table: self.schema.name,
                reason: reason.to_string(),
            }),
            None => Ok(self.view.load_full()),
        }
    }

    /// Opens the latest snapshot if it is newer than the current view, but does not make it current yet.
    pub(super) fn open_newer(&self, lake: &Lake) -> Result<Option<NewerView>, Error> {
        let stamp = Snapshot::stamp(&lake.folder(self.schema));
        if stamp == self.checked.lock().stamp && self.damage.load().is_none() {
            return Ok(None);
        }
        let view = TableView::open(lake, self.schema, Some(&self.view.load()))?;
        Ok(Some(NewerView { view, stamp }))
    }

    /// Makes a view current that was opened before.
    pub(super) fn show(&self, newer: NewerView) {
        let mut checked = self.checked.lock();
        self.view.store(Arc::new(newer.view));
        self.damage.store(None);
        checked.stamp = newer.stamp;
        checked.at = Instant::now();
    }

    fn refresh(&self, lake: &Lake, checked: &mut RefreshState) -> Result<(), Error> {
        let stamp = Snapshot::stamp(&lake.folder(self.schema));
        let is_damaged = self.damage.load().is_some();
        if stamp != checked.stamp || is_damaged {
            match TableView::open(lake, self.schema, Some(&self.view.load())) {
                Ok(view) => {
                    self.view.store(Arc::new(view));
                    self.damage.store(None);
                }
                Err(error) if is_damaged => self.damage.store(Some(Arc::new(error.to_string()))),
                Err(error) => return Err(error),
            }
            checked.stamp = stamp;
        }
        checked.at = Instant::now();
        Ok(())
    }
}
