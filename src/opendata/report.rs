//! What an import did, for people and for machines: nothing that was read may vanish without being counted here.
//!
//! Converters fill [`Findings`] per block of rows; the import merges them in source order into an [`ImportReport`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use serde::Serialize;

use super::source::Place;
use toise_base::reports;
use toise_lake::{ImportOutcome, Slice};

/// Examples kept for each reason.
pub const EXAMPLES_MAX: usize = 3;
/// Characters of a value shown in an example.
const VALUE_CHARS_MAX: usize = 80;

/// Some rows of a file as records of a table.
#[derive(Debug)]
pub struct Converted {
    /// Records, in the table's schema.
    pub batch: RecordBatch,
    /// Source rows that went into them.
    pub rows_kept: u64,
    /// Source rows outside what was asked for.
    pub rows_not_asked_for: u64,
    /// What was wrong.
    pub findings: Findings,
    /// Communes and years of the rows kept.
    pub places: BTreeSet<(String, i32)>,
}

/// One value that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// File it was read from.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column it stands in.
    pub column: String,
    /// The value, shortened.
    pub value: String,
}

/// How often something happened, with the first cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Times.
    pub count: u64,
    /// First cases, [`EXAMPLES_MAX`] at most.
    pub examples: Vec<Example>,
}

/// Tallies by reason.
pub type Tallies = BTreeMap<&'static str, Tally>;

/// What converting some rows found wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Rows that were left out, by reason.
    pub rejected: Tallies,
    /// Values that were left out while their row was kept, by reason.
    pub dropped: Tallies,
}

impl Findings {
    /// Counts a row left out.
    pub fn reject(&mut self, reason: &'static str, place: &Place, value: &str) {
        tally(&mut self.rejected, reason, place, value);
    }

    /// Counts a value left out of a row that is kept.
    pub fn drop_value(&mut self, reason: &'static str, place: &Place, value: &str) {
        tally(&mut self.dropped, reason, place, value);
    }
}

fn tally(tallies: &mut Tallies, reason: &'static str, place: &Place, value: &str) {
    let tally = tallies.entry(reason).or_default();
    tally.count += 1;
    if tally.examples.len() < EXAMPLES_MAX {
        tally.examples.push(Example {
            file: place.file.clone(),
            line: place.line.unwrap_or(0),
            column: place.column.clone().unwrap_or_default(),
            value: value.chars().take(VALUE_CHARS_MAX).collect(),
        });
    }
}

fn merge(into: &mut Tallies, from: Tallies) {
    for (reason, found) in from {
        let tally = into.entry(reason).or_default();
        tally.count += found.count;
        let room = EXAMPLES_MAX - tally.examples.len().min(EXAMPLES_MAX);
        tally.examples.extend(found.examples.into_iter().take(room));
    }
}

/// One file of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// File name or address.
    pub name: String,
    /// Rows read.
    pub rows: u64,
    /// Bytes read, as stored.
    pub bytes: u64,
    /// BLAKE3 of those bytes.
    pub checksum: String,
}

/// What an import read, kept, left out and changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportReport {
    /// Table imported into.
    pub table: &'static str,
    /// When it began, ISO 8601.
    pub started_at: String,
    /// Official edition, when the import is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// Files in the order read.
    pub files: Vec<FileReport>,
    /// Source rows read.
    pub rows_read: u64,
    /// Source rows that went into records.
    pub rows_kept: u64,
    /// Source rows outside the departments, years or dates asked for.
    pub rows_not_asked_for: u64,
    /// Records made.
    pub records: u64,
    /// Rows left out, by reason.
    pub rejected: Tallies,
    /// Values left out while their row was kept, by reason.
    pub dropped_values: Tallies,
    /// Columns nobody knows, in the order met.
    pub unknown_columns: Vec<String>,
    /// Parts of the table replaced whole.
    pub replaced_slices: Vec<Slice>,
    /// Places that the official source does not cover, or could not give.
    pub notes: Vec<String>,
    /// What changed in the table; absent while nothing is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ImportOutcome>,
    /// Wall time, seconds.
    pub seconds: f64,
}

