//! The lake: large tables that are read by column, as immutable Parquet files in one folder per table.
//!
//! A table is a folder and a snapshot ([`snapshot`]) that names its current data files ([`data_file`]). An import
//! ([`import`]) collects rows, sorts them by clustering key ([`cluster`]), drops those that already exist, and
//! publishes new files ([mod@write]) atomically by replacing the snapshot. Previous snapshots are kept as versions
//! (`versions`), and other programs read a folder derived from them (`shared_folder`, `delta`). Each import creates a
//! sorted run; [`import`] merges runs of similar size ([`merge`]) so that their number stays logarithmic. Every byte of
//! a file is covered by a checksum ([`checksums`]) and verified when it is read ([`checked`]); [`check`] verifies all
//! of them.

#![forbid(unsafe_code)]

pub mod bloom;
pub mod check;
pub mod checked;
pub mod checksums;
pub mod cluster;
#[cfg(test)]
mod columns_tests;
pub mod data_file;
mod delta;
mod error;
mod files;
mod folder;
pub mod foreign;
pub mod geoparquet;
pub mod id_index;
pub mod import;
mod layout;
mod locked_table;
pub mod merge;
pub mod partial;
mod provenance;
mod rewrite;
mod rows;
pub mod schema;
pub mod settings;
mod shared_folder;
pub mod snapshot;
mod sort;
mod stored_rows;
mod versions;
pub mod write;

pub use error::Error;
pub use folder::Lake;
pub use provenance::{INVENTED_LICENCE, Provenance};
pub use rows::{ImportOutcome, RowSink, Slice};
pub use stored_rows::StoredRows;
