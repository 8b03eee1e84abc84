//! The lake: what is big and read in columns, as immutable Parquet files under one folder per table.
//!
//! A table is a folder and a snapshot ([`snapshot`]) that names its live files ([`part`]). An import ([`import`])
//! gathers rows, sorts them along the clustering order ([`cluster`]), drops what is already there, and publishes new
//! files ([mod@write]) by swapping the snapshot: all or nothing. Several imports make several sorted runs; [`import`]
//! merges runs of similar size ([`merge`]) so that their number stays logarithmic. Every byte of a file lies under a
//! checksum ([`sums`]) and is verified when it is read ([`checked`]); [`check`] verifies all of them.

pub mod check;
pub mod checked;
pub mod cluster;
mod error;
mod folder;
pub mod ids;
pub mod import;
pub mod merge;
pub mod part;
mod rewrite;
mod rows;
pub mod schema;
pub mod snapshot;
mod sort;
pub mod sums;
pub mod write;

pub use error::Error;
pub use folder::Lake;
pub use rows::{ImportOutcome, RowSink, Slice, Source};
