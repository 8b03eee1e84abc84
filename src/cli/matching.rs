//! `toise match`: finds the best candidates for each row of a portfolio.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::common::{CsvArgs, MissingArgs};
use super::result::{MAP_ADVICE, print_counts, print_files, require_results};
use super::values::rename;
use super::{CommandResult, Common};
use toise_base::progress::Progress;
use toise_geocode::resolve::LazyGeocoder;
use toise_opendata::bulk::{self, BulkOptions, BulkReport};
use toise_opendata::{Dataset, OpenData};

/// Arguments of `match`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each row of the portfolio is one match. Its columns are the fields of the match body: filters and scoring targets by
name, ranges as surface_habitable_logement_min and _max, days as date_etablissement_dpe_from and _to, a place as lat, lon
and distance (\"500m\"; 100m if there is none), and size. A position may be in columns with other usual names, such as
Latitude and Longitude, and price_eur and main_rooms of a sale under their names in the official file, valeur_fonciere
and nombre_pieces_principales.

Instead of a place a row may give its address in the columns address, postcode (or postal_code) and city, or in columns
with another usual name, such as adresse, cp and ville, as the report says: candidates lie within 50 m of a house number,
within 300 m of the middle of a street, or in the commune; import addresses first (toise import ban).

The output has one row per candidate; an invalid row, or one whose address is not found, has an error instead. With
addresses it also has address_label, address_score, address_confidence and address_precision (ADDRESS, STREET, TOWN). The
last column, status, is ok, outside_france (a place abroad or at sea), coordinates_swapped? (one that is in France with
latitude and longitude swapped) or error.

Examples:
  toise match dpe --input portfolio.csv --output candidates.parquet
  toise match dvf --input flats.parquet --output sales.csv --map insee_code=commune --map price_eur=price --size 3
  toise match dpe --input addresses.csv --output candidates.csv --map city=localite --key ref")]
pub struct MatchArgs {
    /// Table to match against
    pub table: MatchTable,
    /// Portfolio: CSV in any dialect and encoding, XLSX, ODS, Parquet, Arrow, JSON or NDJSON, packed or not
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// Output: .parquet, .csv or .ndjson
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Field of the match body and the column to read it from; repeatable
    #[arg(long = "map", value_name = "FIELD=COLUMN", value_parser = rename)]
    pub renames: Vec<(String, String)>,
    /// Column to repeat in the output [default: the column key or id, otherwise the row number]
    #[arg(long = "key", value_name = "COLUMN")]
    pub keys: Vec<String>,
    /// Candidates per row, 1 to 20 [default: 5]
    #[arg(long, value_name = "K")]
    pub size: Option<usize>,
    /// Columns of the record to add to the output, separated by commas; `record` is the whole record as JSON
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    #[command(flatten)]
    missing: MissingArgs,
    #[command(flatten)]
    csv: CsvArgs,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: super::cluster::ClusterArgs,
}

/// An open-data table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MatchTable {
    /// Energy diagnostics
    Dpe,
    /// Recorded sales
    Dvf,
}

impl From<MatchTable> for Dataset {
    fn from(table: MatchTable) -> Self {
        match table {
            MatchTable::Dpe => Dataset::Dpe,
            MatchTable::Dvf => Dataset::Dvf,
        }
    }
}

/// Runs `match`.
pub fn run(common: &Common, arguments: &MatchArgs) -> CommandResult {
    arguments.missing.apply()?;
    let options = BulkOptions {
        dataset: arguments.table.into(),
        input: arguments.input.clone(),
        output: arguments.output.clone(),
        renames: arguments.renames.clone(),
        keys: arguments.keys.clone(),
        size: arguments.size,
        columns: arguments.columns.clone(),
        formulas: arguments.csv.formulas(),
        geocoder: LazyGeocoder::new(common.data.clone()),
        progress: Progress::new(common.json),
    };
    #[cfg(feature = "cluster")]
    if let Some(workers) = &arguments.cluster.workers {
        return run_shared(common, workers, options);
    }
    let open_data = OpenData::open(&common.data, common.budget()?)?;
    let report = bulk::run(&open_data, &options)?;
    common.show(&report, || print(&report, &arguments.output))?;
    verdict(&arguments.input, &report)
}

/// Runs `match` on workers.
#[cfg(feature = "cluster")]
fn run_shared(common: &Common, workers: &str, options: BulkOptions) -> CommandResult {
    use super::cluster::{self, Workers};
    use toise_cluster::Work;
    use toise_cluster::coordinator::dispatch::Shares;
    use toise_cluster::coordinator::jobs::share;

    let dataset = options.dataset;
    let workers = Workers::connect(common, workers, |own| own.for_matches(dataset))?;
    let question = serde_json::json!({
        "match": options.output.extension().and_then(|extension| extension.to_str()),
        "dataset": dataset,
        "renames": options.renames,
        "keys": options.keys,
        "size": options.size,
        "columns": options.columns,
    });
    let (input, output) = (options.input.clone(), options.output.clone());
    let shared = workers.run((&input, &output), &question, |files, dispatch| {
        let options = BulkOptions {
            input: files.input.clone(),
            output: files.output.clone(),
            ..options
        };
        let mut shares = Shares::default();
        let report = bulk::run_remote(&options, |job, blocks, answers| {
            let mut dispatch = dispatch(Work::Match(job.clone()));
            let shared = share(&mut dispatch, blocks, answers);
            shares = dispatch.shares();
            shared
        })?;
        Ok((report, shares))
    })?;
    common.show(&shared, || {
        print(&shared.report, &output);
        cluster::print(&shared.cluster);
    })?;
    verdict(&input, &shared.report)
}

/// Fails if all rows of a portfolio are in error. Rows without candidates are a result.
fn verdict(input: &std::path::Path, report: &BulkReport) -> CommandResult {
    let results = report.matched + report.without_candidates;
    require_results(input, report.rows, results, MAP_ADVICE)
}

fn print(report: &BulkReport, output: &std::path::Path) {
    println!(
        "{} rows in {:.1} s ({:.0} rows/s): {} matched, {} without candidates, {} in error",
        report.rows,
        report.seconds,
        report.rows_per_second,
        report.matched,
        report.without_candidates,
        report.errors
    );
    print_counts("in error", &report.status);
    let first = &report.confidence;
    println!(
        "first candidates: {} HIGH, {} MEDIUM, {} LOW, {} REJECT",
        first.high, first.medium, first.low, first.reject
    );
    print_counts("located by address", &report.located);
    print_files(&report.files, output);
}