impl ImportReport {
    /// Rows left out.
    pub fn rows_rejected(&self) -> u64 {
        self.rejected.values().map(|tally| tally.count).sum()
    }

    /// Takes in what one block's conversion found.
    pub fn add(&mut self, findings: Findings) {
        merge(&mut self.rejected, findings.rejected);
        merge(&mut self.dropped_values, findings.dropped);
    }

    /// Notes a column nobody knows, once.
    pub fn add_unknown_column(&mut self, name: &str) {
        if !name.is_empty() && !self.unknown_columns.iter().any(|known| known == name) {
            self.unknown_columns.push(name.to_owned());
        }
    }

    /// Writes the report as JSON to `<data>/reports/import-<table>-<timestamp>.json` and says where.
    pub fn write(&self, data: &Path) -> std::io::Result<PathBuf> {
        let name = format!("import-{}", self.table);
        reports::write(data, &name, &self.started_at, self)
    }

    /// The report as a table for people.
    pub fn to_text(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::UTF8_BORDERS_ONLY);
        let mut line = |name: &str, value: String| {
            table.add_row([name.to_owned(), value]);
        };
        line("table", self.table.to_owned());
        if let Some(edition) = &self.edition {
            line("edition", edition.clone());
        }
        line("files", self.files.len().to_string());
        line("rows read", self.rows_read.to_string());
        line("rows kept", self.rows_kept.to_string());
        line("rows not asked for", self.rows_not_asked_for.to_string());
        line("rows rejected", self.rows_rejected().to_string());
        line("records made", self.records.to_string());
        if let Some(outcome) = &self.outcome {
            line("added", outcome.added.to_string());
            line("replaced", outcome.replaced.to_string());
            line("unchanged", outcome.unchanged.to_string());
            line("duplicates in this import", outcome.duplicates.to_string());
            line("removed by the edition", outcome.removed.to_string());
            line("rows in the table", outcome.total.to_string());
        }
        let pace = self.rows_read as f64 / self.seconds.max(1e-9);
        line("time", format!("{:.2} s, {pace:.0} rows/s", self.seconds));
        let mut text = format!("{table}\n");
        for (title, tallies) in [
            ("rejected", &self.rejected),
            ("value left out", &self.dropped_values),
        ] {
            for (reason, tally) in tallies {
                let _ = writeln!(text, "{title}: {reason}: {}", tally.count);
                for example in &tally.examples {
                    let Example {
                        file,
                        line,
                        column,
                        value,
                    } = example;
                    let _ = writeln!(
                        text,
                        "  {file}, line {line}, column \"{column}\": \"{value}\""
                    );
                }
            }
        }
        if !self.unknown_columns.is_empty() {
            let _ = writeln!(
                text,
                "unknown columns, left out: {}",
                self.unknown_columns.join(", ")
            );
        }
        if !self.replaced_slices.is_empty() {
            let slices: Vec<String> = self
                .replaced_slices
                .iter()
                .map(|slice| format!("{} {}", slice.place, slice.year))
                .collect();
            let _ = writeln!(text, "replaced whole: {}", slices.join(", "));
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_examples_are_kept_in_source_order() {
        let mut report = ImportReport::default();
        for block in 0..3u64 {
            let mut findings = Findings::default();
            for row in 0..2 {
                let place = Place::line("f.csv", block * 2 + row).column("date");
                findings.reject("date unreadable", &place, "x");
            }
            report.add(findings);
        }
        let tally = &report.rejected["date unreadable"];
        let lines: Vec<u64> = tally.examples.iter().map(|example| example.line).collect();
        assert_eq!((tally.count, lines), (6, vec![0, 1, 2]));
        assert!(
            report
                .to_text()
                .contains("f.csv, line 0, column \"date\": \"x\"")
        );
    }
}
