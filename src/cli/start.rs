//! `toise start`: imports the open data of departments from the official sources, trains a model, serves the data
//! folder and prints a key and sample requests. Run again, it skips what is done.

use clap::Args;
use indicatif::{HumanBytes, HumanDuration};

use super::config::SettingArgs;
use super::import::department;
use super::refresh::{FetchingArgs, line_of, model_line, plan_table};
use super::result::listed_codes;
use super::welcome::{SamplePlaces, serve_with_welcome};
use super::{CommandResult, Common};
use toise_app::refresh::{Refresher, held_departments};
use toise_app::serve::check_address;
use toise_geo::departments::CODES;

/// Arguments of `start`.
#[derive(Args, Debug)]
#[command(after_help = "\
Imports addresses, sales and diagnostics, in this order, trains a model, and serves. You can interrupt it at any time
and run it again: it continues where it stopped. Later, `toise refresh` or the setting refresh.every_h keeps the data up
to date.

Examples:
  toise start --departments 48
  toise start --departments 75,92,93,94 --listen 0.0.0.0:8080
  toise start --all --no-model")]
pub struct StartArgs {
    /// Departments, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = department, value_name = "CODES", required_unless_present = "all")]
    departments: Vec<String>,
    /// All departments: about 80 GB to download, most of it diagnostics
    #[arg(long, conflicts_with = "departments")]
    all: bool,
    #[command(flatten)]
    fetching: FetchingArgs,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs `start`.
pub fn run(common: &Common, arguments: &StartArgs) -> CommandResult {
    let config = common.configuration(arguments.settings.flags()?)?.config;
    let codes = if arguments.all {
        CODES.map(str::to_owned).to_vec()
    } else {
        arguments.departments.clone()
    };
    check_address(&config.server.listen)?;
    import_and_train(common, arguments, &codes)?;
    let places = SamplePlaces::of_department(&codes[0]);
    serve_with_welcome(common, &config, &places)
}

/// Imports what is new and trains a model. Messages go to standard error, because the first line of standard output is
/// the address.
///
/// # Errors
/// Nothing could be imported, and the data folder holds nothing.
fn import_and_train(common: &Common, arguments: &StartArgs, codes: &[String]) -> CommandResult {
    let refresher = Refresher::start(&common.data, arguments.fetching.options(common)?)?;
    eprintln!("asking the official sources about {}", listed_codes(codes));
    let plan = refresher.plan(codes)?;
    eprintln!("{}", plan_table(&plan));
    if plan.bytes() > 0 {
        eprintln!(
            "about {} to download, about {} in all",
            HumanBytes(plan.bytes()),
            HumanDuration(plan.duration())
        );
    }
    let outcome = refresher.run(&plan, &mut |source| {
        if source.changed_anything() {
            eprintln!("{}", line_of(source));
        }
    })?;
    if let Some(line) = model_line(&outcome) {
        eprintln!("{line}");
    }
    let failures = outcome.failures();
    if !failures.is_empty() && held_departments(&common.data)?.is_empty() {
        let failures = failures.join("\nerror: ");
        return Err(format!("{failures}\nto try it without downloads: toise demo").into());
    }
    for failure in failures {
        eprintln!("warning: {failure}; run this command again to complete it");
    }
    Ok(())
}
