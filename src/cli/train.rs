//! `toise train`: trains the estimator on the recorded sales of the lake.

use chrono::NaiveDate;
use clap::Args;
use indicatif::HumanCount;
use serde_json::json;

use super::{CommandResult, Common, FittedTable};
use toise_app::training;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_estimate::clean::Funnel;
use toise_estimate::{Model, model, store};

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
    let note = |hint: &str| eprintln!("note: {hint}");
    training::train_lake(&common.data, until, clock, progress, note)
}

/// Formats the funnel as a table.
fn table(funnel: &Funnel) -> FittedTable {
    let mut table = crate::table_of("rule|sales left");
    for step in &funnel.steps {
        table.add_row([step.rule.to_owned(), HumanCount(step.left).to_string()]);
    }
    table.align_right(1..=1);
    table
}
