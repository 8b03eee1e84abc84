//! The report of an import, for people and programs. It counts what was read, used, rejected and changed.
//!
//! Converters fill [`ConversionFindings`] per block of rows; the import merges them in source order into an
//! [`ImportReport`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use indicatif::HumanCount;
use serde::Serialize;

use super::filtered::{ImportedSales, SoldHomes};
use super::source::SourceLocation;
use super::source::cell::decimal;
use toise_base::reports;
use toise_input::day::{is_month_first, month_first_reason};
use toise_input::reading::LeftOutValues;
use toise_input::{ReadFile, reading};
use toise_lake::{ImportOutcome, Slice};

/// Maximum examples stored per reason.
pub const EXAMPLES_MAX: usize = 3;
/// Maximum number of values of a column that are counted separately.
pub const UNLISTED_VALUES_MAX: usize = 50;
/// Name under which the values of a column beyond [`UNLISTED_VALUES_MAX`] are counted together.
pub const OTHER_VALUES: &str = "other values";
/// Sales without a position get a note if at least one sale in this many lacks one.
const WITHOUT_POSITION_ONE_IN: u64 = 10;
/// Maximum length of a value in an example, characters.
const VALUE_CHARS_MAX: usize = 80;

/// Reason of a date that cannot be read.
const DATE_UNREADABLE: &str = "date unreadable";
/// Reason of a date that a spreadsheet wrote as a number.
const DATE_IS_SERIAL: &str =
    "date unreadable: serial number of a spreadsheet: format the column as a date";
/// Days that a spreadsheet writes as these numbers: 1927 to 2173.
const SERIALS: std::ops::Range<f64> = 10_000.0..100_000.0;

/// Returns the reason why a date cannot be read.
pub fn unreadable_date(value: &str) -> &'static str {
    match decimal(value) {
        Some(number) if SERIALS.contains(&number) => DATE_IS_SERIAL,
        _ => DATE_UNREADABLE,
    }
}

/// Some rows of a file, converted to records of a table.
#[derive(Debug)]
pub struct Converted {
    /// Records, in the table's schema.
    pub batch: RecordBatch,
    /// Number of source rows used in the records.
    pub rows_kept: u64,
    /// Number of source rows outside the requested departments, years or dates.
    pub rows_not_asked_for: u64,
    /// Number of records placed by their address.
    pub placed: u64,
    /// Problems found while converting.
    pub findings: ConversionFindings,
    /// Communes and years of the rows kept.
    pub places: BTreeSet<(String, i32)>,
}

/// One value that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Name of the file.
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
    /// Column name.
    pub column: String,
    /// The value, truncated.
    pub value: String,
}

/// A count with the first examples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Number of cases.
    pub count: u64,
    /// The first cases, at most [`EXAMPLES_MAX`].
    pub examples: Vec<Example>,
}

/// Rows by column and value.
pub type UnlistedValues = BTreeMap<&'static str, BTreeMap<String, u64>>;

/// Tallies by reason.
pub type Tallies = BTreeMap<&'static str, Tally>;

/// Problems found while converting some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversionFindings {
    /// Rejected rows, by reason.
    pub rejected: Tallies,
    /// Values dropped from rows that were imported, by reason.
    pub dropped: LeftOutValues,
    /// Values outside the official list of their column, imported as published.
    pub unlisted: UnlistedValues,
    /// Sales that their rows do not distinguish, by how they were counted.
    pub unclear: Tallies,
    /// Rows with text that was encoded as UTF-8 twice, imported as it is.
    pub encoded_twice: Tally,
    /// Rows that equal another row of their sale in every cell.
    pub repeated_rows: u64,
    /// Location of the first value for which the file is refused, and the reason. A date that can only be month-first
    /// (`12/31/2024`) is one: every other date of the column would be read as a different day.
    pub refused: Option<(SourceLocation, String)>,
}

impl ConversionFindings {
    /// Counts a rejected row.
    pub fn reject(&mut self, reason: &'static str, place: &SourceLocation, value: &str) {
        tally(&mut self.rejected, reason, place, value);
        self.note_month_first(reason, place, value);
    }

    /// Counts a value that is not in the official list of its column.
    pub fn count_unlisted(&mut self, column: &'static str, value: &str) {
        let value = value.chars().take(VALUE_CHARS_MAX).collect();
        count_values(&mut self.unlisted, column, value, 1);
    }

    /// Counts a case in which rows do not show which sale they belong to.
    pub fn count_unclear(&mut self, what: &'static str, place: &SourceLocation, value: &str) {
        tally(&mut self.unclear, what, place, value);
    }

    /// Counts a row with text that was encoded as UTF-8 twice.
    pub fn count_encoded_twice(&mut self, place: &SourceLocation, value: &str) {
        self.encoded_twice.add(place, value);
    }

