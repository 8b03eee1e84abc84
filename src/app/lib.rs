//! The application: its configuration, its composition from the other crates, and backups of its data folder.

#![forbid(unsafe_code)]

pub mod backup;
pub mod compose;
pub mod config;
pub mod contours;
pub(crate) mod disk;
pub mod doctor;
pub mod dumps;
mod features;
pub mod importing;
mod merges;
mod open_files;
pub mod personal_data;
pub mod publishing;
pub(crate) mod readiness;
pub mod refresh;
mod refreshing;
pub mod replica;
pub mod serve;
pub mod sql_process;
mod sweep;
pub mod training;
pub mod verify;
mod waiting_rows;

/// The default data folder of commands.
pub const DEFAULT_DATA: &str = "./toise-data";

/// Why the service could not be composed or run, as a message for the operator.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
