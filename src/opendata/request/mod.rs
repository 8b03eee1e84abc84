//! The requests about open data: what their bodies may hold, and the walk that reads them.

pub mod bodies;
mod parse;

pub use parse::{parse_match, parse_match_many, parse_search};
