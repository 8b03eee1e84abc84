//! `toise refresh`: imports what the official sources have published since the last time.

use std::time::Instant;

use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use super::import::department;
use super::result::{Failure, PartialFailure, listed_codes};
use super::sources::PlaceArgs;
use super::{CommandResult, Common, FittedTable};
use toise_app::refresh::{
    Action, Outcome, Plan, RefreshOptions, Refresher, SourceOutcome, Training, held_departments,
};
use toise_base::progress::Progress;
use toise_lake::settings::departments;

/// Arguments of `refresh`.
#[derive(Args, Debug)]
#[command(after_help = "\
Asks each source which editions it has, and fetches and imports only what is new: addresses, sales, then diagnostics.
Then it trains a model if sales changed. If a source fails, its data does not change, and the others continue.

Exits with 3 if a part of it failed, and with 1 if all of it did.

Examples:
  toise refresh --dry-run
  toise refresh --departments 48,12
  toise refresh --kib-per-s 2000 --json")]
pub struct RefreshArgs {
    /// Departments, separated by commas [default: refresh.departments, otherwise the departments in the data folder]
    #[arg(long, value_delimiter = ',', value_parser = department, value_name = "CODES")]
    departments: Vec<String>,
    /// Show what is new, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    fetching: FetchingArgs,
}

/// Arguments of `refresh` and `start` about what is fetched, and how.
#[derive(Args, Clone, Debug)]
pub(super) struct FetchingArgs {
    /// Maximum rate of downloads, in KiB per second [default: refresh.kib_per_s_max, otherwise no maximum]
    #[arg(long, value_name = "N")]
    kib_per_s: Option<u64>,
    /// Skip training
    #[arg(long)]
    no_model: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

impl FetchingArgs {
    /// Returns how to refresh.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub(super) fn options(
        &self,
        common: &Common,
    ) -> Result<RefreshOptions, toise_app::config::Error> {
        let config = common.configuration(Vec::new())?.config;
        let kib_per_s = self.kib_per_s.unwrap_or(config.refresh.kib_per_s_max);
        Ok(RefreshOptions {
            places: self.places.places(),
            keep_versions: config.lake.keep_versions,
            bytes_per_s_max: (kib_per_s > 0).then_some(kib_per_s << 10),
            training: if self.no_model {
                Training::Never
            } else {
                Training::IfSalesChanged
            },
            progress: Progress::new(common.json),
        })
    }
}

/// Runs `refresh`.
pub fn run(common: &Common, arguments: &RefreshArgs) -> CommandResult {
    let started = Instant::now();
    let codes = wanted(common, &arguments.departments)?;
    let refresher = Refresher::start(&common.data, arguments.fetching.options(common)?)?;
    let plan = refresher.plan(&codes)?;
    if !common.json {
        println!(
            "departments: {}\n{}",
            listed_codes(&codes),
            plan_table(&plan)
        );
        for note in plan.sources.iter().flat_map(|source| &source.notes) {
            println!("note: {note}");
        }
    }
    if arguments.dry_run {
        return show_plan(common, &plan);
    }
    let outcome = refresher.run(&plan, &mut |_| {})?;
    let failures = outcome.failures();
    if common.json {
        let mut result = serde_json::to_value(&outcome)?;
        result["failures"] = json!(failures);
        result["seconds"] = json!(started.elapsed().as_secs_f64());
        println!("{result}");
    } else {
        print_outcome(&outcome);
    }
    verdict(&failures, outcome.has_only_failures())
}

/// Returns the departments to refresh.
fn wanted(common: &Common, named: &[String]) -> Result<Vec<String>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let settings = common.configuration(Vec::new())?.config.refresh;
    let mut codes = departments(&settings.departments).unwrap_or_default();
    if codes.is_empty() {
        codes = held_departments(&common.data)?;
    }
    if codes.is_empty() {
        return Err("the data folder holds no open data; name --departments: toise refresh --departments 48".into());
    }
    Ok(codes)
}

