//! The command line: one file per command. Results go to standard output, progress and messages to standard error.

#![forbid(unsafe_code)]

pub mod accounts;
mod alerts;
mod audit;
mod backup;
mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod common;
mod compact;
mod completions;
mod config;
pub mod demo;
mod demo_alerts;
mod demo_extras;
mod doctor;
mod erase;
mod estimate;
pub mod evaluate;
pub mod evaluate_dedup;
pub mod evaluate_estimate;
pub mod evaluate_rent;
mod explain;
mod gc;
mod geocode;
mod groups;
pub mod import;
mod indicators;
mod ingest;
mod jobs;
pub mod keys;
mod layers;
mod man;
mod market;
pub mod matching;
#[cfg(feature = "mcp")]
mod mcp;
mod portals;
mod portfolio;
mod properties;
pub mod publish;
mod refresh;
mod rent;
mod report;
mod reports;
mod restore;
pub mod result;
pub mod serve;
mod sources;
mod sql;
mod start;
pub mod synth;
mod table_style;
mod tables;
pub mod train;
mod usage;
mod values;
mod webhook;
mod welcome;
#[cfg(feature = "cluster")]
mod worker;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use result::{PARTIAL_FAILURE, PartialFailure};

pub use common::Common;
pub use result::CommandResult;
pub use table_style::{FittedTable, table, table_of};

/// Open engine for French property data.
#[derive(Parser, Debug)]
#[command(name = "toise", version)]
struct Toise {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Import sales, diagnostics, addresses, rents, or a layer
    Import(import::ImportArgs),
    /// Import what the official sources have published since last time
    Refresh(refresh::RefreshArgs),
    /// Import the open data of departments, train a model and serve
    Start(start::StartArgs),
    /// Ingest adverts from files or standard input
    Ingest(ingest::IngestArgs),
    /// Show, merge, split and rebuild properties
    Properties(properties::PropertiesArgs),
    /// List portals with extraction rules, or try the rules on a page
    Portals(portals::PortalsArgs),
    /// List layers (imported geodata), or remove one
    Layers(layers::LayersArgs),
    /// List pages being collected and pages collected recently
    Jobs(jobs::JobsArgs),
    /// List reports of accounts about wrong listings, and resolve them
    Reports(reports::ReportsArgs),
    /// Explain why two adverts are one property, or not
    Explain(explain::ExplainArgs),
    /// Serve invented data, made on the first run, with requests to try
    Demo(demo::DemoArgs),
    /// Serve the API and the console over HTTP
    Serve(serve::ServeArgs),
    /// Run shares of bulk commands and queries for other machines
    #[cfg(feature = "cluster")]
    Worker(worker::WorkerArgs),
    /// Serve the tools of the Model Context Protocol to an agent
    #[cfg(feature = "mcp")]
    Mcp(mcp::McpArgs),
    /// Run a read-only SQL query
    Sql(sql::SqlArgs),
    /// Run SQL queries for a server, which starts this itself
    #[command(hide = true)]
    SqlProcess,
    /// Geocode a file of addresses, or of positions
    Geocode(geocode::GeocodeArgs),
    /// Match a portfolio of dwellings or sales in bulk
    Match(matching::MatchArgs),
    /// Show market indicators by place, class and period
    Market(market::MarketArgs),
    /// Value a portfolio of homes in bulk
    Estimate(estimate::EstimateArgs),
    /// Estimate the rent and the gross yield of a home
    Rent(rent::RentArgs),
    /// Write the report of one home, as PDF, web page or JSON
    Report(report::ReportArgs),
    /// Store homes that a server values again after each new model
    Portfolio(portfolio::PortfolioArgs),
    /// Train the estimator on the recorded sales
    Train(train::TrainArgs),
    /// Measure the estimator, the rents, or the merges of adverts
    Evaluate(evaluate::EvaluateArgs),
    /// Show what the data folder holds, what is missing and what helps
    Doctor(doctor::DoctorArgs),
    /// Verify every byte of the tables and the model, and the store
    Check(check::CheckArgs),
    /// Merge the files that imports leave, for faster queries
    Compact(compact::CompactArgs),
    /// Create accounts, replace their secrets, report consumption
    Accounts(accounts::AccountsArgs),
    /// Show deliveries of alerts, retry dead letters, replay matches
    Alerts(alerts::AlertsArgs),
    /// Receive webhook deliveries, to try alerts
    Webhook(webhook::WebhookArgs),
    /// Create, list, change and revoke API keys, report consumption
    Keys(keys::KeysArgs),
    /// Show the log of administrative acts, and verify it
    Audit(audit::AuditArgs),
    /// Print the configuration in effect, with the origin of each value
    Config(config::ConfigArgs),
    /// Back up the data folder, also while the server is running
    Backup(backup::BackupArgs),
    /// Remove the contacts of a person from everything that is stored
    Erase(erase::EraseArgs),
    /// Publish the data folder to object storage, for replicas
    Publish(publish::PublishArgs),
    /// Delete objects that no kept snapshot names from object storage
    Gc(gc::GcArgs),
    /// Restore a data folder from a backup
    Restore(restore::RestoreArgs),
    /// Print the script that completes commands in a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages of all commands
    Man(man::ManArgs),
    /// Print the version
    #[command(after_help = "Example:\n\n  toise version --json")]
    Version,
    /// Generate synthetic sales, diagnostics and adverts
    Synth(synth::SynthOptions),
}

