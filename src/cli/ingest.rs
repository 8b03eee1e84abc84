//! `toise ingest`: ingests adverts from files or standard input and reports everything it read.

mod lines;
mod report;
mod table;

use std::error::Error;
use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde_json::Value;

use super::{CommandResult, Common};
use lines::Line;
use report::IngestReport;
use table::Mapping;
use toise_app::contours;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_geocode::live::LiveGeocoder;
use toise_listings::Listings;
use toise_listings::load::ingest::GROUP_MAX;
use toise_opendata::import::iso;
use toise_opendata::source::files::expand;
use toise_store::Store;

/// Adverts read before a batch is ingested: enough to keep all cores busy.
const BATCH_MAX: usize = 8 * GROUP_MAX;
/// File name that stands for standard input.
const STDIN: &str = "-";

/// Arguments of `ingest`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each line is one sighting of an advert, in the shape of the contract's Advert: `url` identifies the advert and
`lastSeenAt` is the time of the sighting [default: now]. An absent field is unchanged, null means no longer known. A
sighting older than the stored one changes nothing, so files may come in any order and more than once. Can run while
the server is running.

CSV columns named like a field (currentPrice.value) need no mapping; the items of a list are separated by |.

Examples:

  toise ingest adverts.ndjson
  zcat adverts.ndjson.gz | toise ingest - --json
  toise ingest export.csv --map url=link --map currentPrice.value=price --map habitation.surface.total=area")]
pub struct IngestArgs {
    /// Files, globs or folders (ndjson, csv, also gzip); - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Field of the Advert and the column to read it from
    #[arg(long = "map", value_name = "OURS=THEIRS", value_parser = pair)]
    maps: Vec<(String, String)>,
    /// Format of the files [default: derived from the file name; ndjson for standard input]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<IngestFormat>,
    /// Also write the report as JSON to this file (a copy is always in the folder reports of the data folder)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// File format; gzip is recognised by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IngestFormat {
    /// One JSON object per line
    Ndjson,
    /// A header and rows, separated by comma, semicolon or tab
    Csv,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((ours, theirs)) if !ours.is_empty() && !theirs.is_empty() => {
            Ok((ours.into(), theirs.into()))
        }
        _ => Err("expected a field and a column, as in currentPrice.value=price".into()),
    }
}

type BoxedError = Box<dyn Error + Send + Sync>;

/// Runs `ingest`.
pub fn run(common: &Common, arguments: &IngestArgs) -> CommandResult {
    let started = Instant::now();
    let clock = Clock::system();
    let mapping = Mapping::new(&arguments.maps)?;
    let sources = sources(&arguments.files)?;
    let store = Store::open(&common.data)?;
    let listings = Listings::new(store, clock.clone())
        .with_contours(contours::kept(&common.data))
        .with_addresses(LiveGeocoder::open(&common.data));
    let mut report = IngestReport::begin(iso(&clock));
    let progress = Progress::new(common.json);
    for source in &sources {
        let name = source
            .as_deref()
            .map_or(STDIN.into(), |path| path.display().to_string());
        let bar = progress.bytes(&name, source.as_deref().and_then(length));
        let format = arguments
            .format
            .unwrap_or_else(|| format_of(source.as_deref()));
        let input: Box<dyn Read + Send> = match source {
            Some(path) => Box::new(File::open(path).map_err(|error| format!("{name}: {error}"))?),
            None => Box::new(stdin()),
        };
        let input =
            lines::unpack(bar.wrap_read(input)).map_err(|error| format!("{name}: {error}"))?;
        report.begin_file(&name);
        let taken = match format {
            IngestFormat::Ndjson => {
                ingest_lines(&listings, lines::NdJson::new(input), &mut report, &bar)
            }
            IngestFormat::Csv => {
                let rows = table::CsvRows::new(input, &mapping)
                    .map_err(|error| format!("{name}: {error}"))?;
                report.unknown_columns(rows.unknown_columns());
                ingest_lines(&listings, rows, &mut report, &bar)
            }
        };
        bar.finish_and_clear();
        taken.map_err(|error| format!("{name}: {error}"))?;
    }
    report.seconds = started.elapsed().as_secs_f64();
    let path = report.write(&common.data)?;
    if let Some(copy) = &arguments.report {
        std::fs::copy(&path, copy)?;
    }
    if common.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{}", report.to_text());
        println!("report: {}", path.display());
    }
    Ok(())
}

