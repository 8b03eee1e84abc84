//! `toise synth`: generates synthetic data. It writes sales, diagnostics and addresses in the official file formats,
//! portfolios to match against them, and adverts in the ingestion format. It can also import sales, diagnostics and
//! adverts directly into a data folder.

mod ban;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use flate2::Compression;
use flate2::write::GzEncoder;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::import::department;
use super::result::Failure;
use super::{CommandResult, Common};
use toise_app::contours;
use toise_base::progress::Progress;
use toise_collect::portals::Portals;
use toise_opendata::Dataset;
use toise_synth::adverts::DistortionLevel;
use toise_synth::lake::generate_into_lake;
use toise_synth::listings::generate_into_listings;
use toise_synth::{self as synth, Summary, SynthReader, SynthRequest, adverts, portfolio};

/// Noise level of synthetic adverts, as a command-line argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NoiseLevel {
    /// Portals copy what the seller wrote
    Clean,
    /// Areas rounded, some positions blurred, few fields omitted
    Light,
    /// Texts shortened or rewritten, pictures recompressed, prices outdated, second agencies
    Middle,
    /// Half of all fields missing or wrong
    Heavy,
    /// As on real portals: several agencies on one portal, thin adverts, towns instead of positions, similar lots
    Market,
    /// One dense city, adverts with only price, surface, rooms, district and energy class, as measured on real ones
    Thin,
}

impl From<NoiseLevel> for DistortionLevel {
    fn from(level: NoiseLevel) -> Self {
        match level {
            NoiseLevel::Clean => DistortionLevel::Clean,
            NoiseLevel::Light => DistortionLevel::Light,
            NoiseLevel::Middle => DistortionLevel::Middle,
            NoiseLevel::Heavy => DistortionLevel::Heavy,
            NoiseLevel::Market => DistortionLevel::Market,
            NoiseLevel::Thin => DistortionLevel::Thin,
        }
    }
}

/// Options of `toise synth`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: small files of sales and diagnostics, and 1,000 queries on the diagnostics

  toise synth --dvf 20000 --dpe 15000 --portfolio 1000 --output ./synthetic --gzip
  toise import dvf ./synthetic/dvf-synth.csv.gz

Example: adverts of four portals, with the asset that each one shows

  toise synth --adverts 30000 --labels --output ./synthetic

Example: as many addresses as a department has, and as the whole country has (26 million, 940 MB compressed)

  toise synth --ban --departments 48 --output ./synthetic
  toise import ban ./synthetic/adresses-48.csv.gz ./synthetic/lieux-dits-48-beta.csv.gz
  toise synth --ban --output ./synthetic

Example: two million properties in a separate data folder, for performance measurements

  toise synth --adverts 3050000 --lake --data ./large
  toise serve --data ./large")]
pub struct SynthOptions {
    /// Sales (mutations) to generate
    #[arg(long, value_name = "N", default_value_t = 0)]
    dvf: u64,
    /// Diagnostics to generate
    #[arg(long, value_name = "N", default_value_t = 0)]
    dpe: u64,
    /// Adverts to generate, for about two thirds as many assets; each is seen several times over two years
    #[arg(long, value_name = "N", default_value_t = 0)]
    adverts: u64,
    /// Noise level of the adverts
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "middle")]
    level: NoiseLevel,
    /// Also write the asset of each advert (labels-synth.csv: url, asset)
    #[arg(long, requires = "adverts")]
    labels: bool,
    /// Addresses to generate, in two official files for each department (adresses-48.csv.gz, lieux-dits-48-beta.csv.gz)
    /// [default: 26 million for the whole country, fewer for fewer departments]
    #[arg(long, value_name = "N", num_args = 0..=1)]
    ban: Option<Option<u64>>,
    /// Departments of the addresses, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_parser = department, value_name = "CODES", requires = "ban")]
    departments: Vec<String>,
    /// Queries to generate for bulk match, on the diagnostics that --dpe generates with the same seed, or on the sales of
    /// --dvf if there are none
    #[arg(long, value_name = "N", default_value_t = 0)]
    portfolio: u64,
    /// Seed; the same seed and sizes give the same bytes
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Folder for dvf-synth.csv, dpe-synth.csv, portfolio-synth.csv, adverts-synth.ndjson, labels-synth.csv and the
    /// files of addresses
    #[arg(long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Compress the files (.gz); files of addresses are always compressed, like the official ones
    #[arg(long)]
    gzip: bool,
    /// Import sales, diagnostics and adverts into the data folder instead of writing files; adverts and their
    /// properties only if the data folder has none yet and no server is running on it
    #[arg(long)]
    lake: bool,
    /// Generate diagnostics with all 230 published columns
    #[arg(long)]
    full_width: bool,
}

