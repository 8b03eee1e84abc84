//! `toise evaluate`: measures quality on records of the lake, later sales, addresses, adverts and saved pages.

use clap::{Args, Subcommand};
use comfy_table::CellAlignment;

use super::matching::MatchTable as Matched;
use super::{CommandResult, Common};
use toise_lab::matching::{
    self, ConfidenceStats, EvaluationOptions, EvaluationReport, LevelResult,
};
use toise_opendata::OpenData;

/// Arguments of `evaluate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: match 5,000 diagnostics of the lake as rows of a portfolio

  toise evaluate match dpe --sample 5000

Example: measure the merges of the data folder's adverts, which have no labels

  toise evaluate dedup

Example: estimate prices of 2023 from sales known at the end of 2022

  toise evaluate estimate --train-until 2022-12-31 --test 2023

Example: find 2,000 addresses of the base, written in 23 ways, and others that are withheld

  toise evaluate geocode

Example: read saved pages of listings and compare with what they state

  toise evaluate extraction --pages pages --truth truth.ndjson")]
pub struct EvaluateArgs {
    #[command(subcommand)]
    what: EvaluateTarget,
}

#[derive(Subcommand, Debug)]
enum EvaluateTarget {
    /// Match sampled records by the fields that a portfolio would have, and measure how often they are found
    Match(EvaluateMatchArgs),
    /// Train the estimator on sales up to a day, and evaluate it on later sales
    Estimate(super::evaluate_estimate::EvaluateEstimateArgs),
    /// Find addresses of the base, written as people write them, and measure accuracy, calibration and speed
    Geocode(super::evaluate_geocode::EvaluateGeocodeArgs),
    /// Measure the merges of the data folder's adverts, of labelled pairs, or of synthetic adverts with known assets
    Dedup(super::evaluate_dedup::DedupArgs),
    /// Read saved pages of listings, and measure recall and precision of each field
    Extraction(super::evaluate_extraction::EvaluateExtractionArgs),
}

#[derive(Args, Debug)]
struct EvaluateMatchArgs {
    /// Table to match against
    table: Matched,
    /// Number of records to sample
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    sample: usize,
    /// Seed; the same seed samples the same records and generates the same errors
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Runs `evaluate`.
pub fn run(common: &Common, arguments: &EvaluateArgs) -> CommandResult {
    let arguments = match &arguments.what {
        EvaluateTarget::Match(arguments) => arguments,
        EvaluateTarget::Estimate(arguments) => {
            return super::evaluate_estimate::run(common, arguments);
        }
        EvaluateTarget::Geocode(arguments) => {
            return super::evaluate_geocode::run(common, arguments);
        }
        EvaluateTarget::Dedup(arguments) => return super::evaluate_dedup::run(common, arguments),
        EvaluateTarget::Extraction(arguments) => {
            return super::evaluate_extraction::run(common, arguments);
        }
    };
    let open_data = OpenData::open(&common.data, common.budget()?)?;
    let options = EvaluationOptions {
        dataset: arguments.table.into(),
        sample: arguments.sample,
        seed: arguments.seed,
    };
    let report = matching::run(&open_data, options)?;
    if common.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print(&report);
    }
    Ok(())
}

fn print(report: &EvaluationReport) {
    let mut table = crate::table();
    table.set_header([
        "level",
        "n",
        "top-1",
        "ceiling",
        "share",
        "top-5",
        "ceiling",
        "share",
        "HIGH",
        "right",
        "MEDIUM",
        "right",
        "LOW",
        "right",
        "REJECT",
        "right",
        "ambiguous",
        "HIGH if absent",
    ]);
    for level in &report.levels {
        table.add_row(row(level));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    for level in &report.levels {
        println!("{}: {}", level.level, level.about);
    }
    println!(
        "\n{} records of {}, seed {}. Percentages, except n and the class counts; share: share of the ceiling.",
        report.sample, report.table, report.seed
    );
}

fn row(level: &LevelResult) -> Vec<String> {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let mut cells = vec![
        level.level.to_owned(),
        level.n.to_string(),
        percent(level.top1),
        percent(level.top1_ceiling),
        percent(level.top1_of_ceiling),
        percent(level.top5),
        percent(level.top5_ceiling),
        percent(level.top5_of_ceiling),
    ];
    for ConfidenceStats {
        count, precision, ..
    } in [level.high, level.medium, level.low, level.reject]
    {
        cells.push(count.to_string());
        cells.push(precision.map_or_else(|| "–".to_owned(), percent));
    }
    cells.push(percent(level.ambiguous));
    cells.push(percent(level.high_when_absent));
    cells
}
