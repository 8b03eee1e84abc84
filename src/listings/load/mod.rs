//! Loads adverts into the store: sighting by sighting ([`ingest`], whose request body [`request`] reads), or millions
//! at once when it is known which of them show one asset ([`bulk`]). [`snapshot`] takes offline what a portal shows no more.

pub mod bulk;
pub mod ingest;
pub mod request;
pub mod snapshot;
