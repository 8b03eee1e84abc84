//! `toise import`: imports files or official sources into the lake and reports everything it read. Layers are in
//! `layers.rs`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Instant;

use chrono::Datelike;
use clap::{Args, Subcommand};
use indicatif::{HumanBytes, HumanCount};

use super::common::MissingArgs;
use super::layers::{self, LAYER_HELP, LayerArgs};
use super::rent::{self, ImportRentsArgs};
use super::result::{Failure, listed, no_rows, show_report};
use super::sources::{AddressesPlaceArgs, DiagnosticsPlaceArgs, SalesPlaceArgs};
use super::{CommandResult, Common};
use toise_app::{contours, importing};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_geo::code_hints::{PlaceCode, hint};
use toise_geo::departments;
use toise_geocode::folder as index;
use toise_geocode::resolve::LazyGeocoder;
use toise_net::{Client, RetryPolicy};
use toise_opendata::import::{ImportOptions, local_files};
use toise_opendata::report::ImportReport;
use toise_opendata::source::cell;
use toise_opendata::{Dataset, ImportTable};
use toise_sources::diagnostics::DiagnosticRange;
use toise_sources::{Downloads, FetchedSources, addresses, diagnostics, sales};

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    #[command(subcommand)]
    dataset: ImportDataset,
}

#[derive(Subcommand, Debug)]
enum ImportDataset {
    /// Import recorded sales (DVF)
    #[command(after_help = "Examples:\n  \
        toise import dvf 83.csv.gz ValeursFoncieres-2023.txt\n  \
        toise import dvf --departments 75,92 --years 2021-2025\n  \
        toise import dvf --edition 2026-04 --iris iris.geojson.gz communes/")]
    Dvf(DvfArgs),
    /// Import energy performance diagnostics (DPE)
    #[command(after_help = "Examples:\n  \
        toise import dpe dpe-48.csv.gz 'pages/*.json'\n  \
        toise import dpe labels.csv      (columns that the file lacks stay as they are stored)\n  \
        toise import dpe --departments 48 --since 2026-01-01")]
    Dpe(DpeArgs),
    /// Import addresses and named places (BAN, BAL), and index them
    #[command(after_help = "Examples:\n  \
        toise import ban adresses-48.csv.gz lieux-dits-48-beta.csv.gz\n  \
        toise import ban --departments 48,12\n  \
        toise import ban --edition 2026-11 adresses-48.csv.gz lieux-dits-48-beta.csv.gz")]
    Ban(BanArgs),
    /// Import buildings (RNB), with their addresses and parcels
    #[command(after_help = "Example:\n  \
        toise import rnb RNB_48.csv\n\n\
        The register publishes a file per department; docs/parcels.md has the address.")]
    Rnb(FilesArgs),
    /// Import changes of parcels (DFI): which parcels were made from which
    #[command(after_help = "Example:\n  \
        toise import dfi dfianc-dep480.zip\n\n\
        The tax office publishes a file per department; docs/parcels.md has the address.")]
    Dfi(FilesArgs),
    /// Import a file of geodata as a layer
    #[command(after_help = LAYER_HELP)]
    Layer(LayerArgs),
    /// Import the official map of rents by commune (Carte des loyers)
    #[command(after_help = rent::IMPORT_HELP)]
    Rents(ImportRentsArgs),
}

impl ImportDataset {
    fn missing(&self) -> &MissingArgs {
        match self {
            ImportDataset::Dvf(arguments) => &arguments.shared.missing,
            ImportDataset::Dpe(arguments) => &arguments.shared.missing,
            ImportDataset::Ban(arguments) => &arguments.shared.missing,
            ImportDataset::Rnb(arguments) | ImportDataset::Dfi(arguments) => {
                &arguments.shared.missing
            }
            ImportDataset::Layer(arguments) => &arguments.missing,
            ImportDataset::Rents(arguments) => &arguments.missing,
        }
    }
}

