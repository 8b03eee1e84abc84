//! `toise completions`: prints the script that completes commands, options and their values in a shell.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::CommandResult;

/// Arguments of `completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: for the current user's bash

  toise completions bash > ~/.local/share/bash-completion/completions/toise")]
pub struct CompletionsArgs {
    /// Shell to print the script for
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Runs `completions`. `toise` is the whole command line.
pub fn run(arguments: &CompletionsArgs, mut toise: Command) -> CommandResult {
    let mut script = Vec::new();
    generate(arguments.shell, &mut toise, "toise", &mut script);
    // Ends quietly if nobody reads it, unlike `Write`.
    print!("{}", String::from_utf8_lossy(&script));
    Ok(())
}
