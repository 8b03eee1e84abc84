//! What every room stands on: the clock, supervised workers, leaders, reproducible randomness, progress bars, reports.

pub mod clock;
pub mod leader;
pub mod progress;
pub mod reports;
pub mod splitmix;
pub mod supervise;
pub mod watch;
