//! Finds the positions of addresses and the addresses at positions.
//!
//! A search first looks for words that may name a commune, then for the streets of those communes, then for the house
//! number. A commune has about 85 streets, so every word of the query is compared fuzzily with every word of the few
//! communes it may mean, and no global fuzzy index is needed. [`Geocoder::search`] answers forward queries,
//! [`Geocoder::reverse`] answers queries for a position.

pub mod address;
pub mod file;
pub mod folder;
pub mod given;
pub mod index;
pub mod live;
pub mod parcels;
pub mod places;
pub mod projects;
pub mod request;
pub mod resolve;
pub mod reverse;
pub mod search;
pub mod service;
pub mod settings;
pub mod table;
pub mod text;
pub mod upstream;

pub use search::Geocoder;
