//! Stores and opens the IRIS contours of a data folder: they are given once to an import, stored under `reference/` and
//! used from then on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toise_geo::iris::IrisIndex;

use crate::Failure;

fn path(data: &Path) -> PathBuf {
    data.join("reference").join("iris.geojson.gz")
}

/// Returns the path of the contours stored in a data folder; `None` if there are none.
pub fn kept(data: &Path) -> Option<PathBuf> {
    Some(path(data)).filter(|kept| kept.is_file())
}

/// Opens the given contours and stores a copy of them, or opens those stored earlier.
///
/// # Errors
/// The file cannot be read or copied.
pub fn open_or_keep(data: &Path, given: Option<&Path>) -> Result<Option<Arc<IrisIndex>>, Failure> {
    let Some(given) = given else {
        let open = |kept: PathBuf| IrisIndex::open(&kept).map(Arc::new);
        return Ok(kept(data).map(open).transpose()?);
    };
    let kept = path(data);
    let index = IrisIndex::open(given)?;
    if let Some(folder) = kept.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let part = kept.with_extension("part");
    std::fs::copy(given, &part)?;
    std::fs::rename(&part, &kept)?;
    Ok(Some(Arc::new(index)))
}
