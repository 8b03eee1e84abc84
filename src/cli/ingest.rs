//! `toise ingest`: ingests adverts from files or standard input and reports everything it read.
//!
//! A file is read row by row (`source`), rows become adverts on all cores (`convert`) while the previous batch is
//! ingested, and every row is counted (`report`).

mod columnar;
mod convert;
mod delimited;
mod document;
mod dry_run;
mod lines;
mod report;
mod snapshot;
mod source;
mod suggest;
mod unread;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::common::MissingArgs;
use super::result::{Failure, listed, no_rows, show_report};
use super::{CommandResult, Common};
use convert::{ConvertedBatch, RowConverter, RowShape};
use delimited::CsvDialect;
use dry_run::DryRun;
use report::IngestReport;
use snapshot::SnapshotRows;
use source::{FieldNames, IngestFormat, OpenSource, Rows, name_of, sources};
use toise_app::contours;
use toise_base::clock::{Clock, iso};
use toise_base::progress::Progress;
use toise_collect::mapping::copies::CopyCounts;
use toise_collect::mapping::{Mapping, Mappings};
use toise_collect::portals::Portals;
use toise_geocode::live::LiveGeocoder;
use toise_input::SharedForm;
use toise_listings::Listings;
use toise_listings::load::ingest::GROUP_MAX;
use toise_listings::placement::quality::MergeCounter;
use toise_store::Store;
use unread::{MissingFields, UnreadClasses};

/// Maximum rows of a batch: enough to keep all cores busy.
const BATCH_MAX: usize = 8 * GROUP_MAX;

/// Arguments of `ingest`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each row is one sighting of an advert. Without a mapping it has the shape of the contract's Advert: `url` identifies the
advert and `lastSeenAt` is the time of the sighting [default: now]. An absent field is unchanged, null means no longer
known. An advert keeps the content of its latest sighting, so files may come in any order and more than once. Can run
while the server is running.

With a mapping, rows have any shape: its TOML file says which column or JSON path fills which field, and how it is read
(docs/ingesting.md). Built-in mappings are named as in --mapping french-csv; --list-mappings lists them.

An invalid value of an optional field is left out with a warning, and the advert stays. The exit code is 1 if no
row gave an advert or a file looks cut off; with --strict, if any row gave no advert.

CSV columns named like a field (currentPrice.value) need no mapping; the items of a list are separated by |.

Examples:

  toise ingest adverts.ndjson
  zcat adverts.ndjson.gz | toise ingest - --json
  toise ingest export.csv --suggest > portal.toml
  toise ingest export.csv --mapping portal.toml --dry-run
  toise ingest export.csv --mapping french-csv --set location.city=Toulon --set lastSeenAt=2026-03-09
  toise ingest monday.json --mapping portal.toml --snapshot --strict
  toise ingest export.csv --map url=link --map currentPrice.value=price --map location.postalCode=cp \\
    --set source=portail.fr --set type=CLASS_FLAT --set offer.type=OFFER_BUY")]
pub struct IngestArgs {
    /// Files, globs or folders (CSV, XLSX, ODS, JSON, NDJSON, XML, Parquet, Arrow; also gzip, zip, zstd); - for
    /// standard input
    #[arg(required_unless_present = "list_mappings")]
    files: Vec<PathBuf>,
    /// Mapping file, or the name of a mapping that is built in or in the folder mappings of the data folder
    #[arg(long, value_name = "FILE|NAME")]
    mapping: Option<String>,
    /// List the mappings that --mapping accepts by name
    #[arg(long)]
    list_mappings: bool,
    /// Field of the Advert and the column to read it from; repeatable
    #[arg(long = "map", value_name = "FIELD=COLUMN", value_parser = pair)]
    maps: Vec<(String, String)>,
    /// Field of the Advert and its value in rows that give no other value
    #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = pair)]
    sets: Vec<(String, String)>,
    /// Print a mapping for the file, with sample values and the confidence of each column, ready to save and edit
    #[arg(long, conflicts_with_all = ["mapping", "maps", "sets", "dry_run", "snapshot", "strict", "report"])]
    suggest: bool,
    /// Format of the files [default: from the file name, otherwise from the first byte]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<IngestFormat>,
    /// Encoding of CSV files, such as windows-1252 [default: detected]
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
    /// Delimiter of CSV files, one character or tab [default: detected in the header]
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<String>,
    #[command(flatten)]
    missing: MissingArgs,
    /// Show what the first ten rows would become and count the outcomes of all rows, without writing anything
    #[arg(long, conflicts_with = "snapshot")]
    dry_run: bool,
    /// The files hold all adverts that their portals show: adverts that are no longer shown go offline
    #[arg(long)]
    snapshot: bool,
    /// Fail if any row gives no advert
    #[arg(long)]
    strict: bool,
    /// Also write the report as JSON to this file (a copy is always in the folder reports of the data folder)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((ours, theirs)) if !ours.is_empty() && !theirs.is_empty() => {
            Ok((ours.into(), theirs.into()))
        }
        _ => Err("expected a field and a column or value, as in currentPrice.value=price".into()),
    }
}

