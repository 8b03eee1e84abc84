//! The report of an ingestion, as text and as JSON. Every line that was read is counted here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use toise_base::reports;
use toise_contract::enums::WireEnum;
use toise_listings::load::ingest::IngestOutcome;

/// Maximum examples stored per reason.
const EXAMPLES_MAX: usize = 3;
/// Maximum distinct reasons; further ones are counted together.
const REASONS_MAX: usize = 200;
/// Label under which further reasons are counted.
const OTHER_REASONS: &str = "other reasons";

/// A line, as an example of a rejection or warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IngestExample {
    file: String,
    line: u64,
}

/// How often a reason occurred, with the first examples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IngestTally {
    count: u64,
    examples: Vec<IngestExample>,
}

/// What was read from one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IngestFileReport {
    name: String,
    adverts: u64,
}

/// What an ingestion read and changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IngestReport {
    table: &'static str,
    started_at: String,
    files: Vec<IngestFileReport>,
    adverts: u64,
    created: u64,
    updated: u64,
    unchanged: u64,
    rejected: u64,
    events: BTreeMap<&'static str, u64>,
    /// Rejected adverts, by reason.
    rejections: BTreeMap<String, IngestTally>,
    /// Ingested adverts with a warning, by warning.
    warnings: BTreeMap<String, IngestTally>,
    /// Columns that map to no field, in the order they were found.
    unknown_columns: Vec<String>,
    /// Wall time, seconds.
    pub seconds: f64,
}

impl IngestReport {
    /// Creates an empty report.
    pub fn begin(started_at: String) -> Self {
        Self {
            table: "adverts",
            started_at,
            ..Self::default()
        }
    }

    /// Starts the count of a file; the following lines belong to it.
    pub fn begin_file(&mut self, name: &str) {
        self.files.push(IngestFileReport {
            name: name.to_owned(),
            adverts: 0,
        });
    }

    /// Adds columns that map to no field, each once.
    pub fn unknown_columns(&mut self, names: &[String]) {
        for name in names {
            if !self.unknown_columns.contains(name) {
                self.unknown_columns.push(name.clone());
            }
        }
    }

    /// Counts a line that is no advert as rejected.
    pub fn unreadable(&mut self, line: u64, reason: &str) {
        let example = self.count(line);
        self.rejected += 1;
        tally(&mut self.rejections, reason, example);
    }

    /// Counts an advert by the outcome of its ingestion.
    pub fn add(&mut self, line: u64, outcome: &IngestOutcome) {
        let example = self.count(line);
        let receipt = match outcome {
            Ok(receipt) => receipt,
            Err(fault) => {
                self.rejected += 1;
                let reason = match fault.path.as_str() {
                    "" => format!("advert: {}", fault.message),
                    _ => fault.to_string(),
                };
                tally(&mut self.rejections, &reason, example);
                return;
            }
        };
        match receipt.change.as_str() {
            "created" => self.created += 1,
            "updated" => self.updated += 1,
            _ => self.unchanged += 1,
        }
        for event in &receipt.events {
            *self.events.entry(event.event_type.as_str()).or_default() += 1;
        }
        for warning in &receipt.warnings {
            tally(&mut self.warnings, warning, example.clone());
        }
    }

    fn count(&mut self, line: u64) -> IngestExample {
        self.adverts += 1;
        let file = self.files.last_mut().map(|file| {
            file.adverts += 1;
            file.name.clone()
        });
        IngestExample {
            file: file.unwrap_or_default(),
            line,
        }
    }

    /// Writes the report as JSON to `<data>/reports/ingest-adverts-<timestamp>.json` and returns the path.
    pub fn write(&self, data: &Path) -> std::io::Result<PathBuf> {
        let name = format!("ingest-{}", self.table);
        reports::write(data, &name, &self.started_at, self)
    }

    /// Formats the report as a text table.
    pub fn to_text(&self) -> String {
        let mut table = crate::table();
        let counts = [
            ("files", self.files.len() as u64),
            ("adverts read", self.adverts),
            ("created", self.created),
            ("updated", self.updated),
            ("unchanged", self.unchanged),
            ("rejected", self.rejected),
        ];
        for (name, count) in counts {
            table.add_row([name.to_owned(), count.to_string()]);
        }
        for (name, count) in &self.events {
            table.add_row([format!("{name} events"), count.to_string()]);
        }
        let pace = self.adverts as f64 / self.seconds.max(1e-9);
        table.add_row([
            "time".to_owned(),
            format!("{:.2} s, {pace:.0} adverts/s", self.seconds),
        ]);
        let mut text = format!("{table}\n");
        for (title, tallies) in [("rejected", &self.rejections), ("warning", &self.warnings)] {
            for (reason, tally) in tallies {
                let _ = writeln!(text, "{title}: {reason}: {}", tally.count);
                for IngestExample { file, line } in &tally.examples {
                    let _ = writeln!(text, "  {file}, line {line}");
                }
            }
        }
        if !self.unknown_columns.is_empty() {
            let _ = writeln!(
                text,
                "unknown columns, ignored: {}",
                self.unknown_columns.join(", ")
            );
        }
        text
    }
}

fn tally(tallies: &mut BTreeMap<String, IngestTally>, reason: &str, example: IngestExample) {
    let is_kept = tallies.contains_key(reason) || tallies.len() < REASONS_MAX;
    let tally = tallies
        .entry(if is_kept { reason } else { OTHER_REASONS }.to_owned())
        .or_default();
    tally.count += 1;
    if tally.examples.len() < EXAMPLES_MAX {
        tally.examples.push(example);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_contract::Fault;

    #[test]
    fn every_line_is_counted_once_with_three_examples_of_a_reason() {
        let mut report = IngestReport::begin("2026-11-21T12:00:00.000Z".into());
        report.begin_file("a.ndjson");
        for line in 1..=5 {
            report.add(line, &Err(Fault::new("offer.type", "is required")));
        }
        report.unreadable(6, "must be JSON");
        assert_eq!(
            (report.adverts, report.rejected, report.files[0].adverts),
            (6, 6, 6)
        );
        let tally = &report.rejections["offer.type: is required"];
        assert_eq!((tally.count, tally.examples.len()), (5, EXAMPLES_MAX));
        assert!(
            report
                .to_text()
                .contains("rejected: offer.type: is required: 5\n  a.ndjson, line 1\n")
        );
        for number in 0..2 * REASONS_MAX {
            report.unreadable(7, &format!("reason {number}"));
        }
        assert_eq!(report.rejections.len(), REASONS_MAX + 1);
    }
}