impl Command {
    /// Returns whether the command reads a data folder that exists. The others create one, or need none.
    fn reads_folder(&self) -> bool {
        match self {
            Command::Import(_)
            | Command::Ingest(_)
            | Command::Demo(_)
            | Command::Serve(_)
            | Command::Refresh(_)
            | Command::Start(_)
            | Command::SqlProcess
            | Command::Restore(_)
            | Command::Synth(_)
            | Command::Portals(_)
            | Command::Webhook(_)
            | Command::Config(_)
            | Command::Gc(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Doctor(_)
            | Command::Version => false,
            Command::Sql(arguments) => arguments.reads_folder(),
            #[cfg(feature = "mcp")]
            Command::Mcp(arguments) => arguments.reads_folder(),
            #[cfg(feature = "cluster")]
            Command::Worker(arguments) => arguments.reads_folder(),
            Command::Accounts(arguments) => !arguments.creates(),
            Command::Keys(arguments) => !arguments.creates(),
            Command::Properties(_)
            | Command::Layers(_)
            | Command::Jobs(_)
            | Command::Reports(_)
            | Command::Explain(_)
            | Command::Geocode(_)
            | Command::Match(_)
            | Command::Market(_)
            | Command::Estimate(_)
            | Command::Rent(_)
            | Command::Portfolio(_)
            | Command::Report(_)
            | Command::Train(_)
            | Command::Evaluate(_)
            | Command::Check(_)
            | Command::Compact(_)
            | Command::Alerts(_)
            | Command::Audit(_)
            | Command::Backup(_)
            | Command::Erase(_)
            | Command::Publish(_) => true,
        }
    }
}

/// Parses the arguments of the process and runs the command.
pub fn main() -> ExitCode {
    if let Err(error) = toise_app::dumps::forbid_with_master_key() {
        eprintln!("warning: memory dumps of this process cannot be forbidden: {error}");
    }
    end_quietly_on_closed_output();
    let mut command_line = groups::grouped(Toise::command());
    let matches = command_line.clone().get_matches();
    let toise = match Toise::from_arg_matches(&matches) {
        Ok(toise) => toise,
        Err(error) => error.format(&mut command_line).exit(),
    };
    match run(&toise.common, toise.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            match error.downcast_ref::<PartialFailure>() {
                Some(_) => ExitCode::from(PARTIAL_FAILURE),
                None => ExitCode::FAILURE,
            }
        }
    }
}

/// Ends the process with exit code 0, instead of a panic, when `println!` finds that the reader of standard output,
/// such as a pager or `head`, has closed it. The standard library has no other way to tell.
fn end_quietly_on_closed_output() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if message.starts_with("failed printing to stdout: Broken pipe") {
            std::process::exit(0);
        }
        default(panic);
    }));
}

