//! What may be asked of properties and adverts: filters, and the bodies that carry them.
//!
//! [`tables`] states FilterProperty and FilterAdvert once, as [`model`]s whose fields say what they take and which
//! column they constrain. [`parse`] reads a filter against them into the engine's [`crate::filter::Filter`],
//! [`bodies`] reads searches, counts, analytics and the queries of alerts, and the OpenAPI document is written from the
//! same tables. Lite searches take the fields that say so.

pub mod bodies;
mod habitation;
pub mod model;
pub mod parse;
pub mod place;
pub mod tables;
#[cfg(test)]
mod tests;

pub use bodies::{
    AnalyticsRequest, Listing, Search, SearchRequest, SimilarsRequest, parse_analytics,
    parse_count, parse_many, parse_search, parse_search_query, parse_similars,
};
pub use model::Part;
