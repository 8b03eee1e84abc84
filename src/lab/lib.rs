//! The laboratory: evaluations of matching, deduplication, estimates and the geocoder, on the data of [`synth`].
//!
//! Only the executable depends on it; no code that serves requests does.

#![forbid(unsafe_code)]

pub mod dedup;
pub mod estimate;
pub mod geocode;
pub mod letters;
pub mod matching;

pub use toise_synth as synth;
