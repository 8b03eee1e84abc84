//! The report of an ingestion, as text and as JSON. It counts every row that was read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::convert::reason;
use toise_base::reports;
use toise_collect::mapping::copies::CopiedField;
use toise_contract::Fault;
use toise_contract::enums::WireEnum;
use toise_input::missing::MissingCounts;
use toise_input::reading::{self, ColumnUse};
use toise_input::{FileForm, ReadFile};
use toise_listings::adverts::contacts::ErasedContacts;
use toise_listings::adverts::left_out::LeftOut;
use toise_listings::load::ingest::{IngestOutcome, IngestReceipt};
use toise_listings::placement::quality::MergeCounts;

/// Maximum examples stored per reason.
const EXAMPLES_MAX: usize = 3;
/// Maximum distinct reasons; further ones are counted together.
const REASONS_MAX: usize = 200;
/// Minimum number of created adverts for which it is worth deciding the merges again.
const DOUBLED_MIN: u64 = 1_000;
/// Field without which an advert has no place.
const LOCATION: &str = "location";
/// Field of the address of an advert.
const URL: &str = "url";
/// Maximum characters of the cells that an example shows.
const CELLS_CHARS_MAX: usize = 200;
/// Label under which further reasons are counted.
const OTHER_REASONS: &str = "other reasons";

/// A row, as an example of a rejection or warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IngestExample {
    file: String,
    /// Number of its line; in files without lines, of its record.
    line: u64,
    /// The value at fault, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Unit of the number: `line` or `record`.
    #[serde(skip)]
    counted: &'static str,
}

/// How often a reason occurred, with the first examples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IngestTally {
    count: u64,
    examples: Vec<IngestExample>,
}