/// Arguments of `import dvf`.
#[derive(Args, Debug)]
struct DvfArgs {
    /// Files, globs or folders (csv, csv.gz, txt, parquet, ndjson); if none, fetch from the official source
    files: Vec<PathBuf>,
    #[command(flatten)]
    shared: SharedArgs,
    /// Years of the sales: 2023 or 2021-2025 [default when fetching: the last six calendar years]
    #[arg(long, value_parser = years, value_name = "YEARS")]
    years: Option<RangeInclusive<i32>>,
    /// Import the files as this official edition: replace the (department or commune, year) slices they cover
    #[arg(long, value_parser = edition, value_name = "YYYY-MM")]
    edition: Option<String>,
    /// IRIS contours (GeoJSON, may be gzip) to fill iris_code; stored for later imports
    #[arg(long, value_name = "FILE")]
    iris: Option<PathBuf>,
    #[command(flatten)]
    places: SalesPlaceArgs,
}

/// Arguments of `import dpe`.
#[derive(Args, Debug)]
struct DpeArgs {
    /// Files, globs or folders (csv, csv.gz, parquet, ndjson, data-fair pages); if none, fetch from the official source
    files: Vec<PathBuf>,
    #[command(flatten)]
    shared: SharedArgs,
    /// Also add diagnostics that are not stored yet if their file has few columns
    #[arg(long)]
    allow_partial: bool,
    /// Only diagnostics established on or after this day
    #[arg(long, value_parser = day, value_name = "YYYY-MM-DD")]
    since: Option<String>,
    #[command(flatten)]
    place: DiagnosticsPlaceArgs,
}

/// Arguments of `import ban`.
#[derive(Args, Debug)]
struct BanArgs {
    /// Files, globs or folders (csv, csv.gz, parquet, ndjson); if none, fetch from the official source
    files: Vec<PathBuf>,
    #[command(flatten)]
    shared: SharedArgs,
    /// Import the files as this official edition: replace all addresses and places of the departments they cover (of
    /// the commune, if there is only one)
    #[arg(long, value_parser = edition, value_name = "YYYY-MM")]
    edition: Option<String>,
    #[command(flatten)]
    place: AddressesPlaceArgs,
}

/// Arguments of `import rnb` and `import dfi`, whose sources are not fetched.
#[derive(Args, Debug)]
struct FilesArgs {
    /// Files, globs or folders, compressed or not
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    shared: SharedArgs,
    /// Import the files as this official edition: replace all rows of the departments they cover (of the commune, if
    /// there is only one)
    #[arg(long, value_parser = edition, value_name = "YYYY-MM")]
    edition: Option<String>,
}

/// Arguments of every import.
#[derive(Args, Debug)]
struct SharedArgs {
    /// Departments to fetch, or to select from the files, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = department, value_name = "CODES")]
    departments: Vec<String>,
    /// Also write the report as JSON to this file (a copy is always in the folder reports of the data folder)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    missing: MissingArgs,
}

fn years(text: &str) -> Result<RangeInclusive<i32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let year = |text: &str| {
        text.trim()
            .parse::<i32>()
            .ok()
            .filter(|year| (1900..=2200).contains(year))
    };
    match (year(first), year(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err("expected a year or first-last, as in 2021-2025".into()),
    }
}

fn edition(text: &str) -> Result<String, String> {
    match cell::day(&format!("{text}-01")) {
        Some(_) if text.len() == 7 => Ok(text.into()),
        _ => Err("expected a month, as in 2026-04".into()),
    }
}

fn day(text: &str) -> Result<String, String> {
    match cell::day(text) {
        Some(_) if text.len() == 10 && !text.contains('/') => Ok(text.into()),
        _ => Err("expected a day, as in 2026-01-31".into()),
    }
}

/// Parses the code of a department, given as an argument.
pub(super) fn department(text: &str) -> Result<String, String> {
    let code = cell::code(text, 2).to_uppercase();
    if departments::rank(&code) == 0 {
        let hint = hint(text, PlaceCode::Department);
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        return Err(format!("unknown department{hint}"));
    }
    Ok(code)
}

