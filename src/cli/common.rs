//! Options that every command accepts, and the configuration, listings and memory budget that commands create from
//! them.

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::result::{CommandResult, Failure};
use toise_app::DEFAULT_DATA;
use toise_app::compose::configured_listings;
use toise_app::config::{ConfigSources, EffectiveConfig, Flag};
use toise_base::clock::Clock;
use toise_base::formula::Formulas;
use toise_engine::Budget;
use toise_lake::Lake;
use toise_listings::Listings;
use toise_store::Store;

/// Options that every command accepts.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Data folder
    #[arg(
        long,
        global = true,
        default_value = DEFAULT_DATA,
        value_name = "DIR",
        env = "TOISE_DATA"
    )]
    pub data: PathBuf,
    /// Configuration file [default: toise.toml in the data folder, if it exists]
    #[arg(long, global = true, value_name = "FILE", env = "TOISE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// The option of commands that write CSV.
#[derive(Args, Clone, Copy, Debug)]
pub struct CsvArgs {
    /// In CSV, put an apostrophe in front of cells that a spreadsheet would run as formulas
    #[arg(long)]
    pub safe_csv: bool,
}

impl CsvArgs {
    /// Returns what happens to formulas.
    pub fn formulas(self) -> Formulas {
        if self.safe_csv {
            Formulas::Escaped
        } else {
            Formulas::Kept
        }
    }
}

/// The option of commands that read files made by other programs.
#[derive(Args, Clone, Debug)]
pub struct MissingArgs {
    /// Further texts that mean an empty cell, separated by commas, in addition to NA, NULL, n.c., - and the like
    #[arg(long, value_name = "TEXTS", value_delimiter = ',')]
    missing: Vec<String>,
}

impl MissingArgs {
    /// Applies it to all files that the command reads. To be called once, before the first of them is opened.
    ///
    /// # Errors
    /// A text is empty, or there are too many.
    pub fn apply(&self) -> Result<(), String> {
        toise_input::missing::add(&self.missing).map_err(|reason| format!("--missing: {reason}"))
    }
}

impl Common {
    /// Checks that the data folder exists, for commands that read it: a mistyped path must fail rather than look like a
    /// folder without rows.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn existing_folder(&self) -> Result<(), String> {
        if self.data.is_dir() {
            return Ok(());
        }
        Err(format!(
            "no data folder at {}: --data DIR or TOISE_DATA names another; to make one with invented data: toise demo; \
             with open data: toise start --departments 48",
            self.data.display()
        ))
    }

    /// Prints a result: as JSON if requested, otherwise as a line of text.
    pub(crate) fn print_result(&self, result: Value, text: String) {
        if self.json {
            println!("{result}");
        } else {
            println!("{text}");
        }
    }

    /// Prints a result: as JSON if requested, otherwise with `print`.
    pub(crate) fn show(&self, result: &impl Serialize, print: impl FnOnce()) -> CommandResult {
        if self.json {
            println!("{}", serde_json::to_string(result)?);
        } else {
            print();
        }
        Ok(())
    }

    /// Opens the tables of the data folder.
    ///
    /// # Errors
    /// Nothing was imported yet, or the folder cannot be read.
    pub(crate) fn lake(&self) -> Result<Lake, Failure> {
        match Lake::open_existing(&self.data) {
            Err(toise_lake::Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                let data = self.data.display();
                let message = "holds no tables; import the open data of a department";
                Err(format!("{data} {message}: toise start --departments 48").into())
            }
            opened => Ok(opened?),
        }
    }

    /// Loads the configuration in effect, including the values set by flags.
    ///
    /// # Errors
    /// The file cannot be read, a file, environment variable or flag has an unknown key or an invalid value, or
    /// settings contradict each other.
    pub fn configuration(
        &self,
        flags: Vec<Flag>,
    ) -> Result<EffectiveConfig, toise_app::config::Error> {
        let sources = ConfigSources {
            file: self.config.clone(),
            flags,
            ..ConfigSources::from_process()
        };
        EffectiveConfig::load(&self.data, &sources)
    }

    /// Opens the adverts and properties of a store with the configured thresholds for merges.
    ///
    /// # Errors
    /// As for [`Common::configuration`].
    pub fn listings(
        &self,
        store: Store,
        clock: Clock,
    ) -> Result<Listings, toise_app::config::Error> {
        let configuration = self.configuration(Vec::new())?;
        Ok(configured_listings(store, clock, &configuration.config))
    }

    /// Returns the memory budget of the configuration.
    ///
    /// # Errors
    /// As for [`Common::configuration`].
    pub fn budget(&self) -> Result<Budget, toise_app::config::Error> {
        let configuration = self.configuration(Vec::new())?;
        Ok(Budget::from(&configuration.config.engine))
    }
}
