//! What a command returns.

use std::error::Error;

/// Result of a command. An error is printed after `error:` and the exit code is 1.
pub type CommandResult = Result<(), Box<dyn Error + Send + Sync>>;
