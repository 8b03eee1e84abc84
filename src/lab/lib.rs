//! Evaluations of matching, deduplication, estimates and the geocoder. [`synth`] is the generator of synthetic data.
//!
//! The executable and tests depend on it; no code that serves requests does.

#![forbid(unsafe_code)]

pub mod dedup;
pub mod estimate;
pub mod geocode;
pub mod letters;
pub mod matching;

pub use toise_synth as synth;