/// Runs `ingest`.
pub fn run(common: &Common, arguments: &IngestArgs) -> CommandResult {
    if arguments.list_mappings {
        return list_mappings(common);
    }
    arguments.missing.apply()?;
    let started = Instant::now();
    let clock = Clock::system();
    let portals = Portals::load(&common.data)?;
    if arguments.suggest {
        return suggest::run(common, arguments, &portals);
    }
    let plan = ReadingPlan::new(common, arguments, &portals)?;
    let sources = sources(&arguments.files)?;
    let mut report = IngestReport::begin(iso(clock.now()));
    let progress = Progress::new(common.json);
    if arguments.dry_run {
        let mut shown = DryRun::default();
        let identity = portals.identity();
        let now = clock.now();
        let cut = plan.read_all(&sources, &progress, &mut report, |batch, report| {
            shown.add(batch, report, now, &identity);
            Ok(())
        })?;
        report.seconds = started.elapsed().as_secs_f64();
        print_dry_run(common, &shown, &report)?;
        return verdict(&report, &cut, arguments);
    }
    let listings = common
        .listings(Store::open(&common.data)?, clock.clone())?
        .with_contours(contours::kept(&common.data))
        .with_addresses(LiveGeocoder::open(&common.data))
        .with_identity(portals.identity());
    let counter = MergeCounter::from_now(&listings)?;
    let mut seen = arguments.snapshot.then(|| SnapshotRows::new(&clock));
    let cut = plan.read_all(&sources, &progress, &mut report, |batch, report| {
        if let Some(seen) = &mut seen {
            seen.add(&batch, &listings);
        }
        ingest(&listings, batch, report)
    })?;
    if let Some(seen) = seen {
        report.gone(&listings.take_offline_unseen(&seen.finish(&cut)?)?);
    }
    let before = counter.adverts_before();
    report.merges(listings.merge_counts_since(counter)?, before);
    report.seconds = started.elapsed().as_secs_f64();
    let path = report.write(&common.data, &listings.erased_contacts()?.contacts)?;
    let shown = (&report, report.to_text());
    show_report(common.json, shown, &path, arguments.report.as_deref())?;
    verdict(&report, &cut, arguments)
}

/// Fails if rows were read and none gave an advert, if a file looks cut off in one of the lines `cut` or, if strict, if
/// any row gave no advert.
fn verdict(report: &IngestReport, cut: &[String], arguments: &IngestArgs) -> CommandResult {
    if !cut.is_empty() {
        let message = format!(
            "{}: the file ends within this row and looks cut off; only what is before it was read",
            cut.join("; ")
        );
        return Err(message.into());
    }
    match report.read_and_rejected() {
        (0, _) => Err(no_rows(&listed(&arguments.files)).into()),
        (read, rejected) if rejected > 0 && (arguments.strict || read == rejected) => {
            let files = listed(&arguments.files);
            let message = format!(
                "{rejected} of {read} rows gave no advert ({files}): the report names the reasons; --suggest makes a \
                 mapping for the columns of a file"
            );
            Err(message.into())
        }
        _ => Ok(()),
    }
}

