//! The command line: one file per command. Results go to standard output, progress and messages to standard error.

pub mod accounts;
mod alerts;
mod backup;
mod check;
mod compact;
mod config;
pub mod demo;
mod estimate;
pub mod evaluate;
pub mod evaluate_dedup;
pub mod evaluate_estimate;
mod explain;
pub mod import;
mod ingest;
mod jobs;
pub mod keys;
pub mod matching;
mod portals;
mod properties;
mod reports;
mod restore;
pub mod serve;
mod sql;
mod synth;
mod tables;
pub mod train;
mod usage;
mod webhook;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Table, TableComponent};

use toise_app::config::{Effective, Flag, Sources};
use toise_engine::Budget;

/// What a command ends with; the message is printed after `error:` and the exit code is 1.
pub type CommandResult = Result<(), Box<dyn Error + Send + Sync>>;

/// An empty table as every command draws them: lines around the header alone.
fn table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections)
        .remove_style(TableComponent::LeftBorderIntersections)
        .remove_style(TableComponent::RightBorderIntersections);
    table
}

/// Open engine for French property data.
#[derive(Parser, Debug)]
#[command(name = "toise", version, about, long_about = None)]
struct Toise {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options every command takes.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Data folder
    #[arg(
        long,
        global = true,
        default_value = "./toise-data",
        value_name = "DIR"
    )]
    pub data: PathBuf,
    /// Configuration file [default: toise.toml in the data folder, where it is there]
    #[arg(long, global = true, value_name = "FILE", env = "TOISE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

impl Common {
    /// The configuration in effect, with what flags set.
    ///
    /// # Errors
    /// A file, environment variable or flag that says what cannot be.
    pub fn configuration(&self, flags: Vec<Flag>) -> Result<Effective, toise_app::config::Error> {
        let sources = Sources {
            file: self.config.clone(),
            flags,
            ..Sources::of_process()
        };
        Effective::load(&self.data, &sources)
    }

    /// The memory budget of the configuration.
    ///
    /// # Errors
    /// As for [`Common::configuration`].
    pub fn budget(&self) -> Result<Budget, toise_app::config::Error> {
        let configuration = self.configuration(Vec::new())?;
        Ok(Budget::from(&configuration.config.engine))
    }
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Import recorded sales or diagnostics, from files or the official sources
    Import(import::ImportArgs),
    /// Take adverts in, from files or standard input
    Ingest(ingest::IngestArgs),
    /// Show a property, or undo a wrong merge
    Properties(properties::PropertiesArgs),
    /// List the portals there are rules for, or show what they find on a page
    Portals(portals::PortalsArgs),
    /// List pages that are being collected, and those that lately were
    Jobs(jobs::JobsArgs),
    /// List what accounts report to be wrong with listings, and resolve it
    Reports(reports::ReportsArgs),
    /// Tell why two adverts are, or are not, one asset
    Explain(explain::ExplainArgs),
    /// Make a lake of invented data on the first run, serve it and print how to ask
    Demo(demo::DemoArgs),
    /// Serve the API over HTTP
    Serve(serve::ServeArgs),
    /// Ask the tables in SQL, read-only
    Sql(sql::SqlArgs),
    /// Match a portfolio of dwellings or sales in bulk
    Match(matching::MatchArgs),
    /// Value a portfolio of homes in bulk
    Estimate(estimate::EstimateArgs),
    /// Train the estimator on the recorded sales of the lake
    Train(train::TrainArgs),
    /// Measure how good the answers are, on the records of the lake or on labelled adverts
    Evaluate(evaluate::EvaluateArgs),
    /// Read the whole lake and the model and verify every byte of them
    Check(check::CheckArgs),
    /// Merge the files that imports left, for faster answers
    Compact(compact::CompactArgs),
    /// Make and show accounts, replace their signing secrets, report what they consumed
    Accounts(accounts::AccountsArgs),
    /// Follow the deliveries of alerts, send again what did not arrive
    Alerts(alerts::AlertsArgs),
    /// Receive deliveries, to try alerts
    Webhook(webhook::WebhookArgs),
    /// Make, list, change and revoke API keys, report what they consumed
    Keys(keys::KeysArgs),
    /// Print the configuration in effect, and where each value came from
    Config(config::ConfigArgs),
    /// Copy store, tables and model to a folder or a tar file, also while the service runs
    Backup(backup::BackupArgs),
    /// Make a data folder from a backup
    Restore(restore::RestoreArgs),
    /// Print the version
    #[command(after_help = "Example:\n\n  toise version --json")]
    Version,
    /// Make up sales and diagnostics in the official file formats, and adverts
    Synth(synth::SynthOptions),
}

/// Parses the arguments of the process and runs the command.
pub fn main() -> ExitCode {
    let toise = Toise::parse();
    let common = &toise.common;
    let result: CommandResult = match toise.command {
        Command::Import(arguments) => import::run(common, &arguments),
        Command::Ingest(arguments) => ingest::run(common, &arguments),
        Command::Properties(arguments) => properties::run(common, &arguments),
        Command::Portals(arguments) => portals::run(common, &arguments),
        Command::Jobs(arguments) => jobs::run(common, &arguments),
        Command::Reports(arguments) => reports::run(common, &arguments),
        Command::Explain(arguments) => explain::run(common, &arguments),
        Command::Demo(arguments) => demo::run(common, &arguments),
        Command::Sql(arguments) => sql::run(common, &arguments),
        Command::Serve(arguments) => serve::run(common, &arguments),
        Command::Match(arguments) => matching::run(common, &arguments),
        Command::Estimate(arguments) => estimate::run(common, &arguments),
        Command::Train(arguments) => train::run(common, &arguments),
        Command::Evaluate(arguments) => evaluate::run(common, &arguments),
        Command::Check(arguments) => check::run(common, &arguments),
        Command::Compact(arguments) => compact::run(common, &arguments),
        Command::Accounts(arguments) => accounts::run(common, &arguments),
        Command::Alerts(arguments) => alerts::run(common, &arguments),
        Command::Webhook(arguments) => webhook::run(common, &arguments),
        Command::Keys(arguments) => keys::run(common, &arguments),
        Command::Config(arguments) => config::run(common, &arguments),
        Command::Backup(arguments) => backup::run(common, &arguments),
        Command::Restore(arguments) => restore::run(common, &arguments),
        Command::Version => {
            print_version(common.json);
            Ok(())
        }
        Command::Synth(options) => synth::run(&toise.common, &options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print_version(as_json: bool) {
    let version = env!("CARGO_PKG_VERSION");
    if as_json {
        println!("{}", serde_json::json!({"version": version}));
    } else {
        println!("toise {version}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_help_of_every_command_shows_an_example() {
        let mut missing = Vec::new();
        for command in Toise::command().get_subcommands() {
            let of_command = shows_example(command);
            let of_every_kind =
                command.has_subcommands() && command.get_subcommands().all(shows_example);
            if !of_command && !of_every_kind {
                missing.push(command.get_name().to_owned());
            }
        }
        assert!(missing.is_empty(), "{missing:?}");
    }

    fn shows_example(command: &clap::Command) -> bool {
        let help = command.get_after_help().map(ToString::to_string);
        help.is_some_and(|help| help.contains("toise "))
    }

    #[test]
    fn flags_and_commands_do_not_contradict_one_another() {
        Toise::command().debug_assert();
    }
}
