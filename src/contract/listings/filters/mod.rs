//! Filters of properties and adverts, and the bodies that contain them.
//!
//! [`tables`] defines FilterProperty and FilterAdvert once, as [`model`]s whose fields have a type and the column they
//! constrain. [`parse`] translates a filter to the engine's [`crate::filter::Filter`] with them, [`bodies`] parses
//! searches, counts, analytics and the queries of alerts, and the OpenAPI document is generated from the same tables.
//! Lite searches accept only the fields marked as lite.

pub mod bodies;
mod habitation;
pub mod model;
pub mod parse;
pub mod place;
pub mod tables;
#[cfg(test)]
mod tests;

pub use bodies::{
    AnalyticsRequest, ListingKind, ListingSearch, PropertySearchRequest, SimilarsRequest,
    parse_analytics, parse_count, parse_many, parse_saved_search, parse_search, parse_search_query,
    parse_similars,
};
pub use model::FieldSubset;
