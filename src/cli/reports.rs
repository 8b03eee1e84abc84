//! `toise reports`: lists the reports of accounts about wrong listings and resolves them. Works while the server is
//! running.

use clap::{ArgGroup, Args, Subcommand};
use serde_json::json;
use uuid::Uuid;

use super::result::Failure;
use super::table_style::print_list;
use super::values::id;
use super::{CommandResult, Common};
use toise_accounts::audit::{Act, audited_with_subject};
use toise_base::clock::Clock;
use toise_collect::reports::{self, ListingReport};
use toise_contract::listings::codes::FlxId;
use toise_listings::Listings;
use toise_store::Store;

/// Arguments of `reports`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples: merge two properties; move an advert to another property; close without a change

  toise reports list
  toise reports resolve REPORT_ID --merge PROPERTY_ID
  toise reports resolve REPORT_ID --split ADVERT_ID
  toise reports resolve REPORT_ID --note 'the price is right'")]
pub struct ReportsArgs {
    #[command(subcommand)]
    action: ReportsAction,
}

#[derive(Subcommand, Debug)]
enum ReportsAction {
    /// List open reports about duplicates and wrong data, newest first
    List {
        /// Include reports with any reason
        #[arg(long)]
        every_reason: bool,
        /// Include resolved reports
        #[arg(long)]
        resolved: bool,
        /// Maximum number of reports to list
        #[arg(long, value_name = "NUMBER", default_value_t = 50)]
        take: usize,
    },
    /// Resolve a report by a merge, a split or a note
    #[command(group = ArgGroup::new("decision").required(true).multiple(true).args(["merge", "split", "note"]))]
    Resolve {
        /// Identifier of the report
        report: Uuid,
        /// Property that is the same asset as the reported one; the two are merged
        #[arg(long, value_name = "PROPERTY", value_parser = id)]
        merge: Option<FlxId>,
        /// Adverts that do not belong to the reported property; they are split off permanently
        #[arg(long, value_name = "ADVERT", value_parser = id, num_args = 1.., conflicts_with = "merge")]
        split: Vec<FlxId>,
        /// Explanation of the decision
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
}

/// Runs `reports`.
pub fn run(common: &Common, arguments: &ReportsArgs) -> CommandResult {
    let store = Store::open(&common.data)?;
    match &arguments.action {
        ReportsAction::List {
            every_reason,
            resolved,
            take,
        } => {
            let found = store
                .read(|connection| reports::list(connection, *every_reason, *resolved, *take))?;
            print(common, &found)
        }
        ReportsAction::Resolve {
            report,
            merge,
            split,
            note,
        } => {
            let act = Act::at_command_line("reports resolve").on(format!("report {report}"));
            let subject = |resolution: &String| Some(format!("report {report}: {resolution}"));
            let clock = Clock::system();
            let listings = common.listings(store.clone(), clock.clone())?;
            let resolution = audited_with_subject(&store, &clock, act, subject, || {
                resolve(&listings, &store, *report, *merge, split, note.as_deref())
            })?;
            common.print_result(
                json!({"report_id": report, "resolution": resolution}),
                format!("report {report}: {resolution}"),
            );
            Ok(())
        }
    }
}

/// Resolves a report by a merge, a split or a note. Returns the text of the resolution.
fn resolve(
    listings: &Listings,
    store: &Store,
    report: Uuid,
    merge: Option<FlxId>,
    split: &[FlxId],
    note: Option<&str>,
) -> Result<String, Failure> {
    let open = store.read(|connection| reports::get(connection, report))?;
    let open = open.ok_or_else(|| format!("no report {report}"))?;
    if let Some(resolution) = &open.resolution {
        return Err(format!("report {report} is already resolved: {resolution}").into());
    }
    let mut resolution = match merge {
        Some(other) => {
            let merged = listings.merge(property_of(listings, &open)?, other)?;
            format!("merged into property {merged}")
        }
        None if !split.is_empty() => {
            let parted = listings.split(property_of(listings, &open)?, split)?;
            format!(
                "split: {} of its adverts are property {parted}",
                split.len()
            )
        }
        None => String::new(),
    };
    if let Some(note) = note {
        let gap = if resolution.is_empty() { "" } else { "; " };
        resolution = format!("{resolution}{gap}{note}");
    }
    let now_ms = listings.clock().now().timestamp_millis();
    reports::resolve(store, report, resolution.clone(), now_ms)?;
    Ok(resolution)
}

/// Returns the property that a report concerns: the reported one, or the one that holds the reported advert.
fn property_of(listings: &Listings, report: &ListingReport) -> Result<FlxId, Failure> {
    let item = FlxId(report.item);
    if report.kind == "PROPERTY" {
        return Ok(item);
    }
    let record = listings
        .property_of_advert(item)?
        .ok_or_else(|| format!("no advert {item}"))?;
    let record: serde_json::Value = serde_json::from_slice(&record)?;
    let id = record["flxId"].as_str().and_then(FlxId::parse);
    Ok(id.ok_or_else(|| format!("the property of advert {item} has no identifier"))?)
}

fn print(common: &Common, found: &[ListingReport]) -> CommandResult {
    let rows = found.iter().map(|report| {
        [
            report.report_id.to_string(),
            report.created_at.to_string(),
            report.kind.clone(),
            report.item.to_string(),
            report.reason.clone(),
            report.comment.clone().unwrap_or_default(),
            report.resolution.clone().unwrap_or_default(),
        ]
    });
    let columns = "report|created|kind|item|reason|comment|resolution";
    print_list(common, found, "none", columns, rows)
}
