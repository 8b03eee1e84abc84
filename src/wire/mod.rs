//! The contract's types at the edge: what a body may hold, and the walk that turns it into a valid request.
//!
//! [`opendata`] declares each open-data body once, as a table; [`parse`] validates bodies against those tables, and
//! the OpenAPI document is written from them too, so the three cannot disagree. No input or output happens here: the
//! HTTP routes and the bulk command call the same functions. [`listings`] holds properties and adverts as types that
//! [`read`] fills, with the closed sets of values of [`enums`].
//!
//! Choices the contract leaves to us, in one place:
//! - keys unknown to a table are refused; `null` is not a value of any type, but in a record of a listing it says that
//!   a field is unknown;
//! - a key written twice counts once, with its last value, as in JavaScript;
//! - an empty list, and a range without bounds, do not constrain;
//! - `sortOrder` defaults to `desc`, whatever `sortBy` is;
//! - a date-time without an offset is UTC.

pub mod admin;
pub mod admin_answers;
pub mod adverts;
pub mod alerts;
pub mod collect;
pub mod dates;
pub mod delivery;
pub mod distances;
pub mod enums;
pub mod estimate;
pub mod fault;
pub mod listings;
pub mod opendata;
pub mod parse;
pub mod query;
pub mod read;
mod walk;

pub use fault::Fault;
pub use parse::{parse_match, parse_match_many, parse_search};
