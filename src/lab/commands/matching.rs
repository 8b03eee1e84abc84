//! `toise-lab match`: matches sampled records by the fields that a portfolio would have.

use clap::Args;

use super::show;
use crate::matching::{self, ConfidenceStats, EvaluationOptions, EvaluationReport, LevelResult};
use toise_cli::matching::MatchTable;
use toise_cli::{CommandResult, Common};
use toise_opendata::OpenData;

/// Arguments of `match`.
#[derive(Args, Debug)]
pub struct MatchArgs {
    /// Table to match against
    table: MatchTable,
    /// Number of records to sample
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    sample: usize,
    /// Seed; the same seed samples the same records and generates the same errors
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Runs `match`.
pub fn run(common: &Common, arguments: &MatchArgs) -> CommandResult {
    let open_data = OpenData::open(&common.data, common.budget()?)?;
    let options = EvaluationOptions {
        dataset: arguments.table.into(),
        sample: arguments.sample,
        seed: arguments.seed,
    };
    let report = matching::run(&open_data, options)?;
    show(common, &report, print)
}

fn print(report: &EvaluationReport) {
    let mut table = toise_cli::table_of(
        "level|n|top-1|ceiling|share|top-5|ceiling|share|HIGH|right|MEDIUM|right|LOW|right|REJECT|right|ambiguous|HIGH if absent",
    );
    for level in &report.levels {
        table.add_row(row(level));
    }
    table.align_right(1..);
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
