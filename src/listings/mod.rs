//! Listings: properties and adverts.
//!
//! [`columns`] lays records out in the columns questions run over.

pub mod columns;