/// One generated file or table, as `--json` reports it.
#[derive(Debug, Serialize)]
struct SynthOutput {
    what: &'static str,
    /// `None` when the data folder was filled.
    path: Option<PathBuf>,
    items: u64,
    rows: u64,
    /// Properties that the adverts formed; `None` when they went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<u64>,
    /// Number of files in the folder `path`; `None` when it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    /// `None` when no file was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_uncompressed: Option<u64>,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct SynthReport {
    seed: u64,
    made: Vec<SynthOutput>,
}

/// Runs the command.
pub fn run(common: &Common, options: &SynthOptions) -> CommandResult {
    let is_idle = options.dvf == 0 && options.dpe == 0 && options.adverts == 0;
    if is_idle && options.ban.is_none() {
        return Err(
            "nothing to generate: give at least one of --dvf N, --dpe N, --ban and --adverts N"
                .into(),
        );
    }
    if options.lake && options.ban.is_some() {
        return Err(
            "--ban writes files only: leave out --lake, then import them with `toise import ban`"
                .into(),
        );
    }
    let portfolio = portfolio_request(options)?;
    let mut made = Vec::new();
    for request in [
        request(options, Dataset::Dvf),
        request(options, Dataset::Dpe),
    ] {
        if request.items > 0 {
            made.push(generate_records(common, options, request)?);
        }
    }
    if let Some(source) = portfolio {
        made.push(write_portfolio(options, source)?);
    }
    if let Some(addresses) = options.ban {
        made.extend(ban::write(options, addresses)?);
    }
    if options.adverts > 0 {
        let request =
            adverts::AdvertsRequest::new(options.adverts, options.seed, options.level.into());
        made.push(if options.lake {
            fill_listings(common, request)?
        } else {
            write_adverts(options, "adverts", "ndjson", adverts::documents(request)?)?
        });
        if options.labels {
            made.push(write_adverts(
                options,
                "labels",
                "csv",
                adverts::labels(request)?,
            )?);
        }
    }
    print_report(
        common,
        &SynthReport {
            seed: options.seed,
            made,
        },
    )
}

/// Generates sales or diagnostics into a file, or into the tables of the data folder.
fn generate_records(
    common: &Common,
    options: &SynthOptions,
    request: SynthRequest,
) -> Result<SynthOutput, Failure> {
    let started = Instant::now();
    let name = request.dataset.name();
    let (path, summary) = if options.lake {
        (
            None,
            generate_into_lake(&common.data, request, Progress::new(common.json))?,
        )
    } else {
        let path = file_path(options, name, "csv");
        let summary = write_file(&path, |out| {
            let bar = progress_bar(request.items, name);
            let made =
                synth::reader(request)?.copy_to(out, |so_far| bar.set_position(so_far.items));
            bar.finish_and_clear();
            made
        })?;
        (Some(path), summary)
    };
    Ok(report(name, path, summary, started))
}

/// Writes queries about the items that a request generates.
fn write_portfolio(options: &SynthOptions, source: SynthRequest) -> Result<SynthOutput, String> {
    let started = Instant::now();
    let path = file_path(options, "portfolio", "csv");
    let summary = write_file(&path, |out| {
        portfolio::write(out, source, options.portfolio)
    })?;
    if summary.rows < options.portfolio {
        eprintln!(
            "warning: generated {} of {} queries: too few items to draw from",
            summary.rows, options.portfolio
        );
    }
    Ok(report("portfolio", Some(path), summary, started))
}

fn request(options: &SynthOptions, dataset: Dataset) -> SynthRequest {
    SynthRequest {
        dataset,
        items: match dataset {
            Dataset::Dvf => options.dvf,
            Dataset::Dpe => options.dpe,
        },
        seed: options.seed,
        full_width: options.full_width,
    }
}

