//! `toise backup`: copies the data folder to a folder or a tar file, also while the server is running.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::result::Failure;
use super::usage::write_journals;
use super::{CommandResult, Common};
use toise_accounts::audit::{Act, audited};
use toise_app::backup::stage::StagedBackup;
use toise_app::backup::{self, Manifest};
use toise_app::verify;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_store::Store;

/// Arguments of `backup`.
#[derive(Args, Debug)]
#[command(after_help = "\
The backup holds the store, every table, the estimator's model and report cards, portfolios, toise.toml, reference/ and
reports/.
It is published only when complete and verified: every byte of the tables, the layers, the model, the homes of portfolios
and the store is compared with its checksum, and damaged files are named. On the same file system, a backup folder shares
the tables' files with the data folder through hard links, which is quick and needs no second copy of them; a tar file
holds copies. The backup contains the data that keys and secrets are verified with: protect it like the data folder.

Examples:

  toise backup /backups/2026-11-21
  toise backup /backups/2026-11-21.tar --json")]
pub struct BackupArgs {
    /// New folder, or new file whose name ends in .tar
    #[arg(value_name = "DIR|FILE.tar")]
    to: PathBuf,
}

/// Runs `backup`.
pub fn run(common: &Common, arguments: &BackupArgs) -> CommandResult {
    // Opening the store would create the missing file.
    if let Some(lost) = Store::lost_file(&common.data) {
        return Err(backup::Error::Lost(lost).into());
    }
    let clock = Clock::system();
    let take = || take(common, arguments, &clock);
    let manifest = match Store::open_existing(&common.data)? {
        // A backup copies every secret of the store, so the audit log records it.
        Some(store) => {
            let to = std::path::absolute(&arguments.to)?;
            let act = Act::at_command_line("backup").on(format!("to {}", to.display()));
            write_journals(&store, &clock);
            audited(&store, &clock, act, take)?
        }
        None => take()?,
    };
    report(common, "backup", &arguments.to, &manifest);
    Ok(())
}

fn take(common: &Common, arguments: &BackupArgs, clock: &Clock) -> Result<Manifest, Failure> {
    let bar = Progress::new(common.json).bytes("reading", Some(0));
    let stage = StagedBackup::take(&common.data, &arguments.to, clock, &bar)?;
    bar.set_message("verifying");
    bar.inc_length(stage.bytes());
    verify::files(stage.folder(), &|bytes| bar.inc(bytes))?;
    let manifest = stage.publish()?;
    bar.finish_and_clear();
    Ok(manifest)
}

/// Prints the path, size and date of a backup or a restored folder.
pub(super) fn report(common: &Common, key: &str, path: &Path, manifest: &Manifest) {
    let (files, bytes) = (manifest.files.len(), manifest.bytes());
    let at = &manifest.created_at;
    common.print_result(
        json!({key: path, "created_at": at, "files": files, "bytes": bytes}),
        format!(
            "{}: {files} files, {:.1} MB, as of {at}",
            path.display(),
            bytes as f64 / 1e6
        ),
    );
}