fn print_dry_run(common: &Common, shown: &DryRun, report: &IngestReport) -> CommandResult {
    if common.json {
        let output = serde_json::json!({"dry_run": shown, "report": report});
        println!("{output}");
    } else {
        print!("{}{}", shown.to_text(), report.to_text());
        println!("dry run: nothing was written; \"created\" counts rows that would give an advert");
    }
    Ok(())
}

fn list_mappings(common: &Common) -> CommandResult {
    let mappings = Mappings::load(&common.data)?;
    if common.json {
        let names: Vec<&str> = mappings.names().map(|(name, _)| name).collect();
        println!("{}", serde_json::to_string(&names)?);
        return Ok(());
    }
    let mut table = crate::table();
    for (name, file) in mappings.names() {
        table.add_row([name, file]);
    }
    println!("{table}");
    Ok(())
}

/// Settings with which the files of a run are read.
struct ReadingPlan<'p> {
    mapping: Mapping,
    maps: &'p [(String, String)],
    sets: &'p [(String, String)],
    format: Option<IngestFormat>,
    dialect: CsvDialect,
    portals: &'p Portals,
}

impl<'p> ReadingPlan<'p> {
    fn new(
        common: &Common,
        arguments: &'p IngestArgs,
        portals: &'p Portals,
    ) -> Result<Self, Failure> {
        let file = match &arguments.mapping {
            None => Mapping::default(),
            Some(name) if Path::new(name).is_file() => Mapping::open(Path::new(name))?,
            Some(name) => Mappings::load(&common.data)?
                .get(name)
                .map_err(|fault| {
                    format!("--mapping: no such file, and {name:?} {}", fault.message)
                })?
                .clone(),
        };
        let encoding = arguments.encoding.as_ref().or(file.encoding.as_ref());
        let delimiter = arguments.delimiter.as_ref().or(file.delimiter.as_ref());
        let dialect =
            CsvDialect::parse(encoding.map(String::as_str), delimiter.map(String::as_str))?;
        let maps = Mapping::from_columns(pairs(&arguments.maps));
        let maps = maps.map_err(|fault| format!("--map: {fault}"))?;
        let plan = Self {
            mapping: file.after(maps),
            maps: &arguments.maps,
            sets: &arguments.sets,
            format: arguments.format,
            dialect,
            portals,
        };
        // A wrong --set is reported before anything is read.
        plan.with_sets(Mapping::default())?;
        Ok(plan)
    }

    fn with_sets(&self, mapping: Mapping) -> Result<Mapping, String> {
        let mapping = mapping.with_constants(pairs(self.sets));
        mapping.map_err(|fault| format!("--set: {fault}"))
    }

    /// Returns the mapping for a file with these columns, and the shape of its rows.
    fn mapping_of(&self, header: Option<&[String]>) -> Result<(Mapping, RowShape), String> {
        let Some(header) = header else {
            let shape = if self.is_mapped() {
                RowShape::Mapped
            } else {
                RowShape::Advert
            };
            return Ok((self.with_sets(self.mapping.clone())?, shape));
        };
        for (field, column) in self.maps {
            let only = Mapping::from_columns([(field.as_str(), column.as_str())])?;
            if only.columns(header).is_empty() {
                let columns = header.join(", ");
                return Err(format!("--map: no column {column:?}; columns: {columns}"));
            }
        }
        let mut mapping = self.mapping.clone();
        if !mapping.is_from_file() {
            // Columns named like a field are mapped without a rule.
            let mapped = mapping.columns(header);
            let own = header.iter();
            let own = own.filter(|column| !mapped.contains(&column.as_str()));
            let own = own.filter(|column| Mapping::from_columns([(column.as_str(), "_")]).is_ok());
            let own: Vec<&str> = own.map(String::as_str).collect();
            mapping =
                Mapping::from_columns(own.iter().map(|column| (*column, *column)))?.after(mapping);
            if !mapping.has_rule_for("url") {
                return Err(
                    "no column is mapped to url; map one with --map url=COLUMN, name a --mapping, or let --suggest \
                     write one"
                        .into(),
                );
            }
        }
        Ok((self.with_sets(mapping)?, RowShape::Mapped))
    }

