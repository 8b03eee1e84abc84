//! `toise restore`: a data folder from a backup, checked to the last byte before it appears.

use std::path::PathBuf;

use clap::Args;

use super::backup::{open_tables, report};
use super::{CommandResult, Common};
use toise_app::backup::restore::Restored;
use toise_base::progress::Progress;

/// Arguments of `restore`.
#[derive(Args, Debug)]
#[command(after_help = "\
The data folder must not exist, or be empty. Keys work as they did when the backup was taken: those made since are
unknown, those revoked since work again.

Example:

  toise restore /backups/2026-11-21.tar --data ./restored
  toise serve --data ./restored")]
pub struct RestoreArgs {
    /// Folder or tar file that `toise backup` made
    #[arg(value_name = "DIR|FILE.tar")]
    from: PathBuf,
}

/// Runs `restore`.
pub fn run(common: &Common, arguments: &RestoreArgs) -> CommandResult {
    let bar = Progress::new(common.json).bytes("restoring", Some(0));
    let restored = Restored::prepare(&arguments.from, &common.data, &bar)?;
    open_tables(&restored.folder())?;
    let manifest = restored.publish()?;
    bar.finish_and_clear();
    report(common, "data", &common.data, &manifest);
    Ok(())
}
