//! `toise geocode`: addresses of a file to positions, or positions to addresses.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{CommandResult, Common};
use toise_base::progress::Progress;
use toise_geocode::file::bulk::{self, FileJob, FileReport};
use toise_geocode::file::request::FileRequest;
use toise_geocode::folder as index;
use toise_geocode::request::Operation;

/// Arguments of `geocode`.
#[derive(Args, Debug)]
#[command(after_help = "\
The result is the file as it was, with columns after its own: latitude, longitude, result_score (the probability that
the address is right), result_label, result_type, result_citycode, result_status (ok, not-found, skipped, error) and
more. CSV keeps its delimiter, encoding, order and quoting, byte for byte, as over HTTP. Rows that ask the same are
answered once; a row that cannot be read never stops the file. Import addresses first: toise import ban --departments 48

Examples:
  toise geocode customers.csv --columns street,town --postcode zip
  toise geocode portfolio.parquet --columns address --output located.parquet
  toise geocode points.ndjson --reverse --lat y --lon x --result-columns result_label,result_citycode")]
pub struct GeocodeArgs {
    /// File: csv, csv.gz, parquet or ndjson
    pub file: PathBuf,
    /// Result [default: NAME-geocoded beside the file]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Columns that make up the address, in order, separated by commas [default: all]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Turn positions into addresses
    #[arg(long)]
    pub reverse: bool,
    /// Columns to append, separated by commas; also result_confidence, result_source and result_matched_street
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub result_columns: Vec<String>,
    /// Column of a postal code that results must have
    #[arg(long, value_name = "COLUMN")]
    pub postcode: Option<String>,
    /// Column of an INSEE code that results must lie in
    #[arg(long, value_name = "COLUMN")]
    pub citycode: Option<String>,
    /// Column of a kind of result: housenumber, street, locality or municipality
    #[arg(long = "type", value_name = "COLUMN")]
    pub kind: Option<String>,
    /// Column of a latitude
    #[arg(long, value_name = "COLUMN")]
    pub lat: Option<String>,
    /// Column of a longitude
    #[arg(long, value_name = "COLUMN")]
    pub lon: Option<String>,
    /// Encoding of a CSV file [default: utf-8 if it is, else windows-1252]
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// Delimiter of a CSV file: one character, or tab [default: detected]
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
}

/// Runs `geocode`.
pub fn run(common: &Common, arguments: &GeocodeArgs) -> CommandResult {
    let geocoder = index::open(&common.data)?;
    if geocoder.segments().is_empty() {
        eprintln!(
            "no addresses are imported: only communes will be found. Import them first, for example: \
             toise import ban --departments 48"
        );
    }
    let request = FileRequest {
        operation: match arguments.reverse {
            true => Operation::Reverse,
            false => Operation::Search,
        },
        columns: arguments.columns.clone(),
        result_columns: arguments.result_columns.clone(),
        postal_code: arguments.postcode.clone(),
        insee_code: arguments.citycode.clone(),
        kind: arguments.kind.clone(),
        lat: arguments.lat.clone(),
        lon: arguments.lon.clone(),
        encoding: arguments.encoding.clone(),
        delimiter: arguments.delimiter.clone(),
    };
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => default_output(&arguments.file),
    };
    let length = std::fs::metadata(&arguments.file).map_err(|error| {
        let path = arguments.file.display();
        format!("{path}: {error}")
    })?;
    let name = arguments.file.display().to_string();
    let is_packed = name.ends_with(".gz");
    let bar = Progress::new(common.json).bytes(&name, (!is_packed).then_some(length.len()));
    let job = FileJob {
        input: &arguments.file,
        output: &output,
        request: &request,
        progress: &|bytes| bar.inc(bytes),
    };
    let report = bulk::run(&job, &geocoder);
    bar.finish_and_clear();
    let report = report?;
    match common.json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => print(&report, &output),
    }
    Ok(())
}

/// `folder/name.csv.gz` → `folder/name-geocoded.csv`.
fn default_output(input: &Path) -> PathBuf {
    let name = input.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "csv"));
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
    println!("written to {}", output.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_lies_beside_the_file() {
        let beside = |path: &str| default_output(Path::new(path)).display().to_string();
        assert_eq!(beside("a/b.csv"), "a/b-geocoded.csv");
        assert_eq!(beside("b.csv.gz"), "b-geocoded.csv");
        assert_eq!(beside("b"), "b-geocoded.csv");
        assert_eq!(beside("b.parquet"), "b-geocoded.parquet");
    }
}
