//! `toise doctor`: reports what a data folder holds, how old it is, what is missing, and which command to run.

use chrono::{DateTime, Utc};
use clap::Args;
use indicatif::{HumanBytes, HumanCount};

use super::{CommandResult, Common};
use toise_app::doctor::{Examination, Finding, Severity, StoreState, TableState, examine};
use toise_base::clock::Clock;

/// Arguments of `doctor`.
#[derive(Args, Debug)]
#[command(after_help = "\
Reads metadata but no rows, so it is quick on a folder of any size. It changes no data, and can run while the server is
running. `toise check` reads and verifies every byte instead. Ends with exit code 1 if something does not work; what is
only missing or old is advice.

Examples:

  toise doctor
  toise doctor --json | jq -r '.findings[].command'")]
pub struct DoctorArgs {}

/// Runs `doctor`.
pub fn run(common: &Common, _: &DoctorArgs) -> CommandResult {
    let config = common.configuration(Vec::new())?.config;
    let now = Clock::system().now();
    let examined = examine(&common.data, &config, now, None);
    common.show(&examined, || {
        if examined.exists && !examined.is_empty() {
            print_contents(&examined, now);
        }
        print_findings(&examined.findings);
    })?;
    let findings = examined.findings.iter();
    match findings
        .filter(|finding| finding.severity == Severity::Problem)
        .count()
    {
        0 => Ok(()),
        1 => Err("something does not work; see above for the command that helps".into()),
        count => Err(format!("{count} things do not work; see above what to do").into()),
    }
}

fn print_contents(examined: &Examination, now: DateTime<Utc>) {
    println!("{}", examined.data.display());
    if examined.is_replica {
        println!("This is a replica: its data comes from the folder that it follows.");
    }
    let mut shown = crate::table_of("table|holds|rows|size|changed|edition");
    for table in &examined.tables {
        shown.add_row(row(table, now));
    }
    shown.align_right(2..4);
    println!("{shown}");
    let index = &examined.addresses;
    if index.departments > 0 {
        println!(
            "index of addresses: {} departments, {} streets and places, {} house numbers",
            index.departments,
            HumanCount(index.streets),
            HumanCount(index.numbers)
        );
    }
    if let Some(model) = &examined.model {
        println!(
            "model: {}, trained {} on {} sales up to {}",
            model.version,
            ago(&model.trained_at, now),
            HumanCount(model.sales),
            model.data_through
        );
    }
    if let Some(store) = &examined.store {
        print_store(store, now);
    }
    for (what, moment) in [
        ("refreshed", &examined.refreshed_at),
        ("published to object storage", &examined.published_at),
    ] {
        if let Some(moment) = moment {
            println!("{what}: {}", ago(moment, now));
        }
    }
    if let Some(free) = examined.free_bytes {
        println!("disk: {} free", HumanBytes(free));
    }
}

fn row(table: &TableState, now: DateTime<Utc>) -> [String; 6] {
    let holds = match table.table {
        "dvf" => "recorded sales",
        "dpe" => "energy diagnostics",
        "ban" => "addresses",
        "rnb" => "buildings",
        "dfi" => "changes of parcels",
        other => other,
    };
    let holds = if table.is_invented {
        format!("{holds}, invented")
    } else {
        holds.to_owned()
    };
    let edition = match (&table.edition, &table.available) {
        (Some(held), Some(available)) if held != available => {
            format!("{held}, {available} is available")
        }
        (edition, _) => edition.clone().unwrap_or_else(|| "-".to_owned()),
    };
    [
        table.table.to_owned(),
        holds,
        HumanCount(table.rows).to_string(),
        HumanBytes(table.bytes).to_string(),
        ago(&table.changed_at, now),
        edition,
    ]
}

fn print_store(store: &StoreState, now: DateTime<Utc>) {
    println!(
        "store: {}, API keys that work: {}",
        HumanBytes(store.bytes),
        store.keys
    );
    if let Some(at) = &store.backed_up_at {
        let place = store.backup.as_deref().unwrap_or_default();
        println!("backup: {} {place}", ago(at, now));
    }
}

/// Prints what to do, each finding with its command on a separate line.
fn print_findings(findings: &[Finding]) {
    if findings.is_empty() {
        println!("\nNothing is missing.");
        return;
    }
    println!("\nWhat to do:");
    for finding in findings {
        let mark = match finding.severity {
            Severity::Problem => "problem: ",
            Severity::Advice => "",
        };
        println!("- {mark}{}", finding.message);
        if let Some(command) = &finding.command {
            println!("    {command}");
        }
    }
}

/// Formats the time since a moment in ISO 8601; `-` for none.
fn ago(moment: &str, now: DateTime<Utc>) -> String {
    let Ok(moment) = DateTime::parse_from_rfc3339(moment) else {
        return "-".to_owned();
    };
    let passed = now - moment.to_utc();
    match (passed.num_days(), passed.num_hours(), passed.num_minutes()) {
        (2.., _, _) => format!("{} days ago", passed.num_days()),
        (_, 2.., _) => format!("{} hours ago", passed.num_hours()),
        (_, _, 2..) => format!("{} minutes ago", passed.num_minutes()),
        _ => "just now".to_owned(),
    }
}
