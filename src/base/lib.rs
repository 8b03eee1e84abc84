//! Foundations of all rooms: the clock, progress bars, report files.

pub mod clock;
pub mod progress;
pub mod reports;
