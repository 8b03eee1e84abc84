//! `toise geocode`: finds the positions of the addresses in a file, or the addresses of its positions.

use std::path::{Path, PathBuf};

use clap::Args;

use super::common::{CsvArgs, MissingArgs};
use super::result::{Failure, print_files, require_results};
use super::{CommandResult, Common};
use toise_base::formula::Formulas;
use toise_base::progress::Progress;
use toise_geocode::file::bulk::{self, FileJob, FileReport};
use toise_geocode::file::request::{FileRequest, UnnamedColumns};
use toise_geocode::file::rows::RowAnswers;
use toise_geocode::folder as index;
use toise_geocode::request::Operation;

/// Arguments of `geocode`.
#[derive(Args, Debug)]
#[command(after_help = "\
The result is the file as it was, with columns after its own: latitude, longitude, result_score (the probability that
the address is right), result_label, result_type, result_citycode, result_status (ok, not-found, skipped, error) and
more. CSV keeps its delimiter, encoding, order and quoting, byte for byte, as over HTTP. Rows with the same query are
answered once; a row that cannot be read never stops the file. Import addresses first: toise import ban --departments 48

Examples:
  toise geocode customers.csv --columns street,town --postcode zip
  toise geocode portfolio.parquet --columns address --output located.parquet
  toise geocode points.ndjson --reverse --lat y --lon x --result-columns result_label,result_citycode")]
pub struct GeocodeArgs {
    /// File: CSV in any dialect and encoding, XLSX, ODS, Parquet, Arrow, JSON or NDJSON, packed or not
    pub file: PathBuf,
    /// Output file, with an extension of the input's format; .csv for a spreadsheet, .parquet for Arrow [default:
    /// NAME-geocoded next to the input file]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Columns that make up the address, in order, separated by commas [default: those whose
    /// names mean number, street, postal code and town, otherwise all]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Turn positions into addresses
    #[arg(long)]
    pub reverse: bool,
    /// Columns to append, separated by commas; also result_confidence, result_source and result_matched_street
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub result_columns: Vec<String>,
    /// Column with a postal code that results must have
    #[arg(long, value_name = "COLUMN")]
    pub postcode: Option<String>,
    /// Column with the INSEE code of the commune that results must be in
    #[arg(long, value_name = "COLUMN")]
    pub citycode: Option<String>,
    /// Column with the type that results must have: housenumber, street, locality or municipality
    #[arg(long = "type", value_name = "COLUMN")]
    pub kind: Option<String>,
    /// Column with the latitude
    #[arg(long, value_name = "COLUMN")]
    pub lat: Option<String>,
    /// Column with the longitude
    #[arg(long, value_name = "COLUMN")]
    pub lon: Option<String>,
    /// Encoding of a CSV file [default: detected: UTF-8, Windows-1252 or Mac Roman]
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// Delimiter of a CSV file: one character, or tab [default: detected]
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
    #[command(flatten)]
    missing: MissingArgs,
    #[command(flatten)]
    csv: CsvArgs,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: super::cluster::ClusterArgs,
}

/// Runs `geocode`.
pub fn run(common: &Common, arguments: &GeocodeArgs) -> CommandResult {
    arguments.missing.apply()?;
    let request = FileRequest {
        operation: if arguments.reverse {
            Operation::Reverse
        } else {
            Operation::Search
        },
        columns: arguments.columns.clone(),
        unnamed: UnnamedColumns::ByMeaning,
        result_columns: arguments.result_columns.clone(),
        postal_code: arguments.postcode.clone(),
        insee_code: arguments.citycode.clone(),
        kind: arguments.kind.clone(),
        lat: arguments.lat.clone(),
        lon: arguments.lon.clone(),
        encoding: arguments.encoding.clone(),
        delimiter: arguments.delimiter.clone(),
        is_meant: false,
        is_code_meant: false,
    };
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => default_output(&arguments.file),
    };
    let formulas = arguments.csv.formulas();
    #[cfg(feature = "cluster")]
    if let Some(workers) = &arguments.cluster.workers {
        return run_shared(
            common,
            workers,
            (&arguments.file, &output),
            &request,
            formulas,
        );
    }
    let geocoder = index::open(&common.data)?;
    if geocoder.segments().is_empty() {
        eprintln!(
            "no addresses are imported: only communes will be found. Import them first, for example: \
             toise import ban --departments 48"
        );
    }
    let places = (arguments.file.as_path(), output.as_path());
    let report = geocode(common, places, (&request, formulas), &geocoder)?;
    common.show(&report, || print(&report, &output))?;
    verdict(&arguments.file, &report)
}

