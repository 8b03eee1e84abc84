//! The index of addresses: one immutable, memory-mapped segment per department, derived from the lake's table `ban`.
//!
//! [`builder`] writes a segment from the addresses of a department, [`segment`] reads it, and [`layout`] defines the
//! file format. [`crate::folder`] publishes the segments of all departments together.

mod area_key;
pub mod builder;
mod house_number;
pub mod layout;
pub mod segment;
pub mod word_kind;
pub(crate) mod words_view;
