//! The command line of `toise-lab`, one file per command.

mod dedup;
mod extraction;
mod fit;
mod geocode;
mod ingestion;
mod matching;
mod pairs;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;

use toise_base::clock::Clock;
use toise_cli::result::Failure;
use toise_cli::{CommandResult, Common};
use toise_listings::Listings;
use toise_store::Store;

/// Evaluations for developers of toise.
#[derive(Parser, Debug)]
#[command(
    name = "toise-lab",
    version,
    after_help = "\
Example: match 5,000 diagnostics of the lake as rows of a portfolio

  toise-lab match dpe --sample 5000

Example: find 2,000 addresses of the base, written in 23 ways, and others that are withheld

  toise-lab geocode

Example: measure deduplication on synthetic adverts with known assets

  toise-lab dedup --adverts 20000"
)]
struct Lab {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Match sampled records by the fields that a portfolio would have, and measure how often they are found
    Match(matching::MatchArgs),
    /// Find addresses of the base, written as people write them, and measure accuracy, calibration and speed
    Geocode(geocode::GeocodeArgs),
    /// Measure deduplication on synthetic adverts with known assets
    Dedup(dedup::DedupArgs),
    /// Judge the merges of the data folder by pairs of adverts that people read
    Pairs(pairs::PairsArgs),
    /// Estimate the weights of deduplication, and print them next to the weights in use
    Fit(fit::FitArgs),
    /// Read saved pages of listings, and measure recall and precision of each field
    Extraction(extraction::ExtractionArgs),
}

/// Parses the arguments of the process and runs the command.
pub fn main() -> ExitCode {
    let lab = Lab::parse();
    let common = &lab.common;
    let result = match &lab.command {
        Command::Match(arguments) => matching::run(common, arguments),
        Command::Geocode(arguments) => geocode::run(common, arguments),
        Command::Dedup(arguments) => dedup::run(common, arguments),
        Command::Pairs(arguments) => pairs::run(common, arguments),
        Command::Fit(arguments) => fit::run(common, arguments),
        Command::Extraction(arguments) => extraction::run(common, arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a report as JSON, or with `print`.
fn show<R: Serialize>(common: &Common, report: &R, print: impl FnOnce(&R)) -> CommandResult {
    if common.json {
        println!("{}", serde_json::to_string(report)?);
    } else {
        print(report);
    }
    Ok(())
}

/// Opens the adverts of the data folder.
fn listings(common: &Common) -> Result<Listings, Failure> {
    Ok(common.listings(Store::open(&common.data)?, Clock::system())?)
}