    /// Returns whether rows are read by rules, for any columns.
    fn is_mapped(&self) -> bool {
        self.mapping.is_from_file() || !self.maps.is_empty()
    }

    /// Reads a text once to see how its columns write numbers, notes the decimal mark in `form` and sets it in the
    /// mapping. Parquet has its own numbers. Returns the names of the fields of all rows, if the file has no header.
    fn observe(
        &self,
        path: &Path,
        mapping: &mut Mapping,
        form: &SharedForm,
    ) -> Result<Vec<String>, String> {
        let bar = ProgressBar::hidden();
        let records = self.mapping.records.as_ref();
        let opened = source::open(Some(path), self.format, &self.dialect, records, &bar)?;
        let found = form.found();
        let is_text = found.delimiter.is_some() || found.is_spreadsheet();
        let has_header = opened.header.is_some();
        let mut fields = FieldNames::default();
        if has_header && !is_text {
            return Ok(Vec::new());
        }
        let mut decimals = mapping.decimals(&found);
        for line in opened.rows {
            let line = line.map_err(|error| error.to_string())?;
            if let Ok(Value::Object(row)) = line.row {
                mapping.observe(&row, &mut decimals);
                if !has_header {
                    fields.add(&row);
                }
            }
        }
        if let Some(reason) = decimals.month_first() {
            return Err(format!(
                "{reason}, or give the field a format in a mapping: \"%m/%d/%Y\""
            ));
        }
        form.set_decimal_mark(decimals.mark());
        mapping.set_decimals(&decimals, is_text);
        Ok(fields.names)
    }

    /// Reads all files. Calls `take` with each batch while the next one is read. Returns the names of the files that look
    /// cut off, with their last lines.
    fn read_all(
        &self,
        sources: &[Option<PathBuf>],
        progress: &Progress,
        report: &mut IngestReport,
        mut take: impl FnMut(ConvertedBatch, &mut IngestReport) -> CommandResult,
    ) -> Result<Vec<String>, Failure> {
        let mut cut = Vec::new();
        for source in sources {
            let source = source.as_deref();
            let name = name_of(source);
            let bar = progress.bytes(&name, source.and_then(length));
            let spooled = match source {
                None if self.is_mapped() => Some(source::spooled_input()?),
                _ => None,
            };
            let readable = source.or(spooled.as_deref());
            let named = |error: Failure| format!("{name}: {error}");
            let opened = source::open(
                readable,
                self.format,
                &self.dialect,
                self.mapping.records.as_ref(),
                &bar,
            );
            let OpenSource {
                rows,
                header,
                counted,
                form,
            } = opened.map_err(|error| named(error.into()))?;
            report.begin_file(&name, counted);
            let found = self.mapping_of(header.as_deref());
            let (mut mapping, shape) = found.map_err(|error| named(error.into()))?;
            let mut fields = Vec::new();
            if let (RowShape::Mapped, Some(path)) = (shape, readable) {
                fields = self
                    .observe(path, &mut mapping, &form)
                    .map_err(|error| named(error.into()))?;
            }
            let header = header.unwrap_or(fields);
            let read = mapping.columns(&header);
            let unused = header.iter().filter(|one| !read.contains(&one.as_str()));
            let unused: Vec<String> = unused.cloned().collect();
            report.columns(mapping.columns_used(&header), &unused);
            let converter = RowConverter {
                mapping: &mapping,
                shape,
                portals: self.portals,
            };
            let (mut copies, mut missing) = (CopyCounts::default(), MissingFields::new());
            let mut classes = UnreadClasses::default();
            let taken = read_batches(rows, &converter, |batch| {
                bar.tick();
                for row in &batch.rows {
                    copies.add(&row.advert);
                    missing.add(&row.advert);
                    classes.add(row);
                }
                let is_first = report.rows_of_file() == 0;
                report.missing(&batch.missing);
                take(batch, report)?;
                if is_first && let Some(warning) = report.early_warning() {
                    bar.suspend(|| eprintln!("{name}: {warning}"));
                }
                Ok(())
            });
            bar.finish_and_clear();
            taken.map_err(named)?;
            report.end_file(form.found());
            for copied in copies.found() {
                report.copied(&copied);
            }
            let (read, rejected) = report.read_and_rejected();
            if read > rejected {
                report.unread(missing.warnings(&unused));
                report.unread(classes.warning().into_iter().collect());
            }
            if let Some(line) = form.cut_line() {
                cut.push(format!("{name}, line {line}"));
            }
        }
        Ok(cut)
    }
}

