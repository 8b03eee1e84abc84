//! The rules of `toise doctor`: what is missing, old or wrong in a data folder, and which command to run.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::{Examination, Fault, FaultyPart, TableState};
use crate::DEFAULT_DATA;
use crate::config::Config;
use toise_base::clock::parse_iso;

/// Age after which a table that was never refreshed counts as old: sales are published twice a year, addresses and
/// diagnostics every week.
const OLD_AFTER_DAYS: [(&str, i64); 3] = [("dvf", 200), ("dpe", 60), ("ban", 120)];
/// Age after which a backup counts as old.
const BACKUP_OLD_AFTER_DAYS: i64 = 7;
/// The department with the fewest inhabitants, for examples.
const SMALLEST: &str = "48";
/// Command suggested to a newcomer.
const START: &str = "start --departments 48";

/// How urgent a finding is, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something does not work, or data may be lost.
    Problem,
    /// Something is missing or old.
    Advice,
}

/// Something that is missing, old or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How urgent it is.
    pub severity: Severity,
    /// The finding, in one sentence without a full stop.
    pub message: String,
    /// The command to run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Name of the part that cannot be read, if that is the finding; the message is then the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<FaultyPart>,
}

/// Collects findings about one data folder.
struct Findings<'a> {
    data: &'a Path,
    found: Vec<Finding>,
}

impl Findings<'_> {
    fn problem(&mut self, message: String, command: &str) {
        self.add(Severity::Problem, message, command);
    }

    fn advice(&mut self, message: impl Into<String>, command: &str) {
        self.add(Severity::Advice, message.into(), command);
    }

    /// Adds a finding. `command` is the part of the command after `toise`; empty for none.
    fn add(&mut self, severity: Severity, message: String, command: &str) {
        let command = (!command.is_empty()).then(|| command_line(self.data, command));
        self.found.push(Finding {
            severity,
            message,
            command,
            damaged: None,
        });
    }
}

/// Returns a command with the option of the data folder, unless that is the default.
fn command_line(data: &Path, command: &str) -> String {
    if data == Path::new(DEFAULT_DATA) {
        return format!("toise {command}");
    }
    let data = data.display().to_string();
    let quoted = if data.contains([' ', '\'', '"']) {
        format!("'{}'", data.replace('\'', r"'\''"))
    } else {
        data
    };
    format!("toise {command} --data {quoted}")
}

/// Returns the findings about an examined folder, the most urgent first.
pub(super) fn of(examined: &Examination, config: &Config, now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings = Findings {
        data: &examined.data,
        found: Vec::new(),
    };
    if !examined.exists {
        let data = examined.data.display();
        let message = format!("no data folder at {data}; --data DIR or TOISE_DATA names another");
        findings.problem(message, START);
        findings.advice("to try it without downloads, serve invented data", "demo");
        return findings.found;
    }
    disk(&mut findings, examined, config);
    for fault in &examined.faults {
        fault_found(&mut findings, fault, examined.is_replica);
    }
    if examined.is_empty() && !examined.is_replica {
        findings.advice(
            "the folder is empty: import the open data of a department",
            START,
        );
        findings.advice("to try it without downloads, serve invented data", "demo");
    } else if !examined.is_replica {
        open_data(&mut findings, examined, now);
        model(&mut findings, examined);
        store(&mut findings, examined, now);
    }
    findings.found.sort_by_key(|finding| finding.severity);
    findings.found
}

fn disk(findings: &mut Findings<'_>, examined: &Examination, config: &Config) {
    let least = config.server.disk_free_min_mib;
    if let Some(free) = examined.free_bytes
        && free < least << 20
    {
        let free = free >> 20;
        let message = format!(
            "the disk has {free} MiB free, and a server writes nothing below {least} MiB (server.disk_free_min_mib)"
        );
        findings.problem(message, "");
    }
}

fn fault_found(findings: &mut Findings<'_>, fault: &Fault, is_replica: bool) {
    let reason = &fault.reason;
    let (message, command) = match (fault.part, fault.table) {
        (FaultyPart::Table, Some("properties" | "adverts")) if !is_replica => {
            (reason.clone(), "compact --rebuild")
        }
        (FaultyPart::Model, _) if !is_replica => (reason.clone(), "train"),
        (FaultyPart::Addresses, _) if !is_replica => {
            (format!("{reason}; a server rebuilds the index"), "serve")
        }
        _ => (reason.clone(), "check"),
    };
    findings.found.push(Finding {
        severity: Severity::Problem,
        message,
        command: Some(command_line(findings.data, command)),
        damaged: Some(fault.part),
    });
}

