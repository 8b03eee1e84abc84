//! The laboratory: evaluations that developers of toise run, with the executable `toise-lab`.
//!
//! It measures matching, deduplication, the geocoder and extraction on drawn, labelled or synthetic data, and fits the
//! weights of deduplication. Nothing here is part of the executable `toise`.

#![forbid(unsafe_code)]

mod commands;
pub mod dedup;
pub mod geocode;
pub mod matching;

pub use commands::main;
