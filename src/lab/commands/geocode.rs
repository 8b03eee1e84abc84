//! `toise-lab geocode`: queries the geocoder for addresses of its base, written as people write them, and for
//! addresses that it does not have.

use std::path::PathBuf;

use clap::Args;

use super::show;
use crate::geocode::{self, GeocodeOptions, GeocodeReport};
use toise_cli::{CommandResult, Common, FittedTable};
use toise_geocode::folder;

/// Default number of wrong answers listed for each class.
const FAILURES: usize = 5;
/// Default number of sampled addresses per withheld address: a third of what calibration is measured on is withheld.
const WITHHELD_SHARE: usize = 2;

/// Arguments of `geocode`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: judge on three departments, and ask for addresses of a fourth that the geocoder is not given

  toise-lab geocode --departments 05,15,43 --leave-out 12

Example: judge on cases of geocoder-tester too, and write the questions for another geocoder

  toise-lab geocode --cases test_addresses.csv --write-cases questions.csv")]
pub struct GeocodeArgs {
    /// Number of addresses to draw; each is queried with every class of errors
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    sample: usize,
    /// Number of addresses to draw and withhold from the geocoder: half as streets, half as departments
    /// [default: half of --sample]
    #[arg(long, value_name = "N")]
    without: Option<usize>,
    /// Seed; the same seed draws the same addresses and generates the same errors
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Departments to draw from [default: all]
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    departments: Vec<String>,
    /// Departments withheld from the geocoder for all queries [default: each in turn, for the queries about it]
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    leave_out: Vec<String>,
    /// File of queries with expected results, in the CSV format of geocoder-tester; repeatable
    #[arg(long, value_name = "FILE.csv")]
    cases: Vec<PathBuf>,
    /// Write the queries to a file in the same format, to evaluate another geocoder with them
    #[arg(long, value_name = "FILE.csv")]
    write_cases: Option<PathBuf>,
    /// Wrong answers of each class to list
    #[arg(long, value_name = "N", default_value_t = FAILURES)]
    failures: usize,
}

/// Runs `geocode`.
pub fn run(common: &Common, arguments: &GeocodeArgs) -> CommandResult {
    let geocoder = folder::open(&common.data)?;
    let options = GeocodeOptions {
        sample: arguments.sample,
        without: arguments
            .without
            .unwrap_or(arguments.sample / WITHHELD_SHARE),
        seed: arguments.seed,
        departments: arguments.departments.clone(),
        left_out: arguments.leave_out.clone(),
        cases: arguments.cases.clone(),
        write_cases: arguments.write_cases.clone(),
        failures: arguments.failures,
    };
    let report = geocode::evaluate(&geocoder, &options)?;
    show(common, &report, print)
}

fn percent(share: f64) -> String {
    format!("{:.2}", 100.0 * share)
}

fn print_table(mut table: FittedTable, left: usize) {
    table.align_right(left..);
    println!("{table}\n");
}

fn print(report: &GeocodeReport) {
    let mut table =
        toise_cli::table_of("class|changed|n|right %|in five %|score|other town %|if absent %");
    for one in &report.classes {
        table.add_row([
            one.class.to_owned(),
            one.about.to_owned(),
            one.n.to_string(),
            percent(one.right),
            percent(one.among),
            format!("{:.3}", one.score),
            percent(one.other_town),
            percent(one.absent_other_town),
        ]);
    }
    print_table(table, 2);
    println!(
        "{} addresses of {}, seed {}; {} streets searched. 99 % of the right answers score at least {:.3}; other town: \
         the first result does too, and is elsewhere; if absent: the same for withheld addresses.\n",
        report.sample,
        report.departments.join(", "),
        report.seed,
        report.streets,
        report.threshold
    );
    print_absent(report);
    println!(
        "Calibration error {:.3} over {} first results, {:.0} % of them for withheld addresses; # right, | score. A town or \
         a street alone counts if it is the one meant; if only what was asked for counts, the error is {:.3}.\n{}",
        report.calibration.error,
        report.calibration.n,
        100.0 * report.calibration.absent,
        report.strict_calibration.error,
        report.calibration.plot()
    );
    print_cases(report);
    let mut table = toise_cli::table_of("on one core|n|a second|a CPU second|p50 µs|p99 µs");
    for one in &report.speed {
        table.add_row([
            one.kind.to_owned(),
            one.n.to_string(),
            format!("{:.0}", one.per_second),
            one.per_cpu_second_text(),
            format!("{:.1}", one.p50_us),
            format!("{:.1}", one.p99_us),
        ]);
    }
    print_table(table, 1);
    print_failures(report);
}

fn print_absent(report: &GeocodeReport) {
    let mut table = toise_cli::table_of(
        "withheld|written|n|other town %|wrong street of the town %|town alone %|declined %|right %",
    );
    for one in &report.absent {
        table.add_row([
            one.withheld.to_owned(),
            one.written.to_owned(),
            one.n.to_string(),
            percent(one.other_town),
            percent(one.same_town),
            percent(one.town_alone),
            percent(one.declined),
            percent(one.right),
        ]);
    }
    print_table(table, 2);
}

fn print_cases(report: &GeocodeReport) {
    if report.cases.is_empty() {
        return;
    }
    let mut table = toise_cli::table_of("cases|n|right %|not covered");
    for one in &report.cases {
        table.add_row([
            one.group.clone(),
            one.n.to_string(),
            percent(one.right),
            one.not_covered.to_string(),
        ]);
    }
    print_table(table, 1);
}

fn print_failures(report: &GeocodeReport) {
    let of_classes = report.classes.iter();
    let of_classes = of_classes.map(|one| (one.class, &one.failures));
    let of_cases = report.cases.iter();
    let of_cases = of_cases.map(|one| (one.group.as_str(), &one.failures));
    let mut table = toise_cli::table_of("wrong|asked|meant|first result|score");
    for (name, failures) in of_classes.chain(of_cases) {
        for one in failures {
            table.add_row([
                name.to_owned(),
                one.query.clone(),
                one.meant.clone(),
                one.given.clone(),
                format!("{:.3}", one.score),
            ]);
        }
    }
    print_table(table, 4);
}
