//! Loads adverts into the store: sighting by sighting ([`ingest`], whose request body [`request`] reads), or millions
//! at once if their assets are known ([`bulk`]). `stamps` dates sightings that do not say when they were made, and
//! corrects such dates after the clock was wrong. [`snapshot`] takes adverts offline that a portal no longer shows.

pub mod bulk;
pub mod ingest;
pub mod request;
pub mod snapshot;
mod stamps;
