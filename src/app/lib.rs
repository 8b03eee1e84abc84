//! The application: its configuration, its composition from the rooms, and copies of its data folder.

pub mod backup;
pub mod compose;
pub mod config;
pub mod contours;
pub mod serve;

/// Why the service could not be composed or run, in words for an operator.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
