//! What a command returns.

use std::error::Error;

/// Why a command failed.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Result of a command. An error is printed after `error:` and the exit code is 1.
pub type CommandResult = Result<(), Failure>;
