//! Searches in a base of a few streets: texts that people write, and texts that must have no result.

#![expect(clippy::unwrap_used, reason = "test")]

mod base;
mod numbers;
mod parts;
mod reverse;
mod spelling;
mod towns;
mod without_town;
