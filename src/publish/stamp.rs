//! A cheap value that shows whether a data folder may have changed since it was published.
//!
//! It is derived from the files that name all others (the snapshots of the tables, the current model and the current
//! addresses) and from counters of the store. A record that was only moved to another key does not change anything for
//! readers, so the stamp ignores it.

use std::fmt::Write;
use std::path::Path;

use super::capture::{ADDRESSES, CURRENT, LAKE, MODELS, entries};
use super::{Error, Result};
use toise_base::missing::optional;
use toise_lake::snapshot;
use toise_store::Store;

/// Returns the current stamp of a data folder. Costs a few `stat` calls and a read of four numbers.
///
/// # Errors
/// Folder or store cannot be read.
pub fn of(data: &Path, store: &Store) -> Result<String> {
    let mut stamp = format!("{:?}", store.replicated_stamp()?);
    let tables = entries(&data.join(LAKE))?.into_iter();
    let snapshots = tables
        .filter(|name| name.starts_with('_'))
        .map(|name| data.join(LAKE).join(name).join(snapshot::FILE_NAME));
    let lists = [MODELS, ADDRESSES].map(|folder| data.join(folder).join(CURRENT));
    for path in snapshots.chain(lists) {
        let about = optional(std::fs::metadata(&path)).map_err(Error::io(&path))?;
        let Some(about) = about else { continue };
        let modified = about.modified().map_err(Error::io(&path))?;
        // Writing to a text never fails.
        let _ = write!(stamp, " {} {} {modified:?}", path.display(), about.len());
    }
    Ok(stamp)
}
