//! `toise evaluate rent`: measures estimated rents on homes that the model does not know.

use clap::Args;

use super::rent::open;
use super::{CommandResult, Common, table_of};
use toise_engine::cancellation::Interrupt;
use toise_market::rents::evaluation::{RentReport, evaluate};
use toise_market::rents::interval::ERRORS_MIN;

/// Arguments of `evaluate rent`.
#[derive(Args, Debug)]
#[command(after_help = "\
Every home to rent of the data folder is estimated by a model that knows only four fifths of the others. The error is the
median over the homes, in percent of the rent. Coverage is the share of rents in their range; it should be 80 %. The
last column is the error of the map of rents alone, if it was imported.

Example:

  toise evaluate rent --json")]
pub struct EvaluateRentArgs {}

/// Runs `evaluate rent`.
pub fn run(common: &Common, _: &EvaluateRentArgs) -> CommandResult {
    let rents = open(common)?;
    let (rentals, map) = rents.read(rents.today(), &Interrupt::default())?;
    let known = rentals.homes.len();
    if known < ERRORS_MIN {
        return Err(format!(
            "{known} homes to rent are known; {ERRORS_MIN} are needed: ingest adverts of homes to rent"
        )
        .into());
    }
    let report = evaluate(&rentals.homes, rentals.left_out, &map);
    common.show(&report, || print(&report))
}

fn print(report: &RentReport) {
    let mut rows =
        table_of("homes to rent|number|error %|bias %|within 20 %|coverage %|width %|map error %");
    rows.align_right(1..);
    let shown = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
    for group in &report.groups {
        rows.add_row([
            group.group.to_owned(),
            group.homes.to_string(),
            shown(Some(group.error_percent)),
            shown(Some(group.bias_percent)),
            shown(Some(group.within_20_percent)),
            shown(group.coverage_percent),
            shown(group.width_percent),
            shown(group.map_error_percent),
        ]);
    }
    println!("{rows}");
    println!(
        "{} homes were left out: without a commune, a surface or a plausible rent, or on offer more than three years ago",
        report.left_out
    );
}
