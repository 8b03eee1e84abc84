//! The cadastral parcels of an address, read from the lake's table `ban` by the address's identifier.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arrow::array::{Array, AsArray};
use parking_lot::Mutex;

use crate::table;
use toise_lake::data_file::DataFile;
use toise_lake::id_index;
use toise_lake::snapshot::Snapshot;
use toise_lake::{Error, Lake};

/// Column of the parcels.
const COLUMN: &str = "parcel_ids";

/// Reader of parcels. The table's files are opened at the first request after an import.
pub struct Parcels {
    data: PathBuf,
    opened: Mutex<Option<OpenTable>>,
}

/// The files of a snapshot.
struct OpenTable {
    stamp: Option<(SystemTime, u64)>,
    files: Arc<Vec<DataFile>>,
}

impl Parcels {
    /// Creates a reader of the parcels of a data folder's addresses.
    pub fn new(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            opened: Mutex::new(None),
        }
    }

    /// Returns the parcels of an address; empty if the base names none. Decodes one column of one row group, which
    /// takes at most a few milliseconds.
    ///
    /// # Errors
    /// The table cannot be read or is damaged.
    pub fn of(&self, id: &str) -> Result<Vec<String>, Error> {
        let schema = table::schema();
        let Some((column, _)) = schema.column(COLUMN) else {
            return Ok(Vec::new());
        };
        for file in self.files()?.iter() {
            let Some(row) = file.id_index().row(id_index::digest(id))? else {
                continue;
            };
            let starts = file.group_starts();
            let group = starts
                .partition_point(|start| *start <= row)
                .saturating_sub(1);
            let lists = file.read_column(group, column)?;
            let lists = lists.as_list::<i32>();
            let at = (row - starts[group]) as usize;
            if lists.is_null(at) {
                return Ok(Vec::new());
            }
            let texts = lists.value(at);
            let texts = texts.as_string::<i32>();
            return Ok(texts.iter().flatten().map(str::to_owned).collect());
        }
        Ok(Vec::new())
    }

    fn files(&self) -> Result<Arc<Vec<DataFile>>, Error> {
        let schema = table::schema();
        let folder = Lake::folder_in(&self.data, schema);
        let stamp = Snapshot::stamp(&folder);
        let mut opened = self.opened.lock();
        if let Some(open) = opened.as_ref().filter(|open| open.stamp == stamp) {
            return Ok(Arc::clone(&open.files));
        }
        let files = match stamp {
            None => Vec::new(),
            Some(_) => {
                let snapshot = Lake::open_existing(&self.data)?.snapshot(schema)?;
                let open = |entry| DataFile::open(&folder, entry, schema);
                snapshot.parts.iter().map(open).collect::<Result<_, _>>()?
            }
        };
        let files = Arc::new(files);
        *opened = Some(OpenTable {
            stamp,
            files: Arc::clone(&files),
        });
        Ok(files)
    }
}
