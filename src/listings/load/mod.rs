//! Loads adverts into the store: sighting by sighting ([`ingest`], whose request body [`request`] reads), or millions
//! at once when it is known which of them show one asset ([`bulk`]).

pub mod bulk;
pub mod ingest;
pub mod request;