/// Runs `import`.
pub fn run(common: &Common, arguments: &ImportArgs) -> CommandResult {
    arguments.dataset.missing().apply()?;
    let clock = Clock::system();
    let progress = Progress::new(common.json);
    match &arguments.dataset {
        ImportDataset::Dvf(arguments) => {
            let shared = &arguments.shared;
            let fetched = fetched(Dataset::Dvf, &arguments.files, shared, || {
                fetch_dvf(common, arguments, &clock, progress)
            })?;
            let options = ImportOptions {
                years: arguments.years.clone(),
                edition: arguments.edition.clone(),
                iris: contours::open_or_keep(&common.data, arguments.iris.as_deref())?,
                geocoder: LazyGeocoder::new(common.data.clone()),
                ..options(shared, progress, clock)
            };
            let report = import(common, Dataset::Dvf, &fetched, &options, shared)?;
            verdict(&arguments.files, &report)
        }
        ImportDataset::Dpe(arguments) => {
            let shared = &arguments.shared;
            let fetched = fetched(Dataset::Dpe, &arguments.files, shared, || {
                fetch_dpe(common, arguments, &clock, progress)
            })?;
            let options = ImportOptions {
                since: arguments.since.as_deref().and_then(cell::day),
                allow_partial: arguments.allow_partial,
                geocoder: LazyGeocoder::new(common.data.clone()),
                ..options(shared, progress, clock)
            };
            let report = import(common, Dataset::Dpe, &fetched, &options, shared)?;
            verdict(&arguments.files, &report)
        }
        ImportDataset::Ban(arguments) => import_ban(common, arguments, clock, progress),
        ImportDataset::Rnb(arguments) => {
            import_local(common, ImportTable::Rnb, arguments, clock, progress)
        }
        ImportDataset::Dfi(arguments) => {
            import_local(common, ImportTable::Dfi, arguments, clock, progress)
        }
        ImportDataset::Layer(arguments) => layers::import(common, arguments, &clock),
        ImportDataset::Rents(arguments) => rent::import(common, arguments, &clock),
    }
}

/// Imports files whose source is not fetched.
fn import_local(
    common: &Common,
    table: ImportTable,
    arguments: &FilesArgs,
    clock: Clock,
    progress: Progress,
) -> CommandResult {
    let options = ImportOptions {
        edition: arguments.edition.clone(),
        ..options(&arguments.shared, progress, clock)
    };
    let fetched = local(table, &arguments.files)?;
    let report = import(common, table, &fetched, &options, &arguments.shared)?;
    verdict(&arguments.files, &report)
}

