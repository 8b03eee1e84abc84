//! Open-data requests: tables of their fields, and the parser that validates bodies against them.

pub mod address;
pub mod bodies;
pub mod history;
mod parse;

pub use history::parse_history;
pub use parse::{parse_match, parse_match_many, parse_saved_search, parse_search};
