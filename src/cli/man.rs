//! `toise man`: writes a manual page for each command, made from its help.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};

use super::CommandResult;

/// Arguments of `man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: for all users of this machine, then read one

  toise man /usr/local/share/man/man1
  man toise-serve")]
pub struct ManArgs {
    /// Folder for the pages; created if absent
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs `man`. `toise` is the whole command line.
pub fn run(arguments: &ManArgs, toise: Command) -> CommandResult {
    let folder = &arguments.folder;
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(toise, folder))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(())
}