fn pairs(given: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    given
        .iter()
        .map(|(one, other)| (one.as_str(), other.as_str()))
}

fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|metadata| metadata.len())
}

/// Reads and converts the rows of a file batch by batch, while `take` works on the previous batch.
fn read_batches(
    mut rows: Rows<'_>,
    converter: &RowConverter<'_>,
    mut take: impl FnMut(ConvertedBatch) -> CommandResult,
) -> CommandResult {
    std::thread::scope(|scope| {
        let (reading, batches) = sync_channel(1);
        scope.spawn(move || {
            loop {
                let lines: std::io::Result<Vec<_>> = rows.by_ref().take(BATCH_MAX).collect();
                // Reading ends at a batch that is empty or cannot be read.
                let is_last = lines.as_ref().map_or(true, Vec::is_empty);
                let batch = lines.map(|lines| converter.convert(lines));
                // Sending fails when the ingestion of an earlier batch failed.
                if reading.send(batch).is_err() || is_last {
                    return;
                }
            }
        });
        for batch in batches {
            take(batch?)?;
        }
        Ok(())
    })
}

/// Ingests a batch. Adverts counted in the report are on disk.
fn ingest(listings: &Listings, batch: ConvertedBatch, report: &mut IngestReport) -> CommandResult {
    report.blank(batch.blank);
    for (number, reason, value) in batch.refused {
        report.unreadable(number, &reason, value);
    }
    let (mut numbers, mut adverts) = (Vec::new(), Vec::new());
    for row in batch.rows {
        // The report shows it if the advert is refused.
        let part = |key: &str| row.advert.get(key).cloned();
        let given = json!({"location": part("location"), "url": part("url")});
        numbers.push((row.number, row.left_out, row.warnings, given));
        adverts.push(row.advert);
    }
    let outcomes = listings.ingest(adverts)?;
    for ((number, left_out, warnings, given), mut outcome) in numbers.into_iter().zip(outcomes) {
        if let Ok(receipt) = &mut outcome {
            receipt
                .warnings
                .extend(warnings.into_iter().map(Cow::Borrowed));
        }
        report.add(number, &outcome, &left_out, Some(&given));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_a_field_and_a_column() {
        assert!(pair("url=link").is_ok() && pair("url").is_err() && pair("=x").is_err());
    }

    fn plan<'p>(portals: &'p Portals, maps: &'p [(String, String)]) -> ReadingPlan<'p> {
        ReadingPlan {
            mapping: Mapping::from_columns(pairs(maps)).unwrap(),
            maps,
            sets: &[],
            format: None,
            dialect: CsvDialect::default(),
            portals,
        }
    }

    #[test]
    fn columns_named_like_a_field_need_no_mapping_and_others_are_mapped() {
        let portals = Portals::default();
        let maps = [("url".to_owned(), "link".to_owned())];
        let plan = plan(&portals, &maps);
        let header = ["link", "type", "currentPrice.value", "note"].map(str::to_owned);
        let (mapping, shape) = plan.mapping_of(Some(&header)).unwrap();
        assert_eq!(shape, RowShape::Mapped);
        let row = serde_json::json!({"link": "https://p.example/1", "type": "CLASS_FLAT",
            "currentPrice.value": "250 000 €", "note": "x"});
        let read = mapping.read(row.as_object().unwrap(), &portals);
        let expected = serde_json::json!({"url": "https://p.example/1", "type": "CLASS_FLAT",
            "currentPrice": {"value": 250_000.0}});
        assert_eq!(read.advert, expected);
        assert!(!mapping.columns(&header).contains(&"note"));
        let error = plan.mapping_of(Some(&["a".to_owned()])).unwrap_err();
        assert_eq!(error, "--map: no column \"link\"; columns: a");
    }
}
