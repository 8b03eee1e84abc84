//! `toise erase`: removes the contacts of a person from everything that is stored. Works while a server is running.

use clap::{ArgGroup, Args};

use super::{CommandResult, Common};
use toise_accounts::audit::{Act, audited_with_subject};
use toise_app::{contours, replica};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_collect::portals::Portals;
use toise_erasure::request::contacts;
use toise_erasure::{Eraser, ErasureReport, Mode};
use toise_geocode::live::LiveGeocoder;
use toise_lake::Lake;
use toise_store::Store;

/// Arguments of `erase`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("contact").required(true).multiple(true).args(["phone", "email", "name"]))]
#[command(after_help = "\
Give all contacts of the person in one call. Telephone numbers match with or without +33, spaces and dots. Email
addresses match in any case. Names match as a whole, in any case and order, with or without accents. A contact person
with one of them is removed from an advert as a whole, and so is the name of a private seller.

The search covers adverts and properties with all kept versions of their tables, deliveries of alerts, stored responses,
pages and reports (docs/personal-data.md). The contacts are kept as keyed digests, and removed from every advert that
arrives later. Copy erased-contacts.json from the data folder to where the backups are: `toise restore --erased` applies
it to an older backup.

A running server continues; its writes wait while the store is rewritten. If the command is killed, run it again: it may
not have recorded the erasure yet. A server that starts completes a recorded erasure. The server erases the same way at
POST /v2/protected/admin/erasures.

Examples:

  toise erase --phone \"06 12 34 56 78\" --dry-run
  toise erase --phone +33612345678 --email jean@example.fr --name \"Jean Dupont\" --json")]
pub struct EraseArgs {
    /// Telephone number of the person
    #[arg(long, value_name = "N")]
    phone: Option<String>,
    /// Email address of the person
    #[arg(long, value_name = "E")]
    email: Option<String>,
    /// Whole name of the person, as private seller or contact person
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Report what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs `erase`.
pub fn run(common: &Common, arguments: &EraseArgs) -> CommandResult {
    let given = [&arguments.phone, &arguments.email, &arguments.name];
    let contacts = contacts(given.map(Option::as_deref))?;
    let of_writer = "this folder is a replica's: erase in the folder of its writer, then publish";
    replica::refuse_folder(&common.data).map_err(|_| of_writer)?;
    let store = Store::open_existing(&common.data)?;
    let store = store.ok_or("nothing to erase: the data folder has no store")?;
    let clock = Clock::system();
    let listings = common
        .listings(store.clone(), clock.clone())?
        .with_contours(contours::kept(&common.data))
        .with_addresses(LiveGeocoder::open(&common.data))
        .with_identity(Portals::load(&common.data)?.identity());
    let eraser = Eraser::new(store.clone(), listings, Lake::open(&common.data)?)
        .with_progress(Progress::new(common.json));
    let report = if arguments.dry_run {
        eraser.erase(&contacts, Mode::DryRun)?
    } else {
        let act = Act::at_command_line("erase");
        let subject = |report: &ErasureReport| Some(report.subject());
        audited_with_subject(&store, &clock, act, subject, || {
            eraser.erase(&contacts, Mode::Erase)
        })?
    };
    if common.json {
        println!("{}", report.answer());
    } else {
        print(&report);
    }
    Ok(())
}

fn print(report: &ErasureReport) {
    let mut table = crate::table_of("place|found|removed");
    for place in &report.places {
        table.add_row([
            place.place.as_str().to_owned(),
            place.found.to_string(),
            place.removed.to_string(),
        ]);
    }
    table.align_right(1..);
    println!("{table}");
    if report.damaged > 0 {
        println!(
            "{} damaged adverts could not be searched: toise check names them",
            report.damaged
        );
    }
    match report.erasure_id {
        Some(id) => println!("erasure {id}; --json names the records"),
        None => println!("dry run: nothing was changed; --json names the records"),
    }
}
