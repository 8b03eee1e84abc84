//! `toise evaluate`: measures the estimator on later sales, the rents, and the merges of adverts.

use clap::{Args, Subcommand};

use super::{CommandResult, Common, evaluate_dedup, evaluate_estimate, evaluate_rent};

/// Arguments of `evaluate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: estimate prices of 2023 from sales known at the end of 2022

  toise evaluate estimate --train-until 2022-12-31 --test 2023

Example: measure the merges of the data folder's adverts, which have no labels

  toise evaluate dedup")]
pub struct EvaluateArgs {
    #[command(subcommand)]
    what: EvaluateTarget,
}

#[derive(Subcommand, Debug)]
enum EvaluateTarget {
    /// Train the estimator on sales up to a day, and evaluate it on later sales
    Estimate(evaluate_estimate::EvaluateEstimateArgs),
    /// Measure estimated rents on homes that the model does not know
    Rent(evaluate_rent::EvaluateRentArgs),
    /// Measure the merges of the data folder's adverts
    Dedup(evaluate_dedup::DedupArgs),
}

/// Runs `evaluate`.
pub fn run(common: &Common, arguments: &EvaluateArgs) -> CommandResult {
    match &arguments.what {
        EvaluateTarget::Estimate(arguments) => evaluate_estimate::run(common, arguments),
        EvaluateTarget::Rent(arguments) => evaluate_rent::run(common, arguments),
        EvaluateTarget::Dedup(arguments) => evaluate_dedup::run(common, arguments),
    }
}