/// Counts of what an ingestion read and changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IngestReport {
    table: &'static str,
    started_at: String,
    files: Vec<ReadFile>,
    adverts: u64,
    created: u64,
    updated: u64,
    unchanged: u64,
    /// Rows that gave no advert.
    rejected: u64,
    /// Rows without any value, which are not counted among the adverts.
    blank: u64,
    /// Adverts with values that were left out.
    incomplete: u64,
    /// Adverts that went offline because the snapshot does not show them.
    gone: u64,
    events: BTreeMap<&'static str, u64>,
    /// Rejected adverts, by reason.
    rejections: BTreeMap<String, IngestTally>,
    /// Ingested adverts with a warning, by warning.
    warnings: BTreeMap<String, IngestTally>,
    /// Warnings about fields of a file that look copied from another field.
    copied: Vec<String>,
    /// Warnings about unread columns named like a field that every advert lacks, and about columns of classes without a
    /// known class.
    unread: Vec<String>,
    /// Counts of the properties that were written, and of their merges that contradict each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    merges: Option<MergeCounts>,
    /// Whether the store more than doubled, so that its first adverts were compared with few others.
    has_doubled: bool,
    #[serde(skip)]
    counted: &'static str,
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

    /// Starts the count of a file; the following rows belong to it. `counted` is the unit of their numbers: `line` or
    /// `record`.
    pub fn begin_file(&mut self, name: &str, counted: &'static str) {
        self.counted = counted;
        self.files.push(ReadFile {
            name: name.to_owned(),
            ..ReadFile::default()
        });
    }

    /// Ends a file. `form` has its containers and its encoding as they were detected.
    pub fn end_file(&mut self, form: FileForm) {
        if let Some(file) = self.files.last_mut() {
            file.reading.form = form;
        }
    }

    /// Sets the columns of the current file that are read, with their fields, and those that are not read.
    pub fn columns(&mut self, used: Vec<ColumnUse>, unused: &[String]) {
        if let Some(file) = self.files.last_mut() {
            file.reading.columns_used = used;
            file.reading.columns_unused = unused.to_vec();
        }
    }

    /// Counts texts for missing values in rows of the current file.
    pub fn missing(&mut self, counts: &MissingCounts) {
        if let Some(file) = self.files.last_mut() {
            file.reading.add_missing(counts);
        }
    }

    /// Counts a row that is not an advert as rejected; `value` is the value at fault.
    pub fn unreadable(&mut self, line: u64, reason: &str, value: Option<String>) {
        let example = self.count(line);
        self.rejected += 1;
        tally(
            &mut self.rejections,
            reason,
            IngestExample { value, ..example },
        );
    }

    /// Stores the counts of the properties that were written to a store that held `adverts_before` adverts.
    pub fn merges(&mut self, counts: MergeCounts, adverts_before: u64) {
        self.has_doubled = self.created >= DOUBLED_MIN && self.created > adverts_before;
        self.merges = Some(counts);
    }

    /// Returns a warning or advice about the merges; `None` if nothing is unusual.
    fn remark_on_merges(&self) -> Option<String> {
        let counts = self.merges.as_ref()?;
        if counts.is_unusual() {
            return Some(format!(
                "warning: {} of {} merged pairs of adverts contradict each other ({:.1} %), more than usual. Is a \
                 column mapped wrongly? `toise evaluate dedup` shows how they differ",
                counts.contradicting_pairs,
                counts.merged_pairs,
                100.0 * counts.contradicting_share()
            ));
        }
        self.has_doubled.then(|| {
            "the store has more than doubled: `toise properties rebuild` decides the merges again, among all adverts"
                .to_owned()
        })
    }

    /// Counts rows without any value.
    pub fn blank(&mut self, rows: u64) {
        self.blank += rows;
    }

    /// Counts adverts that went offline because a snapshot no longer shows them, and their events.
    pub fn gone(&mut self, outcomes: &[IngestOutcome]) {
        for receipt in outcomes.iter().flatten() {
            self.gone += 1;
            self.count_events(receipt);
        }
    }

    /// Counts an advert by the outcome of its ingestion, and the values that were left out before it was ingested.
    /// `given` holds its place and its URL as they were.
    pub fn add(
        &mut self,
        line: u64,
        outcome: &IngestOutcome,
        left_out: &[LeftOut],
        given: Option<&Value>,
    ) {
        let example = self.count(line);
        let receipt = match outcome {
            Ok(receipt) => receipt,
            Err(fault) => return self.refuse(fault, left_out, given, example),
        };
        match receipt.change.as_str() {
            "created" => self.created += 1,
            "updated" => self.updated += 1,
            _ => self.unchanged += 1,
        }
        self.count_events(receipt);
        self.warn(&receipt.warnings, left_out, &example);
    }

    /// Counts an advert by the outcome of its preview: its warnings, or why it would be refused.
    pub fn add_preview(
        &mut self,
        line: u64,
        outcome: Result<&[Cow<'static, str>], &Fault>,
        left_out: &[LeftOut],
        given: Option<&Value>,
    ) {
        let example = self.count(line);
        match outcome {
            Ok(warnings) => {
                self.created += 1;
                self.warn(warnings, left_out, &example);
            }
            Err(fault) => self.refuse(fault, left_out, given, example),
        }
    }

    /// Counts a rejected advert. If its faulty field had a value that was left out, the report names that value and its
    /// reason. For an advert without a place, it names the parts of the place that it had. Without such a value, it names
    /// the URL of the advert, by which its record is found.
    fn refuse(
        &mut self,
        fault: &Fault,
        left_out: &[LeftOut],
        given: Option<&Value>,
        example: IngestExample,
    ) {
        self.rejected += 1;
        match left_out.iter().find(|one| one.path == fault.path) {
            None => {
                let part = |key: &str| given?.get(key).filter(|value| !value.is_null());
                let is_place = fault.path == LOCATION;
                let cells = is_place.then(|| place_cells(left_out, part(LOCATION)));
                let url =
                    || part(URL).map(|url| format!("{URL} {}", LeftOut::new(URL, "", url).value));
                let value = cells.flatten().or_else(url);
                tally(
                    &mut self.rejections,
                    &reason(fault),
                    IngestExample { value, ..example },
                );
            }
            Some(one) => {
                let value = Some(one.value.clone());
                let reason = format!("{}: {}", one.path, one.reason);
                tally(
                    &mut self.rejections,
                    &reason,
                    IngestExample { value, ..example },
                );
            }
        }
    }

    fn count_events(&mut self, receipt: &IngestReceipt) {
        for event in &receipt.events {
            *self.events.entry(event.event_type.as_str()).or_default() += 1;
        }
    }

    fn warn(
        &mut self,
        warnings: &[Cow<'static, str>],
        left_out: &[LeftOut],
        example: &IngestExample,
    ) {
        for warning in warnings {
            tally(&mut self.warnings, warning, example.clone());
        }
        self.incomplete += u64::from(!left_out.is_empty());
        for one in left_out {
            let reason = format!("{}: {}", one.path, one.reason);
            if let Some(file) = self.files.last_mut() {
                let left_out = &mut file.reading.left_out;
                left_out.add(&reason, example.line, "", &one.value);
            }
        }
    }

    /// Returns the number of rows that were read, and of those that gave no advert.
    pub fn read_and_rejected(&self) -> (u64, u64) {
        (self.adverts, self.rejected)
    }

    /// Returns the number of rows counted so far in the current file.
    pub fn rows_of_file(&self) -> u64 {
        self.files.last().map_or(0, |file| file.rows)
    }

    /// Returns a warning to print immediately if more than half of the rows so far gave no advert.
    pub fn early_warning(&self) -> Option<String> {
        if self.rejected * 2 <= self.adverts {
            return None;
        }
        let most = self
            .rejections
            .iter()
            .max_by_key(|(_, tally)| tally.count)?;
        Some(format!(
            "{} of the first {} rows gave no advert, most of them because {}; --suggest writes a mapping for the file, \
             --dry-run shows what rows become",
            self.rejected, self.adverts, most.0
        ))
    }

    /// Adds the warning that a field of the current file looks copied from another.
    pub fn copied(&mut self, copied: &CopiedField) {
        let CopiedField {
            field,
            of,
            equal,
            rows,
        } = copied;
        let warning = format!(
            "{}: {field} equals {of} in {equal} of {rows} rows, so its column looks copied; if it is, take {field} out of \
             the mapping",
            self.file()
        );
        self.copied.push(warning);
    }

    /// Adds warnings about columns of the current file that are not read.
    pub fn unread(&mut self, warnings: Vec<String>) {
        let file = self.file().to_owned();
        let warnings = warnings.into_iter();
        self.unread
            .extend(warnings.map(|warning| format!("{file}: {warning}")));
    }

    /// Returns the name of the current file.
    pub fn file(&self) -> &str {
        self.files.last().map_or("", |file| file.name.as_str())
    }

    fn count(&mut self, line: u64) -> IngestExample {
        self.adverts += 1;
        let file = self.files.last_mut().map(|file| {
            file.rows += 1;
            file.name.clone()
        });
        IngestExample {
            file: file.unwrap_or_default(),
            line,
            value: None,
            counted: self.counted,
        }
    }

    /// Writes the report as JSON to `<data>/reports/ingest-adverts-<timestamp>.json` and returns the path. Values that
    /// name an erased contact are written without it.
    pub fn write(&self, data: &Path, erased: &ErasedContacts) -> std::io::Result<PathBuf> {
        let name = format!("ingest-{}", self.table);
        let mut report = serde_json::to_value(self)?;
        if !erased.is_empty() {
            erased.remove_from_texts(&mut report);
        }
        reports::write(data, &name, &self.started_at, &report)
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
            ("gave no advert", self.rejected),
        ];
        let others = [
            ("empty rows", self.blank),
            ("adverts with values left out", self.incomplete),
            ("not in the snapshot, now offline", self.gone),
        ];
        let others = others.into_iter().filter(|(_, count)| *count > 0);
        for (name, count) in counts.into_iter().chain(others) {
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
        text.push_str(&reading::to_text(self.files.iter()));
        for (title, tallies) in [("rejected", &self.rejections), ("warning", &self.warnings)] {
            for (reason, tally) in tallies {
                let _ = writeln!(text, "{title}: {reason}: {}", tally.count);
                for example in &tally.examples {
                    let IngestExample {
                        file,
                        line,
                        counted,
                        ..
                    } = example;
                    let _ = match &example.value {
                        None => writeln!(text, "  {file}, {counted} {line}"),
                        Some(value) => writeln!(text, "  {file}, {counted} {line}: {value}"),
                    };
                }
            }
        }
        for warning in self.copied.iter().chain(&self.unread) {
            let _ = writeln!(text, "warning: {warning}");
        }
        if let Some(remark) = self.remark_on_merges() {
            let _ = writeln!(text, "{remark}");
        }
        text
    }
}

/// Returns the parts of a place that a row contains, including those that were left out; `None` if there are none.
fn place_cells(left_out: &[LeftOut], location: Option<&Value>) -> Option<String> {
    let given = location.and_then(Value::as_object).into_iter().flatten();
    let given = given.map(|(key, value)| format!("{key} {value}"));
    let others = left_out.iter().filter_map(|one| {
        let key = one.path.strip_prefix(LOCATION)?.strip_prefix('.')?;
        Some(format!("{key} {}", one.value))
    });
    let cells: Vec<String> = given.chain(others).collect();
    let cells: String = cells.join(", ").chars().take(CELLS_CHARS_MAX).collect();
    Some(cells).filter(|cells| !cells.is_empty())
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
    use serde_json::json;

    #[test]
    fn every_line_is_counted_once_with_three_examples_of_a_reason() {
        let mut report = IngestReport::begin("2026-11-21T12:00:00.000Z".into());
        report.begin_file("a.ndjson", "line");
        for line in 1..=5 {
            report.add(
                line,
                &Err(Fault::new("offer.type", "is required")),
                &[],
                None,
            );
        }
        report.unreadable(6, "must be JSON", None);
        assert_eq!(
            (report.adverts, report.rejected, report.files[0].rows),
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
            report.unreadable(7, &format!("reason {number}"), None);
        }
        assert_eq!(report.rejections.len(), REASONS_MAX + 1);
    }
    #[test]
    fn a_value_that_is_missing_for_having_been_left_out_is_to_blame() {
        let mut report = IngestReport::begin("2026-11-21T12:00:00.000Z".into());
        report.begin_file("a.json", "record");
        let left_out = [LeftOut::new(
            "type",
            "cannot be read from column genre",
            &json!("Yourte"),
        )];
        let outcome = Err(Fault::new("type", "is required"));
        report.add(3, &outcome, &left_out, None);
        let text = report.to_text();
        let line =
            "rejected: type: cannot be read from column genre: 1\n  a.json, record 3: \"Yourte\"\n";
        assert!(text.contains(line), "{text}");
        assert_eq!(report.read_and_rejected(), (1, 1));
    }

    #[test]
    fn an_advert_without_a_place_is_shown_with_the_parts_it_had() {
        let mut report = IngestReport::begin("2026-11-21T12:00:00.000Z".into());
        report.begin_file("a.csv", "line");
        let outcome = Err(Fault::new("location", "must hold a place"));
        let left_out = LeftOut::new("location.postalCode", "cannot be read", &json!("9320"));
        let given = json!({"location": {"city": "St Denis"}, "url": "https://p.example/1"});
        report.add(2, &outcome, &[left_out], Some(&given));
        report.add(3, &outcome, &[], None);
        let text = report.to_text();
        let lines = "rejected: location: must hold a place: 2\n  a.csv, line 2: city \"St Denis\", postalCode \"9320\"\n  \
                     a.csv, line 3\n";
        assert!(text.contains(lines), "{text}");
        let missing = Err(Fault::new("type", "is required"));
        report.add(4, &missing, &[], Some(&given));
        let text = report.to_text();
        let lines =
            "rejected: type: is required: 1\n  a.csv, line 4: url \"https://p.example/1\"\n";
        assert!(text.contains(lines), "{text}");
    }
}
