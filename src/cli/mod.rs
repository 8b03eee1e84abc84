//! The command line: one file per command. Results go to standard output, progress and messages to standard error.

mod check;
mod compact;
pub mod demo;
pub mod evaluate;
pub mod import;
pub mod keys;
pub mod matching;
pub mod serve;
mod sql;
mod synth;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// What a command ends with; the message is printed after `error:` and the exit code is 1.
pub type CommandResult = Result<(), Box<dyn Error + Send + Sync>>;

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
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Import recorded sales or diagnostics, from files or the official sources
    Import(import::ImportArgs),
    /// Make a lake of invented data on the first run, serve it and print how to ask
    Demo(demo::DemoArgs),
    /// Serve the API over HTTP
    Serve(serve::ServeArgs),
    /// Ask the tables in SQL, read-only
    Sql(sql::SqlArgs),
    /// Match a portfolio of dwellings or sales in bulk
    Match(matching::MatchArgs),
    /// Measure how good the answers are on the records of the lake
    Evaluate(evaluate::EvaluateArgs),
    /// Read the whole lake and verify every byte of it
    Check(check::CheckArgs),
    /// Merge the files that imports left, for faster answers
    Compact(compact::CompactArgs),
    /// Make, list and revoke API keys
    Keys(keys::KeysArgs),
    /// Print the version
    Version,
    /// Make up sales and diagnostics in the official file formats
    Synth(synth::SynthOptions),
}

/// Parses the arguments of the process and runs the command.
pub fn main() -> ExitCode {
    let toise = Toise::parse();
    let common = &toise.common;
    let result: CommandResult = match toise.command {
        Command::Import(arguments) => import::run(common, &arguments),
        Command::Demo(arguments) => demo::run(common, &arguments),
        Command::Sql(arguments) => sql::run(common, &arguments),
        Command::Serve(arguments) => serve::run(common, &arguments),
        Command::Match(arguments) => matching::run(common, &arguments),
        Command::Evaluate(arguments) => evaluate::run(common, &arguments),
        Command::Check(arguments) => check::run(common, &arguments),
        Command::Compact(arguments) => compact::run(common, &arguments),
        Command::Keys(arguments) => keys::run(common, &arguments),
        Command::Version => {
            println!("toise {}", env!("CARGO_PKG_VERSION"));
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
