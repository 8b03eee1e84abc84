//! Loads adverts into the store: sighting by sighting ([`ingest`]; [`request`] reads its request body), or millions at
//! once if their assets are known ([`bulk`]). `stamps` dates sightings that carry no time, and corrects these dates if
//! the clock was wrong. [`snapshot`] takes adverts offline that a portal no longer shows.

pub mod bulk;
pub mod ingest;
pub mod request;
pub mod snapshot;
mod stamps;
