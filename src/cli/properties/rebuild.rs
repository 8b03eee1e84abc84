//! `toise properties rebuild`: decides all merges again, and reports what changed.

use serde_json::Value;

use crate::result::Failure;
use crate::{CommandResult, Common};
use toise_accounts::audit::{Act, audited_with_subject};
use toise_base::clock::{Clock, iso};
use toise_base::progress::Progress;
use toise_base::reports;
use toise_listings::Listings;
use toise_listings::placement::rebuild::{PropertyAdverts, RebuildChange, RebuildReport};
use toise_store::Store;

/// Maximum changes that are printed; the report has all of them.
const CHANGES_SHOWN_MAX: usize = 5;

/// Runs `properties rebuild`.
pub(super) fn run(
    common: &Common,
    store: &Store,
    listings: &Listings,
    is_dry_run: bool,
) -> CommandResult {
    let clock = Clock::system();
    let moment = iso(clock.now());
    let progress = Progress::new(common.json);
    let rebuild = || -> Result<RebuildReport, Failure> {
        Ok(listings.rebuild_properties(is_dry_run, progress)?)
    };
    let report = if is_dry_run {
        rebuild()?
    } else {
        let subject = |report: &RebuildReport| {
            Some(format!(
                "{} properties split, {} merged",
                report.properties_split, report.properties_merged
            ))
        };
        let act = Act::at_command_line("properties rebuild");
        audited_with_subject(store, &clock, act, subject, rebuild)?
    };
    let path = reports::write(&common.data, "rebuild", &moment, &report)?;
    if common.json {
        let mut summary = serde_json::to_value(&report)?;
        if let Value::Object(fields) = &mut summary {
            fields.insert("report".into(), path.display().to_string().into());
        }
        println!("{summary}");
    } else {
        print(&report);
        println!("report: {}", path.display());
    }
    Ok(())
}

fn print(report: &RebuildReport) {
    let mut table = crate::table();
    let counts = [
        ("adverts", report.adverts),
        ("adverts whose comparison data changed", report.refreshed),
        ("properties before", report.properties_before),
        ("properties after", report.properties_after),
        ("properties split", report.properties_split),
        ("properties merged into another", report.properties_merged),
        ("properties with a new identifier", report.properties_new),
        ("adverts moved to another property", report.adverts_moved),
        (
            "pairs of properties for a person to decide",
            report.possible_pairs,
        ),
        ("changes left for another rebuild", report.skipped),
    ];
    for (name, count) in counts {
        table.add_row([name.to_owned(), count.to_string()]);
    }
    println!("{table}");
    for change in report.changes.iter().take(CHANGES_SHOWN_MAX) {
        print_change(change);
    }
    match report.changes.len().saturating_sub(CHANGES_SHOWN_MAX) {
        0 => {}
        more => println!("{more} more changes are in the report"),
    }
    if report.dry_run {
        println!("dry run: no property was changed");
    }
}

fn print_change(change: &RebuildChange) {
    let named = |property: &PropertyAdverts| {
        let id = property.property_flx_id.map(|id| id.to_string());
        let id = id.unwrap_or_else(|| "a new property".into());
        format!("{id} ({} adverts)", property.adverts.len())
    };
    let all = |properties: &[PropertyAdverts]| {
        let named: Vec<String> = properties.iter().map(named).collect();
        named.join(", ")
    };
    println!("{}\n  became {}", all(&change.before), all(&change.after));
}
