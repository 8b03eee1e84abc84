//! The names of the files of a portfolio and of their folder.

/// Folder of the portfolios in a data folder.
pub const FOLDER: &str = "portfolios";
/// Name of the file of homes.
pub(super) const HOMES: &str = "homes.parquet";
/// Name of the file with the checksum of the homes.
pub const CHECKSUM: &str = "homes.blake3";

/// Returns the name of the file of a valuation.
pub(super) fn values_file(valuation: u32) -> String {
    format!("values-{valuation}.parquet")
}
