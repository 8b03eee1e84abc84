//! `toise audit`: shows the log of administrative acts, and verifies that nothing in it was changed or removed.

use clap::Args;
use serde_json::{Value, json};

use super::{CommandResult, Common};
use toise_accounts::audit::{self, AuditEntry, ENTRIES_MAX};
use toise_accounts::json::moment;
use toise_store::Store;

/// Arguments of `audit`.
#[derive(Args, Debug)]
#[command(after_help = "\
The log has two entries for each act of an operator, over HTTP or on the command line: one before it, with the outcome
`begun`, and one after it, with how it ended. Acts are changes of accounts, keys, alerts and deliveries, backups,
restores, secrets that were shown, corrected reports and properties, and changes of the master key. Each entry has a
digest of itself and of the entry before it. The whole log is verified each time. If an entry was changed or removed,
the command names the entry before it and ends with exit code 1. Note the digest of the last entry elsewhere, to notice
a log that was replaced.

Examples:
  toise audit
  toise audit --take 1000 --json | jq '.entries[].action'")]
pub struct AuditArgs {
    /// Number of entries to show, the latest first
    #[arg(long, default_value = "50", value_parser = clap::value_parser!(u64).range(0..=ENTRIES_MAX as u64))]
    take: u64,
    /// Show only entries with lower numbers
    #[arg(long, value_name = "NUMBER")]
    before: Option<i64>,
}

/// Runs `audit`.
pub fn run(common: &Common, arguments: &AuditArgs) -> CommandResult {
    let store = Store::open_existing(&common.data)?
        .ok_or("the data folder has no accounts yet; create a key: toise keys create")?;
    let entries = audit::latest(&store, arguments.before, arguments.take as usize)?;
    let state = audit::verify(&store)?;
    if common.json {
        let entries: Vec<Value> = entries.iter().map(AuditEntry::to_json).collect();
        println!(
            "{}",
            json!({
                "entries": entries, "count": state.entries, "head": state.head, "broken_at": state.broken_at,
            })
        );
    } else {
        print(&entries);
        println!(
            "{} entries; the last has the digest {}",
            state.entries, state.head
        );
    }
    match state.broken_at {
        None => Ok(()),
        Some(number) => Err(format!(
            "the log was tampered with: entry {number} does not follow from the one before it"
        )
        .into()),
    }
}

fn print(entries: &[AuditEntry]) {
    let mut table = crate::table_of("entry|at|actor|from|action|subject|outcome");
    for entry in entries {
        let act = &entry.act;
        table.add_row([
            entry.number.to_string(),
            moment(entry.at).as_str().unwrap_or_default().to_owned(),
            act.actor.clone(),
            act.origin.clone().unwrap_or_default(),
            act.action.clone(),
            act.subject.clone().unwrap_or_default(),
            act.outcome.clone(),
        ]);
    }
    table.align_right(0..=0);
    println!("{table}");
}
