//! `toise properties`: shows a property, lists pairs that may be one asset, merges, splits or keeps apart properties,
//! and decides all merges again. Works while the server is running.

mod rebuild;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::explain::short;
use super::result::Failure;
use super::values::id;
use super::{CommandResult, Common};
use toise_accounts::audit::{Act, audited_with_subject};
use toise_base::clock::Clock;
use toise_contract::listings::codes::FlxId;
use toise_listings::placement::explain::Explanation;
use toise_store::Store;

/// Arguments of `properties`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples: the pairs that wait for a decision, what a rebuild would change, a merge undone by a split, and the split undone

  toise properties candidates --limit 20
  toise properties rebuild --dry-run
  toise properties split 019bb126-cee2-7a45-a98c-3cba58e89b2d 019bb6ce-f773-7d05-a48a-7dc4b4225d13
  toise properties merge 019bb126-cee2-7a45-a98c-3cba58e89b2d 019bb6ce-f773-7d05-a48a-7dc4b4225d13")]
pub struct PropertiesArgs {
    #[command(subcommand)]
    action: PropertiesAction,
}

#[derive(Subcommand, Debug)]
enum PropertiesAction {
    /// Print a property as JSON
    Show {
        /// Identifier of the property
        #[arg(value_parser = id)]
        property: FlxId,
    },
    /// List pairs of properties that may be one asset, most likely first, with the evidence
    Candidates {
        /// Maximum number of pairs to list
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Merge two properties, also after a split; the older identifier stays, and only `split` separates the adverts
    /// again
    Merge {
        /// Identifier of one property
        #[arg(value_parser = id)]
        property: FlxId,
        /// Identifier of the other
        #[arg(value_parser = id)]
        other: FlxId,
    },
    /// Declare that two properties are different; they are never merged and no longer listed
    KeepApart {
        /// Identifier of one property
        #[arg(value_parser = id)]
        property: FlxId,
        /// Identifier of the other
        #[arg(value_parser = id)]
        other: FlxId,
    },
    /// Decide all merges again with the current weights, and write what changed
    ///
    /// Repairs wrong merges of earlier versions without ingesting again. An identifier stays with most of its adverts;
    /// the merges, splits and separations that a person made stay. Alerts are notified only of whole properties that
    /// became one. The report lists every change.
    Rebuild {
        /// Report what would change, without changing a property
        #[arg(long)]
        dry_run: bool,
    },
    /// Move adverts out of a property into a new one; they are never merged with the remaining adverts again
    Split {
        /// Identifier of the property
        #[arg(value_parser = id)]
        property: FlxId,
        /// Identifiers of the adverts to move out
        #[arg(required = true, value_parser = id)]
        adverts: Vec<FlxId>,
    },
}

/// Runs `properties`.
pub fn run(common: &Common, arguments: &PropertiesArgs) -> CommandResult {
    let (store, clock) = (Store::open(&common.data)?, Clock::system());
    let listings = common.listings(store.clone(), clock.clone())?;
    match &arguments.action {
        PropertiesAction::Show { property } => {
            let record = listings
                .property(*property)?
                .ok_or_else(|| format!("no property {property}"))?;
            let record: Value = serde_json::from_slice(&record)?;
            let text = format!("{record:#}");
            common.print_result(record, text);
        }
        PropertiesAction::Candidates { limit } => {
            let pairs = listings.likely_pairs(*limit)?;
            if common.json {
                println!("{}", serde_json::to_string(&pairs)?);
            } else {
                let waiting = listings.likely_pair_count()?;
                print_candidates(&pairs, waiting);
            }
        }
        PropertiesAction::Merge { property, other } => {
            let act = Act::at_command_line("properties merge").on(format!("property {property}"));
            let subject =
                |kept: &FlxId| Some(format!("properties {property} and {other} are {kept}"));
            let merge = || -> Result<FlxId, Failure> { Ok(listings.merge(*property, *other)?) };
            let kept = audited_with_subject(&store, &clock, act, subject, merge)?;
            common.print_result(
                json!({"propertyFlxId": kept}),
                format!("{property} and {other} are the property {kept} now"),
            );
        }
        PropertiesAction::KeepApart { property, other } => {
            let act =
                Act::at_command_line("properties keep-apart").on(format!("property {property}"));
            let subject = |(): &()| Some(format!("properties {property} and {other}"));
            let keep = || -> Result<(), Failure> { Ok(listings.keep_apart(*property, *other)?) };
            audited_with_subject(&store, &clock, act, subject, keep)?;
            common.print_result(
                json!({"keptApart": [property, other]}),
                format!("{property} and {other} are never merged"),
            );
        }
        PropertiesAction::Rebuild { dry_run } => {
            rebuild::run(common, &store, &listings, *dry_run)?;
        }
        PropertiesAction::Split { property, adverts } => {
            let act = Act::at_command_line("properties split").on(format!("property {property}"));
            let subject = |parted: &FlxId| {
                let moved: Vec<String> = adverts.iter().map(ToString::to_string).collect();
                let moved = moved.join(", ");
                Some(format!(
                    "property {property}; adverts {moved} moved to property {parted}"
                ))
            };
            let split = || -> Result<FlxId, Failure> { Ok(listings.split(*property, adverts)?) };
            let parted = audited_with_subject(&store, &clock, act, subject, split)?;
            let moved = match adverts.len() {
                1 => "1 advert".to_owned(),
                count => format!("{count} adverts"),
            };
            common.print_result(
                json!({"propertyFlxId": parted, "adverts": adverts}),
                format!("moved {moved} of {property} to the new property {parted}"),
            );
        }
    }
    Ok(())
}

fn print_candidates(pairs: &[Explanation], waiting: u64) {
    for pair in pairs {
        println!("{}", short(pair));
    }
    println!(
        "in brackets, the evidence: +1 bit doubles the odds that both are one home, -1 bit halves them"
    );
    println!(
        "{} of {waiting} pairs of properties that wait for `toise properties merge` or `keep-apart`",
        pairs.len()
    );
}
