//! `toise train`: trains the estimator on the recorded sales of the lake.

use chrono::{NaiveDate, SecondsFormat};
use clap::Args;
use comfy_table::{CellAlignment, Table};
use indicatif::HumanCount;
use serde_json::json;

use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_estimate::clean::Funnel;
use toise_estimate::{Model, join, model, read_sales, store, train};

/// Arguments of `train`.
#[derive(Args, Debug)]
#[command(after_help = "\
The model is written to a new folder and becomes current when it is complete; a running server switches to it.

Examples:
  toise train
  toise train --until 2022-12-31 --json")]
pub struct TrainArgs {
    /// Last day of the training sales [default: all sales]
    #[arg(long, value_name = "DATE")]
    pub until: Option<NaiveDate>,
}

/// Runs `train`.
pub fn run(common: &Common, arguments: &TrainArgs) -> CommandResult {
    let clock = Clock::system();
    let (model, funnel) = train_lake(common, arguments.until, &clock)?;
    let folder = model.save(&common.data.join(store::FOLDER))?;
    let metadata = model.metadata();
    if common.json {
        let result = json!({"funnel": funnel.steps, "model": metadata, "folder": folder});
        println!("{result}");
        return Ok(());
    }
    println!("{}", table(&funnel));
    println!(
        "\nModel {} is trained on {} sales up to {}. It is in {}.",
        metadata.version,
        HumanCount(metadata.sales),
        metadata.data_through,
        folder.display()
    );
    println!(
        "Learned from these sales: {}.",
        metadata.learned_inputs.join(", ")
    );
    Ok(())
}

/// Trains on the sales of the lake up to a day, with progress bars.
///
/// # Errors
/// The lake cannot be read, or has too few sales.
pub fn train_lake(
    common: &Common,
    until: Option<NaiveDate>,
    clock: &Clock,
) -> Result<(Model, Funnel), model::Error> {
    let progress = Progress::new(common.json);
    let end = until.map_or(i32::MAX, |until| model::days(until) + 1);
    let bar = progress.rows("reading", read_sales::rows(&common.data)?);
    let (mut sales, mut funnel) = read_sales::sales(&common.data, end, &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    if let Some(hint) = read_sales::position_hint(&funnel) {
        eprintln!("note: {hint}");
    }
    join::join(&common.data, &mut sales, &mut funnel)?;
    let sales = sales.into_iter().map(|one| one.sale).collect();
    let bar = progress.rows("training", train::STEPS);
    let trained_at = clock.now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let model = train::train(sales, end, trained_at, &mut funnel, &|| bar.inc(1))?;
    bar.finish_and_clear();
    Ok((model, funnel))
}

/// Formats the funnel as a table.
fn table(funnel: &Funnel) -> Table {
    let mut table = crate::table();
    table.set_header(["rule", "sales left"]);
    for step in &funnel.steps {
        table.add_row([step.rule.to_owned(), HumanCount(step.left).to_string()]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
