//! `toise properties`: shows a property or undoes a wrong merge. Works while the server is running.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::result::Failure;
use super::{CommandResult, Common};
use toise_accounts::audit::{Act, accompany_making};
use toise_base::clock::Clock;
use toise_contract::listings::codes::FlxId;
use toise_listings::Listings;
use toise_store::Store;

/// Arguments of `properties`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: two flats of one building were merged by mistake

  toise properties split 019bb126-cee2-7a45-a98c-3cba58e89b2d 019bb6ce-f773-7d05-a48a-7dc4b4225d13")]
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

fn id(text: &str) -> Result<FlxId, String> {
    FlxId::parse(text).ok_or_else(|| "expected a UUID".into())
}

/// Runs `properties`.
pub fn run(common: &Common, arguments: &PropertiesArgs) -> CommandResult {
    let (store, clock) = (Store::open(&common.data)?, Clock::system());
    let listings = Listings::new(store.clone(), clock.clone());
    match &arguments.action {
        PropertiesAction::Show { property } => {
            let record = listings
                .property(*property)?
                .ok_or_else(|| format!("no property {property}"))?;
            let record: Value = serde_json::from_slice(&record)?;
            println!(
                "{}",
                if common.json {
                    record.to_string()
                } else {
                    format!("{record:#}")
                }
            );
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
            let parted = accompany_making(&store, &clock, act, subject, split)?;
            if common.json {
                println!("{}", json!({"propertyFlxId": parted, "adverts": adverts}));
            } else {
                println!(
                    "moved {} adverts of {property} to the new property {parted}",
                    adverts.len()
                );
            }
        }
    }
    Ok(())
}
