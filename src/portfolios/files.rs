//! The names of the files of a portfolio and of their folder.

/// Folder of the portfolios in a data folder.
pub const FOLDER: &str = "portfolios";
/// Name of the file of homes.
pub(super) const HOMES: &str = "homes.parquet";
/// Name of the file with the checksum of the homes.
pub const CHECKSUM: &str = "homes.blake3";

/// Name under which the file of a valuation is kept that could not be read; empty if it was missing.
pub(super) const LOST: &str = "values.damaged";

/// Name under which homes are kept that could not be read; empty if they were missing.
pub(super) const LOST_HOMES: &str = "homes.damaged";

/// Returns the name of the file of a valuation.
pub(super) fn values_file(valuation: u32) -> String {
    format!("values-{valuation}.parquet")
}
