//! `toise restore`: restores a data folder from a backup; every byte is verified before the folder is published.

use std::path::{Path, PathBuf};

use clap::Args;

use super::backup::report;
use super::{CommandResult, Common};
use toise_accounts::audit::{Act, audited};
use toise_alerts::open_data;
use toise_app::backup::restore::StagedRestore;
use toise_app::{contours, personal_data, verify};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_collect::portals::Portals;
use toise_erasure::list;
use toise_geocode::live::LiveGeocoder;
use toise_geocode::{folder as index, table};
use toise_lake::Lake;
use toise_lake::snapshot::Snapshot;
use toise_store::{self as store, Store};

/// Arguments of `restore`.
#[derive(Args, Debug)]
#[command(after_help = "\
The data folder must be absent or empty. Keys are restored as they were when the backup was taken: keys created later
are unknown, and keys revoked later work again. Contacts that were erased later are still in the backup: --erased erases
them again before the command ends.

Examples:

  toise restore /backups/2026-11-21.tar --data ./restored
  toise restore /backups/2026-11-21.tar --data ./restored-again --erased ./former/erased-contacts.json
  toise serve --data ./restored")]
pub struct RestoreArgs {
    /// Folder or tar file created by `toise backup`
    #[arg(value_name = "DIR|FILE.tar")]
    from: PathBuf,
    /// erased-contacts.json of the former data folder or of a newer backup: its contacts are erased from the restored
    /// data
    #[arg(long, value_name = "FILE")]
    erased: Option<PathBuf>,
}

/// Runs `restore`.
pub fn run(common: &Common, arguments: &RestoreArgs) -> CommandResult {
    let bar = Progress::new(common.json).bytes("restoring", Some(0));
    let restored = StagedRestore::prepare(&arguments.from, &common.data, &bar)?;
    if restored.folder().join("lake").exists() {
        // Opening the lake creates the shared folders.
        Lake::open_existing(&restored.folder())?;
    }
    bar.set_message("verifying");
    bar.inc_length(bar.length().unwrap_or_default());
    verify::files(&restored.folder(), &|bytes| bar.inc(bytes))?;
    bar.finish_and_clear();
    // A backup holds the table of addresses, not the index derived from it.
    let bar = Progress::new(common.json).rows("index of addresses", addresses(&restored.folder())?);
    index::rebuild(&restored.folder(), &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    if let Some(erased) = &arguments.erased {
        list::merge(erased, &restored.folder())?;
    }
    let manifest = restored.publish()?;
    if let Some(store) = Store::open_existing(&common.data).ok().flatten() {
        open_data::rewind(&store, &common.data)?;
    }
    if arguments.erased.is_some() {
        erase_again(common)?;
    }
    if let Err(error) = note(&common.data, &arguments.from) {
        // This is not an error: the folder is complete, and the store may not open because its master key is elsewhere.
        eprintln!("the restore is not recorded in the audit log of the restored folder: {error}");
    }
    report(common, "data", &common.data, &manifest);
    Ok(())
}

/// Erases the contacts of the list in the restored folder from its data. If this fails, the next server does it before
/// it serves.
fn erase_again(common: &Common) -> CommandResult {
    let Some(store) = Store::open_existing(&common.data)? else {
        return Ok(());
    };
    let listings = common
        .listings(store.clone(), Clock::system())?
        .with_contours(contours::kept(&common.data))
        .with_addresses(LiveGeocoder::open(&common.data))
        .with_identity(Portals::load(&common.data)?.identity());
    personal_data::resume(&common.data, &store, &listings)?;
    Ok(())
}

/// Returns the number of addresses in a data folder.
fn addresses(data: &Path) -> Result<u64, toise_lake::Error> {
    let folder = Lake::folder_in(data, table::schema());
    Ok(Snapshot::load(&folder)?.rows())
}

/// Appends the restore to the audit log of the restored store, if there is one.
fn note(data: &Path, from: &Path) -> store::Result<()> {
    let Some(store) = Store::open_existing(data)? else {
        return Ok(());
    };
    let from = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    let act = Act::at_command_line("restore").on(format!("from {}", from.display()));
    audited(&store, &Clock::system(), act, || Ok(()))
}