/// Geocodes a file. `answers` geocodes its rows: in this process or on workers.
fn geocode(
    common: &Common,
    (input, output): (&Path, &Path),
    (request, formulas): (&FileRequest, Formulas),
    answers: &impl RowAnswers,
) -> Result<FileReport, Failure> {
    let length = std::fs::metadata(input);
    let length = length.map_err(|error| format!("{}: {error}", input.display()))?;
    let name = input.display().to_string();
    let is_packed = name.ends_with(".gz");
    let bar = Progress::new(common.json).bytes(&name, (!is_packed).then_some(length.len()));
    let job = FileJob {
        input,
        output,
        request,
        formulas,
        progress: &|bytes| bar.inc(bytes),
    };
    let report = bulk::run(&job, answers);
    bar.finish_and_clear();
    Ok(report?)
}

/// Runs `geocode` on workers.
#[cfg(feature = "cluster")]
fn run_shared(
    common: &Common,
    workers: &str,
    places: (&Path, &Path),
    request: &FileRequest,
    formulas: Formulas,
) -> CommandResult {
    use super::cluster::{self, Workers};
    use toise_cluster::Work;
    use toise_cluster::coordinator::geocode::SharedRows;
    use toise_cluster::identity::Identity;

    let workers = Workers::connect(common, workers, Identity::for_addresses)?;
    let question = serde_json::json!({"geocode": request});
    let shared = workers.run(places, &question, |files, dispatch| {
        let rows = SharedRows::new(dispatch(Work::Geocode {
            operation: request.operation,
            result_columns: request.result_columns.clone(),
        }));
        let places = (files.input.as_path(), files.output.as_path());
        let report = geocode(common, places, (request, formulas), &rows)?;
        Ok((report, rows.into_dispatch().shares()))
    })?;
    common.show(&shared, || {
        print(&shared.report, places.1);
        cluster::print(&shared.cluster);
    })?;
    verdict(places.0, &shared.report)
}

/// Warns of a file without towns; fails if no row of a file has a result.
fn verdict(file: &Path, report: &FileReport) -> CommandResult {
    if let Some(warning) = report.counts.town_warning() {
        eprintln!("warning: {}: {warning} (--columns)", file.display());
    }
    let advice =
        "result_status in the output says why; name the columns with --columns, or --lat and --lon";
    require_results(file, report.rows, report.counts.ok, advice)
}

/// Returns the default output path: `folder/name-geocoded.csv` for `folder/name.csv.gz` and for `folder/name.xlsx`.
fn default_output(input: &Path) -> PathBuf {
    let name = input.file_name().unwrap_or_default().to_string_lossy();
    let name = [".gz", ".zst", ".zip"]
        .iter()
        .find_map(|packed| name.strip_suffix(packed))
        .unwrap_or(&name);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "csv"));
    let extension = match extension.to_lowercase().as_str() {
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => "csv",
        "arrow" | "arrows" | "feather" => "parquet",
        _ => extension,
    };
    input.with_file_name(format!("{stem}-geocoded.{extension}"))
}

fn print(report: &FileReport, output: &Path) {
    println!(
        "{} rows in {:.1} s ({:.0} rows/s): {} found, {} not found, {} skipped, {} in error",
        report.rows,
        report.seconds,
        report.rows_per_second,
        report.counts.ok,
        report.counts.not_found,
        report.counts.skipped,
        report.counts.error
    );
    print_files(&report.files, output);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_in_the_folder_of_the_file() {
        let output_of = |path: &str| default_output(Path::new(path)).display().to_string();
        assert_eq!(output_of("a/b.csv"), "a/b-geocoded.csv");
        assert_eq!(output_of("b.csv.gz"), "b-geocoded.csv");
        assert_eq!(output_of("b"), "b-geocoded.csv");
        assert_eq!(output_of("b.parquet"), "b-geocoded.parquet");
        assert_eq!(output_of("a/b.xlsx"), "a/b-geocoded.csv");
        assert_eq!(output_of("b.arrow"), "b-geocoded.parquet");
    }
}
