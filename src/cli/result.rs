//! Result type of commands.

use std::error::Error;

/// Any error that makes a command fail.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Result of a command. An error is printed after `error:` and the exit code is 1.
pub type CommandResult = Result<(), Failure>;
