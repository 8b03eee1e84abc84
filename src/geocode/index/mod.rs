//! The index of addresses: one immutable, memory-mapped segment per department, derived from the national address base.
//!
//! [`builder`] writes a segment from the addresses of a department, [`segment`] reads it, and [`layout`] says what lies
//! in the file.

pub mod builder;
pub mod layout;
pub mod segment;
pub mod word_kind;
