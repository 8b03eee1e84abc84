//! Loads adverts into the store: sighting by sighting ([`ingest`], whose request body [`request`] reads), or millions
//! at once if their assets are known ([`bulk`]). [`snapshot`] takes adverts offline that a portal no longer shows.

pub mod bulk;
pub mod ingest;
pub mod request;
pub mod snapshot;
