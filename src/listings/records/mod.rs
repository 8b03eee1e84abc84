//! The listings in the store: reads and writes.
//!
//! [`read`] returns records by identifier, [`changes`] the records changed after a sequence. `rows` reads the tables
//! for the rest of the crate. `tables` changes them inside a transaction, passes written records to the alerts
//! (`percolation`) and tracks the recent changes of others (`recent_changes`).

pub mod changes;
mod documents;
mod listings;
pub(crate) mod percolation;
pub mod read;
pub(crate) mod recent_changes;
pub(crate) mod rows;
pub(crate) mod tables;

pub use listings::{Error, Listings, OrderRefused, Result};