fn portfolio_request(options: &SynthOptions) -> Result<Option<SynthRequest>, String> {
    if options.portfolio == 0 {
        return Ok(None);
    }
    let dataset = if options.dpe > 0 {
        Dataset::Dpe
    } else {
        Dataset::Dvf
    };
    let source = request(options, dataset);
    if source.items == 0 {
        let name = dataset.name();
        return Err(format!(
            "--portfolio of {name} needs --{name} N: the queries are about the generated items"
        ));
    }
    Ok(Some(source))
}

fn fill_listings(
    common: &Common,
    request: adverts::AdvertsRequest,
) -> Result<SynthOutput, Failure> {
    let started = Instant::now();
    let contours = contours::kept(&common.data);
    let progress = Progress::new(common.json);
    let identity = Portals::load(&common.data)?.identity();
    let contours = contours.as_deref();
    let filled = generate_into_listings(&common.data, request, contours, &identity, progress)?;
    Ok(SynthOutput {
        what: "adverts",
        path: None,
        items: filled.adverts,
        rows: filled.sightings,
        properties: Some(filled.properties),
        files: None,
        bytes_uncompressed: None,
        seconds: started.elapsed().as_secs_f64(),
    })
}

fn write_adverts(
    options: &SynthOptions,
    name: &'static str,
    extension: &str,
    reader: SynthReader,
) -> Result<SynthOutput, String> {
    let started = Instant::now();
    let path = file_path(options, name, extension);
    let summary = write_file(&path, |out| {
        let bar = progress_bar(options.adverts, name);
        let made = reader.copy_to(out, |so_far| bar.set_position(so_far.items));
        bar.finish_and_clear();
        made
    })?;
    Ok(report(name, Some(path), summary, started))
}

fn file_path(options: &SynthOptions, name: &str, extension: &str) -> PathBuf {
    let suffix = if options.gzip { ".gz" } else { "" };
    options
        .output
        .join(format!("{name}-synth.{extension}{suffix}"))
}

/// Writes a file under a temporary name and renames it at the end, so that a file of the final name is always complete.
fn write_file(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> io::Result<Summary>,
) -> Result<Summary, String> {
    let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
    let mut partial = path.as_os_str().to_owned();
    partial.push(".part");
    let partial = PathBuf::from(partial);
    let written = (|| {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
        let compressed = path.extension().is_some_and(|extension| extension == "gz");
        let summary = if compressed {
            let mut encoder = GzEncoder::new(&mut file, Compression::fast());
            let summary = make(&mut encoder)?;
            encoder.finish()?;
            summary
        } else {
            make(&mut file)?
        };
        file.flush()?;
        fs::rename(&partial, path)?;
        Ok(summary)
    })();
    written.map_err(|error| {
        // The write error is the one to report. If the removal fails too, the leftover is recognisable by its `.part`
        // suffix.
        let _ = fs::remove_file(&partial);
        failed(error)
    })
}

fn progress_bar(items: u64, name: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(items).with_message(name);
    match ProgressStyle::with_template("{msg} {bar:40} {human_pos}/{human_len} {per_sec} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn report(
    what: &'static str,
    path: Option<PathBuf>,
    summary: Summary,
    started: Instant,
) -> SynthOutput {
    SynthOutput {
        what,
        path,
        items: summary.items,
        rows: summary.rows,
        properties: None,
        files: None,
        bytes_uncompressed: Some(summary.bytes),
        seconds: started.elapsed().as_secs_f64(),
    }
}

fn print_report(common: &Common, report: &SynthReport) -> CommandResult {
    if common.json {
        println!("{}", serde_json::to_string(report)?);
        return Ok(());
    }
    for made in &report.made {
        let place = match &made.path {
            Some(path) => path.display().to_string(),
            None => common.data.display().to_string(),
        };
        let (what, items, rows) = (made.what, made.items, made.rows);
        print!("{what}: {items} items in {rows} rows, ");
        if let Some(properties) = made.properties {
            print!("{properties} properties, ");
        }
        if let Some(bytes) = made.bytes_uncompressed {
            print!("{:.1} MB, ", bytes as f64 / 1e6);
        }
        if let Some(files) = made.files {
            print!("{files} files, ");
        }
        println!("to {place} in {:.1} s", made.seconds);
    }
    Ok(())
}
