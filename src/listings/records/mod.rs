//! What the store holds of listings, read and written.
//!
//! [`read`] gives records by identifier, [`changes`] what changed after a number; `rows` reads the tables for the rest of
//! the room, and `tables` changes them inside a transaction, which hands what it writes to the alerts (`percolation`)
//! and knows what changed lately (`recent`).

pub mod changes;
mod documents;
mod listings;
pub(crate) mod percolation;
pub mod read;
pub(crate) mod recent_changes;
pub(crate) mod rows;
pub(crate) mod tables;

pub use listings::{Error, Listings, Result};