/// Adds what is missing or old among sales, diagnostics and addresses.
fn open_data(findings: &mut Findings<'_>, examined: &Examination, now: DateTime<Utc>) {
    let sales = examined.table("dvf");
    if sales.is_some_and(|sales| sales.is_invented) {
        let message =
            "the sales are invented, at least in part; keep real data in a separate folder";
        findings.found.push(Finding {
            severity: Severity::Advice,
            message: message.to_owned(),
            command: Some(format!("toise {START} --data ./toise-48")),
            damaged: None,
        });
    }
    if ["dvf", "dpe", "ban"].iter().all(|name| {
        let table = examined.table(name);
        table.is_some_and(|table| table.changed_at.is_empty())
    }) {
        let message = "no sales, diagnostics or addresses: import those of a department";
        return findings.advice(message, START);
    }
    for (name, holds, without) in [
        (
            "dvf",
            "recorded sales",
            "there are no prices to search, and no model can be trained",
        ),
        ("dpe", "energy diagnostics", "homes have no energy classes"),
        ("ban", "addresses", "no home can be found by its address"),
    ] {
        let is_damaged = |fault: &Fault| fault.table == Some(name);
        let Some(table) = examined.table(name) else {
            continue;
        };
        if examined.faults.iter().any(is_damaged) {
            continue;
        }
        if table.rows == 0 {
            let message = format!("no {holds}: {without}");
            findings.advice(message, &importing(name, examined));
        } else if !table.is_invented || table.edition.is_some() || !table.failures.is_empty() {
            // Invented rows have neither an edition nor failures.
            age(findings, table, holds, now);
        }
    }
    let addresses = examined.table("ban").filter(|table| table.rows > 0);
    let read_at = addresses.and_then(|table| parse_iso(table.read_at.as_deref()?));
    let is_stale = match (examined.addresses.built_at, read_at) {
        (None, _) => addresses.is_some(),
        (Some(built), Some(read)) => built < read,
        (Some(_), None) => false,
    };
    if is_stale {
        let message = "the index of addresses is missing or older than the addresses";
        findings.problem(message.to_owned(), &importing("ban", examined));
    }
}

/// Returns the command that imports a table for the departments of the folder.
fn importing(table: &str, examined: &Examination) -> String {
    let known = examined.departments.iter().map(String::as_str);
    let codes: Vec<&str> = known.collect();
    let codes = if codes.is_empty() {
        SMALLEST.to_owned()
    } else {
        codes.join(",")
    };
    format!("import {table} --departments {codes}")
}

/// Adds what is old about a table of open data that has rows.
fn age(findings: &mut Findings<'_>, table: &TableState, holds: &str, now: DateTime<Utc>) {
    if let Some(failure) = table.failures.first() {
        let message = format!("the last refresh of {holds} failed: {failure}");
        return findings.advice(message, "refresh");
    }
    match (&table.edition, &table.available) {
        (Some(held), Some(available)) if held < available => {
            let message = format!(
                "the edition {available} of {holds} is available; the data folder has {held}"
            );
            return findings.advice(message, "refresh");
        }
        _ => {}
    }
    let limit = OLD_AFTER_DAYS.iter().find(|(name, _)| *name == table.table);
    let read_at = parse_iso(table.read_at.as_deref().unwrap_or(&table.changed_at));
    if let (Some((_, days_max)), Some(read_at)) = (limit, read_at) {
        let days = (now - read_at).num_days();
        if days > *days_max {
            findings.advice(format!("the {holds} are {days} days old"), "refresh");
        }
    }
}

fn model(findings: &mut Findings<'_>, examined: &Examination) {
    let is_faulty = |fault: &Fault| fault.part == FaultyPart::Model;
    let Some(sales) = examined.table("dvf").filter(|table| table.rows > 0) else {
        return;
    };
    match &examined.model {
        None if examined.faults.iter().any(is_faulty) => {}
        None => findings.advice("no model is trained: no home can be valued", "train"),
        Some(model) => {
            let read = parse_iso(sales.read_at.as_deref().unwrap_or_default());
            let trained = parse_iso(&model.trained_at);
            if read > trained && trained.is_some() {
                findings.advice("sales were imported after the model was trained", "train");
            }
        }
    }
}

fn store(findings: &mut Findings<'_>, examined: &Examination, now: DateTime<Utc>) {
    let Some(store) = &examined.store else {
        let is_faulty = |fault: &Fault| fault.part == FaultyPart::Store;
        if !examined.faults.iter().any(is_faulty) {
            findings.advice("no API key: nobody can call the server", "keys create");
        }
        return;
    };
    if store.keys == 0 {
        findings.advice(
            "no API key works: nobody can call the server",
            "keys create",
        );
    }
    // A demo has nothing to lose.
    if store.own_keys == 0 {
        return;
    }
    let backed_up_at = store.backed_up_at.as_deref().and_then(parse_iso);
    let published_at = examined.published_at.as_deref().and_then(parse_iso);
    let saved_at = backed_up_at.max(published_at);
    let day = now.date_naive();
    match saved_at {
        None => findings.advice("no backup is known", &format!("backup ./backup-{day}.tar")),
        Some(at) if now - at > TimeDelta::days(BACKUP_OLD_AFTER_DAYS) => {
            let days = (now - at).num_days();
            let message = format!("the last backup is {days} days old");
            findings.advice(message, &format!("backup ./backup-{day}.tar"));
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_folder_unless_it_is_the_default() {
        let line = |data: &str| command_line(Path::new(data), "train");
        assert_eq!(line("./toise-data"), "toise train");
        assert_eq!(line("/srv/toise"), "toise train --data /srv/toise");
        assert_eq!(line("my data"), "toise train --data 'my data'");
    }
}