fn run(common: &Common, command: Command) -> CommandResult {
    if command.reads_folder() {
        common.existing_folder()?;
    }
    match command {
        Command::Import(arguments) => import::run(common, &arguments),
        Command::Refresh(arguments) => refresh::run(common, &arguments),
        Command::Start(arguments) => start::run(common, &arguments),
        Command::Ingest(arguments) => ingest::run(common, &arguments),
        Command::Properties(arguments) => properties::run(common, &arguments),
        Command::Portals(arguments) => portals::run(common, &arguments),
        Command::Layers(arguments) => layers::run(common, &arguments),
        Command::Jobs(arguments) => jobs::run(common, &arguments),
        Command::Reports(arguments) => reports::run(common, &arguments),
        Command::Explain(arguments) => explain::run(common, &arguments),
        Command::Demo(arguments) => demo::run(common, &arguments),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => mcp::run(common, &arguments),
        Command::Sql(arguments) => sql::run(common, &arguments),
        Command::Serve(arguments) => serve::run(common, &arguments),
        Command::SqlProcess => toise_app::sql_process::run(&common.data),
        #[cfg(feature = "cluster")]
        Command::Worker(arguments) => worker::run(common, &arguments),
        Command::Geocode(arguments) => geocode::run(common, &arguments),
        Command::Match(arguments) => matching::run(common, &arguments),
        Command::Market(arguments) => market::run(common, &arguments),
        Command::Estimate(arguments) => estimate::run(common, &arguments),
        Command::Rent(arguments) => rent::run(common, &arguments),
        Command::Portfolio(arguments) => portfolio::run(common, &arguments),
        Command::Report(arguments) => report::run(common, &arguments),
        Command::Train(arguments) => train::run(common, &arguments),
        Command::Evaluate(arguments) => evaluate::run(common, &arguments),
        Command::Doctor(arguments) => doctor::run(common, &arguments),
        Command::Check(arguments) => check::run(common, &arguments),
        Command::Compact(arguments) => compact::run(common, &arguments),
        Command::Accounts(arguments) => accounts::run(common, &arguments),
        Command::Alerts(arguments) => alerts::run(common, &arguments),
        Command::Webhook(arguments) => webhook::run(common, &arguments),
        Command::Keys(arguments) => keys::run(common, &arguments),
        Command::Audit(arguments) => audit::run(common, &arguments),
        Command::Config(arguments) => config::run(common, &arguments),
        Command::Backup(arguments) => backup::run(common, &arguments),
        Command::Erase(arguments) => erase::run(common, &arguments),
        Command::Publish(arguments) => publish::run(common, &arguments),
        Command::Gc(arguments) => gc::run(common, &arguments),
        Command::Restore(arguments) => restore::run(common, &arguments),
        Command::Completions(arguments) => completions::run(&arguments, Toise::command()),
        Command::Man(arguments) => man::run(&arguments, Toise::command()),
        Command::Version => {
            print_version(common.json);
            Ok(())
        }
        Command::Synth(options) => synth::run(common, &options),
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

    /// Maximum characters of a line that help prints as it is.
    const HELP_CHARS_MAX: usize = 124;

    #[test]
    fn the_help_of_every_command_shows_an_example() {
        let mut missing = Vec::new();
        let commands = Toise::command();
        let shown = commands
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        for command in shown {
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
    fn no_line_of_help_is_wider_than_a_terminal() {
        let mut wide = Vec::new();
        each_command(&Toise::command(), &mut |command| {
            let help = command.get_after_help().map(ToString::to_string);
            for line in help.iter().flat_map(|help| help.lines()) {
                if line.chars().count() > HELP_CHARS_MAX {
                    wide.push(line.to_owned());
                }
            }
        });
        assert!(wide.is_empty(), "{wide:#?}");
    }

    fn each_command(command: &clap::Command, visit: &mut impl FnMut(&clap::Command)) {
        visit(command);
        for inner in command.get_subcommands() {
            each_command(inner, visit);
        }
    }

    #[test]
    fn flags_and_commands_are_consistent() {
        Toise::command().debug_assert();
    }
}
