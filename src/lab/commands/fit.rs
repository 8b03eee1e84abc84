//! `toise-lab fit`: estimates the weights of deduplication from the adverts of a data folder and from pairs that people
//! read.

use std::path::PathBuf;

use clap::Args;

use super::{listings, pairs, show};
use crate::dedup::fit::{FittedWeights, WeightFitter};
use toise_base::progress::Progress;
use toise_cli::{CommandResult, Common};

/// Arguments of `fit`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n\n  toise-lab fit --pairs benches/adverts/labels.csv")]
pub struct FitArgs {
    /// Also use the tuning pairs of a file, as for `pairs`
    #[arg(long, value_name = "FILE.csv")]
    pairs: Option<PathBuf>,
    /// Weight of a pair that people read, relative to an unlabelled pair of the data folder
    #[arg(long, value_name = "W", default_value_t = 50.0, requires = "pairs")]
    pair_weight: f64,
}

/// Runs `fit`.
pub fn run(common: &Common, arguments: &FitArgs) -> CommandResult {
    let listings = listings(common)?;
    let mut fit = WeightFitter::default();
    listings.for_each_pair_around(Progress::new(common.json), |comparison| {
        fit.add(comparison, None, 1.0);
    })?;
    if let Some(pairs) = &arguments.pairs {
        pairs::add_to_fit(&listings, pairs, arguments.pair_weight, &mut fit)?;
    }
    let fitted = fit.fit();
    show(common, &fitted, print_fitted)
}

fn print_fitted(fitted: &FittedWeights) {
    let mut table =
        toise_cli::table_of("field|seller|level|one asset|two assets|ratio|fitted|current");
    for field in &fitted.fields {
        for level in &field.levels {
            table.add_row([
                field.field.to_owned(),
                if level.one_seller { "one" } else { "others" }.to_owned(),
                level.about.to_owned(),
                format!("{:.0}", level.same),
                format!("{:.0}", level.different),
                format!("{:.1}", level.ratio_bits),
                format!("{:.1}", level.fitted_bits),
                format!("{:.1}", level.bits_in_use),
            ]);
        }
    }
    table.align_right(2..);
    println!("{table}");
    println!(
        "{:.0} pairs of one asset are expected, {:.0} of two.\n\
         ratio: binary logarithm of the ratio of both frequencies, the right weight if fields were independent; fitted: the \
         same, at most two bits from the weight in use.",
        fitted.same, fitted.different
    );
}
