//! What every room stands on: the clock, progress bars, reports.

pub mod clock;
pub mod progress;
pub mod reports;