    /// Counts a dropped value.
    pub fn drop_value(&mut self, reason: &'static str, place: &SourceLocation, value: &str) {
        let column = place.column.as_deref().unwrap_or_default();
        self.dropped
            .add(reason, place.line.unwrap_or(0), column, value);
        self.note_month_first(reason, place, value);
    }

    fn note_month_first(&mut self, reason: &str, place: &SourceLocation, value: &str) {
        if reason == DATE_UNREADABLE && is_month_first(value) {
            self.refuse(place.clone(), month_first_reason(value));
        }
    }

    /// Refuses the file for a value, unless it is refused already.
    pub fn refuse(&mut self, place: SourceLocation, reason: String) {
        self.refused.get_or_insert((place, reason));
    }
}

fn tally(tallies: &mut Tallies, reason: &'static str, place: &SourceLocation, value: &str) {
    tallies.entry(reason).or_default().add(place, value);
}

impl Tally {
    fn add(&mut self, place: &SourceLocation, value: &str) {
        self.count += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(Example {
                file: place.file.clone(),
                line: place.line.unwrap_or(0),
                column: place.column.clone().unwrap_or_default(),
                value: value.chars().take(VALUE_CHARS_MAX).collect(),
            });
        }
    }

    /// Adds the cases of another tally.
    pub(crate) fn append(&mut self, other: Self) {
        self.count += other.count;
        let room = EXAMPLES_MAX.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }
}

/// Counts a value of a column; the values beyond [`UNLISTED_VALUES_MAX`] are counted together.
fn count_values(into: &mut UnlistedValues, column: &'static str, value: String, count: u64) {
    let values = into.entry(column).or_default();
    let has_room = values.len() < UNLISTED_VALUES_MAX || values.contains_key(&value);
    let value = if has_room {
        value
    } else {
        OTHER_VALUES.to_owned()
    };
    *values.entry(value).or_default() += count;
}

fn merge(into: &mut Tallies, from: Tallies) {
    for (reason, found) in from {
        into.entry(reason).or_default().append(found);
    }
}

/// One file of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// The file and what was understood of it.
    #[serde(flatten)]
    pub read: ReadFile,
    /// Number of bytes read, before decompression.
    pub bytes: u64,
    /// BLAKE3 digest of these bytes, hexadecimal.
    pub checksum: String,
}

/// A file of a folder that was not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// Path of the file.
    pub name: String,
    /// The reason, in words.
    pub reason: String,
}

/// Report of what an import read, used, rejected and changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportReport {
    /// Name of the table.
    pub table: &'static str,
    /// Start time, ISO 8601.
    pub started_at: String,
    /// Official edition, if the files are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// Files in the order they were read.
    pub files: Vec<FileReport>,
    /// Number of source rows read.
    pub rows_read: u64,
    /// Number of source rows used in records.
    pub rows_kept: u64,
    /// Number of source rows outside the requested departments, years or dates.
    pub rows_not_asked_for: u64,
    /// Number of source rows that equal another row of their sale in every cell.
    pub rows_repeated: u64,
    /// Number of records created.
    pub records: u64,
    /// Number of records without a position in their source that were located by their address.
    pub placed: u64,
    /// Sales without a position, by department.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub without_position: BTreeMap<String, u64>,
    /// Sales imported so far, to compare with the stored ones; `None` if no sales are stored.
    #[serde(skip)]
    pub imported_sales: Option<ImportedSales>,
    /// Homes sold, to recognise files that were filtered by row.
    #[serde(skip)]
    pub sold_homes: SoldHomes,
    /// Rejected rows, by reason.
    pub rejected: Tallies,
    /// Sales that their rows do not distinguish, by how they were counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unclear_sales: Tallies,
    /// Values outside the official list of their column, imported as published: rows by column and value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unlisted_values: UnlistedValues,
    /// Files in the given folders that do not belong to the table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_files: Vec<SkippedFile>,
    /// Slices of the table that were replaced completely.
    pub replaced_slices: Vec<Slice>,
    /// Notes in words, such as slices that the official source does not cover.
    pub notes: Vec<String>,
    /// Changes to the table; absent until they are published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ImportOutcome>,
    /// Elapsed time in seconds.
    pub seconds: f64,
}

impl ImportReport {
    /// Returns the number of rejected rows.
    pub fn rows_rejected(&self) -> u64 {
        self.rejected.values().map(|tally| tally.count).sum()
    }

    /// Adds the findings of one block. Returns the values that were dropped, which belong to the report of the file.
    #[must_use]
    pub fn add(&mut self, findings: ConversionFindings) -> LeftOutValues {
        let ConversionFindings {
            rejected,
            dropped,
            unlisted,
            unclear,
            // Noted for each file.
            encoded_twice: _,
            repeated_rows,
            refused: _,
        } = findings;
        merge(&mut self.rejected, rejected);
        merge(&mut self.unclear_sales, unclear);
        self.rows_repeated += repeated_rows;
        for (column, values) in unlisted {
            for (value, count) in values {
                count_values(&mut self.unlisted_values, column, value, count);
            }
        }
        dropped
    }

