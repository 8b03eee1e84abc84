//! The contract's types at the edge: what a body may hold, and the walk that turns it into a valid request.
//!
//! No input or output happens here: the HTTP routes and the bulk commands call the same functions. [`listings`] holds
//! properties and adverts as types that [`read`] fills, with the closed sets of values of [`enums`]. Requests are tables of
//! [`fields`], each in the room that takes it: one table reads the request and writes its schema.
//!
//! Choices the contract leaves to us, in one place:
//! - keys unknown to a table are refused; `null` is not a value of any type, but in a record of a listing it says that
//!   a field is unknown;
//! - a key written twice counts once, with its last value, as in JavaScript;
//! - an empty list, and a range without bounds, do not constrain;
//! - `sortOrder` defaults to `desc`, whatever `sortBy` is;
//! - a date-time without an offset is UTC.

pub mod cursor;
pub mod dates;
pub mod distances;
pub mod enums;
pub mod fault;
pub mod fields;
pub mod filter;
pub mod listings;
pub mod position;
pub mod query;
pub mod read;
pub mod walk;

pub use fault::Fault;