fn show_plan(common: &Common, plan: &Plan) -> CommandResult {
    let failures = plan.sources.iter().flat_map(|source| {
        let failures = source.failures.iter();
        failures.map(|failure| format!("{}: {failure}", source.table))
    });
    let failures: Vec<String> = failures.collect();
    if common.json {
        let mut sources = serde_json::to_value(&plan.sources)?;
        for (value, source) in sources
            .as_array_mut()
            .into_iter()
            .flatten()
            .zip(&plan.sources)
        {
            value["action"] = json!(source.action());
        }
        let result = json!({"departments": plan.departments, "sources": sources, "bytes": plan.bytes(),
            "failures": failures});
        println!("{result}");
    }
    let has_only_failures = plan
        .sources
        .iter()
        .all(|source| source.action() == Action::Failed);
    verdict(&failures, has_only_failures)
}

/// Fails if something failed, with another exit code if only a part failed.
fn verdict(failures: &[String], has_only_failures: bool) -> CommandResult {
    if failures.is_empty() {
        return Ok(());
    }
    let message = failures.join("\nerror: ");
    if has_only_failures {
        return Err(message.into());
    }
    Err(Box::new(PartialFailure(message)))
}

/// Formats what the sources have.
pub(super) fn plan_table(plan: &Plan) -> FittedTable {
    let mut table = crate::table_of("source|held|available|new|download|action");
    for source in &plan.sources {
        let unit = match (source.table, source.new) {
            ("dpe", 1) => "row",
            ("dpe", _) => "rows",
            (_, 1) => "file",
            _ => "files",
        };
        let none = || "-".to_owned();
        let (new, size) = match source.new {
            0 => (none(), none()),
            new => (
                format!("{} {unit}", HumanCount(new)),
                HumanBytes(source.bytes).to_string(),
            ),
        };
        table.add_row([
            name(source.table).to_owned(),
            source.held.clone().unwrap_or_else(none),
            source.available.clone().unwrap_or_else(none),
            new,
            size,
            action(source.action()).to_owned(),
        ]);
    }
    table.align_right(3..=4);
    table
}

fn action(action: Action) -> &'static str {
    match action {
        Action::Current => "none: all is held",
        Action::Import => "import",
        Action::Unpublished => "none: not published",
        Action::Failed => "none: the source failed",
    }
}

/// Returns what a table holds, in words.
fn name(table: &str) -> &str {
    match table {
        "ban" => "addresses",
        "dvf" => "sales",
        "dpe" => "diagnostics",
        other => other,
    }
}

/// Formats what was done about a source, in one line.
pub(super) fn line_of(source: &SourceOutcome) -> String {
    let changes = &source.changes;
    let mut line = format!(
        "{}: {} added, {} replaced, {} removed",
        name(source.plan.table),
        HumanCount(changes.added),
        HumanCount(changes.replaced),
        HumanCount(changes.removed)
    );
    if source.withdrawn > 0 {
        line.push_str(&format!(
            " ({} withdrawn by the source)",
            HumanCount(source.withdrawn)
        ));
    }
    if source.placed > 0 {
        line.push_str(&format!(
            "; {} stored sales placed by their address",
            HumanCount(source.placed)
        ));
    }
    line
}

/// Formats what was done about the model; `None` if nothing was.
pub(super) fn model_line(outcome: &Outcome) -> Option<String> {
    let model = outcome.model.as_ref()?;
    let note = model.note.as_deref().map(|note| format!("; {note}"));
    let note = note.unwrap_or_default();
    Some(match &model.version {
        Some(version) => format!(
            "model: {version} is trained on {} sales{note}",
            HumanCount(model.sales)
        ),
        None => format!("model: none trained{note}"),
    })
}

fn print_outcome(outcome: &Outcome) {
    let sources = outcome.sources.iter();
    for source in sources.filter(|source| source.changed_anything()) {
        println!("{}", line_of(source));
        for report in &source.reports {
            println!("  report: {}", report.display());
        }
    }
    if let Some(line) = model_line(outcome) {
        println!("{line}");
    }
}
