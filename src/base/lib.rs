//! Basics that all crates share: clock, limits on input, delimiters of text, supervised workers, reproducible
//! randomness, progress bars, reports, staging folders, files that are replaced atomically or may be missing, named
//! values.

#![forbid(unsafe_code)]

pub mod bounded;
pub mod clock;
pub mod delimiter;
pub mod disk;
pub mod durable;
pub mod file_lock;
pub mod formula;
pub mod items;
pub mod missing;
mod named;
pub mod networks;
pub mod parallel;
pub mod progress;
pub mod reports;
pub mod splitmix;
pub mod staging;
pub mod supervise;
pub mod watch;
