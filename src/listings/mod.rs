//! Listings: adverts of many portals, and the properties they stand for.
//!
//! [`dedup`] tells whether two adverts offer the same asset.

pub mod dedup;
