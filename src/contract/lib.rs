//! Types of the contract: what a body may contain, and the validation that turns it into a request.
//!
//! This crate does no input or output: the HTTP routes and the bulk commands call the same functions. [`listings`]
//! defines properties and adverts as types that [`read`] deserialises, with the enumerations of [`enums`]. Requests are
//! tables of [`fields`], each in the crate that handles it: one table reads the request and writes its schema.
//!
//! Choices that the contract leaves open:
//! - unknown keys are refused; `null` is not a value of any type, except that in a record of a listing it marks a
//!   field as unknown;
//! - a duplicate key counts once, with its last value, as in JavaScript;
//! - an empty list and a range without bounds do not constrain;
//! - `sortOrder` defaults to `desc` for every `sortBy`;
//! - a date-time without an offset is UTC.

#![forbid(unsafe_code)]

pub mod columns;
pub mod cursor;
pub mod dates;
pub mod distances;
pub mod enums;
pub mod fault;
pub mod fields;
pub mod filter;
pub mod isochrone;
pub mod listings;
pub mod position;
pub mod query;
pub mod read;
pub mod sample;
pub mod walk;

pub use fault::Fault;