/// Expands the arguments to files in a stable order; `None` stands for standard input.
fn sources(arguments: &[PathBuf]) -> Result<Vec<Option<PathBuf>>, BoxedError> {
    let mut sources = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == STDIN {
            sources.push(None);
        } else {
            sources.extend(
                expand(std::slice::from_ref(argument))?
                    .into_iter()
                    .map(Some),
            );
        }
    }
    Ok(sources)
}

fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|metadata| metadata.len())
}

fn format_of(path: Option<&Path>) -> IngestFormat {
    let name = path
        .map(|path| path.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.ends_with(".csv") || name.ends_with(".txt") {
        true => IngestFormat::Csv,
        false => IngestFormat::Ndjson,
    }
}

/// Lines of a file that are ingested together.
#[derive(Default)]
struct LineBatch {
    /// Line numbers of `adverts`.
    numbers: Vec<u64>,
    adverts: Vec<Value>,
    /// Line numbers and reasons of lines that cannot be read.
    unreadable: Vec<(u64, String)>,
}

impl LineBatch {
    /// Reads the next lines; `None` after the last.
    fn read(
        lines: &mut impl Iterator<Item = std::io::Result<Line>>,
    ) -> Option<Result<Self, BoxedError>> {
        let mut batch = Self::default();
        for line in lines.take(BATCH_MAX) {
            let Line { number, advert } = match line {
                Ok(line) => line,
                Err(error) => return Some(Err(error.into())),
            };
            match advert {
                Ok(advert) => {
                    batch.numbers.push(number);
                    batch.adverts.push(advert);
                }
                Err(reason) => batch.unreadable.push((number, reason)),
            }
        }
        let is_over = batch.adverts.is_empty() && batch.unreadable.is_empty();
        (!is_over).then_some(Ok(batch))
    }
}

/// Ingests the lines of a file batch by batch while the next batch is read. Adverts counted in the report are on disk.
fn ingest_lines(
    listings: &Listings,
    mut lines: impl Iterator<Item = std::io::Result<Line>> + Send,
    report: &mut IngestReport,
    bar: &ProgressBar,
) -> CommandResult {
    std::thread::scope(|scope| {
        let (reading, batches) = sync_channel(1);
        scope.spawn(move || {
            while let Some(batch) = LineBatch::read(&mut lines) {
                // Sending fails when the ingestion of an earlier batch failed. No batch follows one that cannot be
                // read.
                let is_last = batch.is_err();
                if reading.send(batch).is_err() || is_last {
                    return;
                }
            }
        });
        for batch in batches {
            let batch = batch?;
            for (number, reason) in batch.unreadable {
                report.unreadable(number, &reason);
            }
            let outcomes = listings.ingest(batch.adverts)?;
            for (number, outcome) in batch.numbers.into_iter().zip(&outcomes) {
                report.add(number, outcome);
            }
            bar.tick();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_derived_from_the_file_name() {
        assert_eq!(
            format_of(Some(Path::new("a/Export.CSV.gz"))),
            IngestFormat::Csv
        );
        assert_eq!(format_of(Some(Path::new("a.ndjson"))), IngestFormat::Ndjson);
        assert_eq!(format_of(None), IngestFormat::Ndjson);
        assert!(pair("url=link").is_ok() && pair("url").is_err() && pair("=x").is_err());
    }
}