    /// Counts the sales of a batch that have no position.
    pub fn add_without_position(&mut self, sales: &RecordBatch) {
        let columns = (
            sales.column_by_name("lon"),
            sales.column_by_name("departement_code"),
        );
        let (Some(longitudes), Some(departments)) = columns else {
            return;
        };
        let Some(departments) = departments.as_string_opt::<i32>() else {
            return;
        };
        for row in (0..sales.num_rows()).filter(|row| longitudes.is_null(*row)) {
            let department = departments.value(row).to_owned();
            *self.without_position.entry(department).or_default() += 1;
        }
    }

    /// Advises what to do about sales without a position; `None` if nearly all have one.
    fn position_hint(&self) -> Option<String> {
        let missing: u64 = self.without_position.values().sum();
        if missing * WITHOUT_POSITION_ONE_IN < self.records || missing == 0 {
            return None;
        }
        let with = HumanCount(self.records.saturating_sub(missing));
        let departments: Vec<&str> = self.without_position.keys().map(String::as_str).collect();
        let (names, codes) = (departments.join(", "), departments.join(","));
        let what = match self.placed {
            0 => format!(
                "to place the others, import the addresses of {names}: toise import ban --departments {codes}"
            ),
            _ => format!(
                "the others match no imported address with certainty; check that all addresses of {names} are imported"
            ),
        };
        Some(format!(
            "{with} of {} sales have a position; {what}",
            HumanCount(self.records)
        ))
    }

    /// Writes the report as JSON to `<data>/reports/import-<table>-<timestamp>.json` and returns its path.
    pub fn write(&self, data: &Path) -> std::io::Result<PathBuf> {
        let name = format!("import-{}", self.table);
        reports::write(data, &name, &self.started_at, self)
    }

    /// Builds the table of counts for the terminal.
    fn table_of_counts(&self) -> comfy_table::Table {
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
        line("rows not selected", self.rows_not_asked_for.to_string());
        line("rows rejected", self.rows_rejected().to_string());
        if self.rows_repeated > 0 {
            line("rows repeated", self.rows_repeated.to_string());
        }
        line("records created", self.records.to_string());
        if self.placed > 0 {
            line("placed by their address", self.placed.to_string());
        }
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
        table
    }

    /// Returns the report as text for the terminal.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.table_of_counts());
        for (title, tallies) in [
            ("rejected", &self.rejected),
            ("sales not told apart", &self.unclear_sales),
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
        for (column, values) in &self.unlisted_values {
            let values: Vec<String> = values
                .iter()
                .map(|(value, count)| format!("\"{value}\" {count}"))
                .collect();
            let _ = writeln!(
                text,
                "not in the official list, kept as published: {column}: {}",
                values.join(", ")
            );
        }
        text.push_str(&reading::to_text(self.files.iter().map(|file| &file.read)));
        for SkippedFile { name, reason } in &self.skipped_files {
            let _ = writeln!(text, "skipped: {name}: {reason}");
        }
        if !self.replaced_slices.is_empty() {
            let slices: Vec<String> = self
                .replaced_slices
                .iter()
                .map(|slice| match slice.year {
                    Some(year) => format!("{} {year}", slice.place),
                    None => slice.place.clone(),
                })
                .collect();
            let _ = writeln!(text, "replaced completely: {}", slices.join(", "));
        }
        for note in self.notes.iter().cloned().chain(self.position_hint()) {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn sales_without_positions_say_what_to_import() {
        let mut report = ImportReport {
            records: 5_149,
            ..ImportReport::default()
        };
        let sales = RecordBatch::try_from_iter([
            (
                "departement_code",
                Arc::new(StringArray::from(vec!["06"; 5_149])) as arrow::array::ArrayRef,
            ),
            ("lon", Arc::new(Float64Array::new_null(5_149))),
        ]);
        report.add_without_position(&sales.unwrap());
        let text = report.to_text();
        let note = "note: 0 of 5,149 sales have a position; to place the others, import the addresses of 06: toise import \
                    ban --departments 06\n";
        assert!(text.contains(note), "{text}");
        report.without_position = BTreeMap::from([("06".into(), 20)]);
        assert!(
            !report.to_text().contains("have a position"),
            "few lack one"
        );
    }

    #[test]
    fn three_examples_are_kept_in_source_order() {
        let mut report = ImportReport::default();
        for block in 0..3u64 {
            let mut findings = ConversionFindings::default();
            for row in 0..2 {
                let place = SourceLocation::line("f.csv", block * 2 + row).column("date");
                findings.reject("date unreadable", &place, "x");
            }
            assert!(report.add(findings).is_empty());
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
