//! Reads and writes the listings in the store.
//!
//! [`read`] returns records by identifier, and [`changes`] returns the records that changed after a sequence. `rows`
//! reads the tables for the rest of the crate. [`erased`] is the list of contacts that are never stored again;
//! [`erasing`] removes them from stored records. `tables` changes them inside a transaction, passes written records to
//! the alerts (`percolation`) and tracks the recent changes of others (`recent_changes`).

pub mod changes;
mod documents;
pub mod erased;
pub mod erasing;
mod listings;
pub(crate) mod percolation;
pub mod read;
pub(crate) mod recent_changes;
pub(crate) mod rows;
pub(crate) mod tables;

pub use listings::{Error, Listings, OrderRefused, Result};