/// Imports addresses, then rebuilds the index for the departments whose rows changed.
fn import_ban(
    common: &Common,
    arguments: &BanArgs,
    clock: Clock,
    progress: Progress,
) -> CommandResult {
    let shared = &arguments.shared;
    let fetched = fetched(ImportTable::Ban, &arguments.files, shared, || {
        download(common, progress, &clock, async |downloads| {
            addresses::fetch(downloads, &arguments.place.ban_base, &shared.departments).await
        })
    })?;
    let options = ImportOptions {
        edition: arguments.edition.clone(),
        ..options(shared, progress, clock)
    };
    let report = import(common, ImportTable::Ban, &fetched, &options, shared)?;
    verdict(&arguments.files, &report)?;
    let started = Instant::now();
    let bar = progress.rows(
        "index of addresses",
        report.outcome.as_ref().map_or(0, |outcome| outcome.total),
    );
    let manifest = index::rebuild(&common.data, &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    if !common.json {
        let (mut streets, mut numbers, mut bytes) = (0, 0, 0);
        for entry in manifest.segments.values() {
            streets += entry.streets;
            numbers += entry.numbers;
            bytes += entry.bytes;
        }
        println!(
            "index: {} departments, {} streets and places, {} house numbers, {} in {:.1} s",
            manifest.segments.len(),
            HumanCount(streets),
            HumanCount(numbers),
            HumanBytes(bytes),
            started.elapsed().as_secs_f64()
        );
    }
    let departments = match &shared.departments[..] {
        [] => manifest.segments.into_keys().collect(),
        named => named.to_vec(),
    };
    place_records(common, &departments)
}

/// Places the stored sales and diagnostics of departments that have no position, now that there are addresses.
fn place_records(common: &Common, departments: &[String]) -> CommandResult {
    let settings = common.configuration(Vec::new())?.config.lake;
    let placed = importing::place_records(&common.data, settings.keep_versions, departments)?;
    for (what, counts) in [("sales", placed.sales), ("diagnostics", placed.diagnostics)] {
        if counts.without_position > 0 && !common.json {
            println!(
                "{what}: {} of {} without a position were placed by their address",
                HumanCount(counts.placed),
                HumanCount(counts.without_position)
            );
        }
    }
    Ok(())
}

/// Fetches sales from the official source, by default those of the last six calendar years.
fn fetch_dvf(
    common: &Common,
    arguments: &DvfArgs,
    clock: &Clock,
    progress: Progress,
) -> Result<FetchedSources, Failure> {
    let shared = &arguments.shared;
    let this_year = clock.now().year();
    let years = arguments.years.clone().unwrap_or(this_year - 5..=this_year);
    let places = arguments.places.places();
    download(common, progress, clock, async |downloads| {
        sales::fetch(downloads, &places, &shared.departments, years).await
    })
}

/// Fetches diagnostics from the official source.
fn fetch_dpe(
    common: &Common,
    arguments: &DpeArgs,
    clock: &Clock,
    progress: Progress,
) -> Result<FetchedSources, Failure> {
    let shared = &arguments.shared;
    download(common, progress, clock, async |downloads| {
        let since = arguments.since.clone();
        let since = since.map_or(DiagnosticRange::Beginning, DiagnosticRange::Established);
        let base = &arguments.place.dpe_base;
        diagnostics::fetch(downloads, base, &shared.departments, &since).await
    })
}

/// Returns the options that every import has.
fn options(shared: &SharedArgs, progress: Progress, clock: Clock) -> ImportOptions {
    ImportOptions {
        departments: shared.departments.clone(),
        progress,
        clock,
        ..ImportOptions::default()
    }
}

/// Returns the named files, or what `fetch` downloads for the named departments if there are none.
fn fetched(
    table: impl Into<ImportTable>,
    files: &[PathBuf],
    shared: &SharedArgs,
    fetch: impl FnOnce() -> Result<FetchedSources, Failure>,
) -> Result<FetchedSources, Failure> {
    if !files.is_empty() {
        return local(table, files);
    }
    if shared.departments.is_empty() {
        return Err(
            "name files to import, or departments to fetch from the official source: --departments 48"
                .into(),
        );
    }
    fetch()
}

fn local(table: impl Into<ImportTable>, files: &[PathBuf]) -> Result<FetchedSources, Failure> {
    let found = local_files(table.into(), files)?;
    Ok(FetchedSources {
        inputs: found.inputs,
        skipped: found.skipped,
        ..FetchedSources::default()
    })
}

/// Runs downloads into the data folder.
fn download(
    common: &Common,
    progress: Progress,
    clock: &Clock,
    fetch: impl AsyncFnOnce(Downloads<'_>) -> Result<FetchedSources, toise_sources::Error>,
) -> Result<FetchedSources, Failure> {
    let client = Client::new(RetryPolicy::default())?;
    let downloads = Downloads {
        client: &client,
        data: &common.data,
        progress,
        now: clock.now(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(fetch(downloads))?)
}

fn import(
    common: &Common,
    table: impl Into<ImportTable>,
    fetched: &FetchedSources,
    options: &ImportOptions,
    shared: &SharedArgs,
) -> Result<ImportReport, Failure> {
    let settings = common.configuration(Vec::new())?.config.lake;
    let kept = settings.keep_versions;
    let (report, path) = importing::import(&common.data, kept, table, fetched, options)?;
    let shown = (&report, report.to_text());
    show_report(common.json, shown, &path, shared.report.as_deref())?;
    Ok(report)
}

/// Fails if files that were named gave no record, or if more of their rows were rejected than kept. A source may have
/// no records for a department, which the report notes.
fn verdict(files: &[PathBuf], report: &ImportReport) -> CommandResult {
    let rejected = report.rows_rejected();
    if files.is_empty() || report.rows_kept > 0 && rejected <= report.rows_kept {
        return Ok(());
    }
    let (files, rows) = (listed(files), report.rows_read);
    if report.rows_kept > 0 {
        let kept = report.rows_kept;
        let message = format!(
            "{files}: {rejected} of {rows} rows were rejected, and {kept} imported; the report names the reasons"
        );
        return Err(message.into());
    }
    if rows == 0 {
        return Err(no_rows(&files).into());
    }
    let message = format!(
        "{files}: none of the {rows} rows was imported: {rejected} rejected, {} not requested; the report names the reasons",
        report.rows_not_asked_for
    );
    Err(message.into())
}
