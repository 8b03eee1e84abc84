//! `toise estimate`: values each home of a portfolio.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::common::{CsvArgs, MissingArgs};
use super::result::{MAP_ADVICE, listed_counts, print_counts, print_files, require_results};
use super::values::rename;
use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_estimate::bulk::{self, BulkEstimateOptions, BulkEstimateReport, COMPARABLES_MAX};
use toise_estimate::valuer::{Adjustments, Valuer};
use toise_estimate::{Detail, Model, store};
use toise_geocode::resolve::LazyGeocoder;

/// Arguments of `estimate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each row of the portfolio is a home. Required columns: longitude, latitude, type (CLASS_FLAT or CLASS_HOUSE, flat or
house, Appartement or Maison) and surface_m2. Optional columns: id, room_count, bedroom_count, land_surface_m2,
construction_year, epc_energy, epc_climate (A to G), floor, valuation_date (default: today; later data is not used),
total_floor, general_condition, furniture, has_balcony, has_cellar, has_garage, has_lift, has_parking, has_pool,
has_terrace. Columns with another usual name, such as surface, pieces, adresse, cp, ville or reference (as id), are read
as these, and the report says so. Instead of longitude and latitude a row may give its address in the columns address,
postcode (or postal_code) and city; import addresses first (toise import ban).

The output has one row per home, in the order of the portfolio: id, price, lower, upper (EUR; four sales in five lie between
lower and upper), confidence, fallback, warning and error; with addresses also address_label, address_score,
address_confidence and address_precision (ADDRESS, STREET, TOWN). A home of which only the town is found is valued from the
centre of the town, with confidence LOW. Where the model knows no sale within 7 km, few, or only far ones, the column
warning says so (no_sale_within_reach, few_sales_within_reach, sales_far_away) and the interval is wider.

The last column, status, is ok, outside_france (a position abroad or at sea), coordinates_swapped? (one that is in France
with longitude and latitude swapped) or error; such rows have no price.

Examples:
  toise estimate --input portfolio.csv --output valued.parquet
  toise estimate --input flats.parquet --output valued.csv --map id=ref --map surface_m2=area --comparables 3
  toise estimate --input addresses.csv --output valued.csv --map city=localite")]
pub struct EstimateArgs {
    /// Portfolio: CSV in any dialect and encoding, XLSX, ODS, Parquet, Arrow, JSON or NDJSON, packed or not
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Output: .parquet, .csv or .ndjson
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Field of a home and the column to read it from; repeatable
    #[arg(long = "map", value_name = "FIELD=COLUMN", value_parser = rename)]
    renames: Vec<(String, String)>,
    /// Add a column with the N most similar recorded sales, 1 to 5, as JSON
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=COMPARABLES_MAX as i64))]
    comparables: Option<u8>,
    /// Add a column with the contribution of each input to the price, in EUR, as JSON
    #[arg(long)]
    contributions: bool,
    /// Skip adjustments for what sales do not record (balcony, lift, condition, …) [default: the configured setting]
    #[arg(long)]
    no_adjustments: bool,
    #[command(flatten)]
    missing: MissingArgs,
    #[command(flatten)]
    csv: CsvArgs,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: super::cluster::ClusterArgs,
}

/// Runs `estimate`.
pub fn run(common: &Common, arguments: &EstimateArgs) -> CommandResult {
    arguments.missing.apply()?;
    let settings = common.configuration(Vec::new())?.config.estimate;
    let adjustments = if arguments.no_adjustments {
        Adjustments::Off
    } else {
        settings.adjustments()
    };
    let options = BulkEstimateOptions {
        input: arguments.input.clone(),
        output: arguments.output.clone(),
        renames: arguments.renames.clone(),
        formulas: arguments.csv.formulas(),
        detail: Detail {
            comparables: arguments.comparables.map_or(0, usize::from),
            has_contributions: arguments.contributions,
        },
        today: Clock::system().now().date_naive(),
        geocoder: LazyGeocoder::new(common.data.clone()),
        progress: Progress::new(common.json),
    };
    #[cfg(feature = "cluster")]
    if let Some(workers) = &arguments.cluster.workers {
        return run_shared(common, workers, options, adjustments);
    }
    let model = Model::open(&common.data.join(store::FOLDER))?;
    let valuer = Valuer::new(Arc::new(model), adjustments);
    let report = bulk::run(&valuer, &options)?;
    common.show(&report, || print(&report, &arguments.output))?;
    verdict(&arguments.input, &report)
}

/// Runs `estimate` on workers.
#[cfg(feature = "cluster")]
fn run_shared(
    common: &Common,
    workers: &str,
    options: BulkEstimateOptions,
    adjustments: Adjustments,
) -> CommandResult {
    use super::cluster::{self, Workers};
    use toise_cluster::Work;
    use toise_cluster::coordinator::dispatch::Shares;
    use toise_cluster::coordinator::jobs::share;
    use toise_cluster::identity::Identity;

    let workers = Workers::connect(common, workers, Identity::for_estimates)?;
    let question = serde_json::json!({
        "estimate": options.output.extension().and_then(|extension| extension.to_str()),
        "renames": options.renames,
        "comparables": options.detail.comparables,
        "contributions": options.detail.has_contributions,
        "adjustments": adjustments == Adjustments::On,
        "today": options.today,
    });
    let (input, output) = (options.input.clone(), options.output.clone());
    let shared = workers.run((&input, &output), &question, |files, dispatch| {
        let options = BulkEstimateOptions {
            input: files.input.clone(),
            output: files.output.clone(),
            ..options
        };
        let mut shares = Shares::default();
        let report = bulk::run_remote(adjustments, &options, |job, blocks, answers| {
            let mut dispatch = dispatch(Work::Estimate(job.clone()));
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

/// Fails if no row of a portfolio is valued.
fn verdict(input: &Path, report: &BulkEstimateReport) -> CommandResult {
    require_results(input, report.rows, report.valued, MAP_ADVICE)
}

fn print(report: &BulkEstimateReport, output: &Path) {
    println!(
        "{} rows in {:.1} s ({:.0} rows/s): {} valued, {} in error",
        report.rows, report.seconds, report.rows_per_second, report.valued, report.errors
    );
    if report.valued > 0 {
        println!(
            "confidence: {}; fallback: {}",
            listed_counts(&report.confidence),
            listed_counts(&report.fallback)
        );
    }
    print_counts("warning", &report.warning);
    print_counts("located by address", &report.located);
    print_files(&report.files, output);
}
