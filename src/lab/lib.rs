//! The laboratory: synthetic data in the official formats, and evaluations of matching, deduplication, estimates, the
//! geocoder and the reading of pages.
//!
//! Only the executable depends on it; no code that serves requests does.

pub mod dedup;
pub mod estimate;
pub mod extraction;
pub mod geocode;
pub mod matching;
pub mod synth;
