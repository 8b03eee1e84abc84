//! The files of a portfolio: their names, and their folder.

use std::fs;
use std::io;
use std::path::Path;

/// Folder of the portfolios in a data folder.
pub const FOLDER: &str = "portfolios";
/// Name of the file of homes.
pub(super) const HOMES: &str = "homes.parquet";

/// Returns the name of the file of a valuation.
pub(super) fn values_file(valuation: u32) -> String {
    format!("values-{valuation}.parquet")
}

/// Makes the entries of a folder durable.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Deletes a folder, if it exists.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
