//! `toise-lab extraction`: reads saved pages of listings and compares each field with what people read on them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::show;
use toise_cli::{CommandResult, Common};
use toise_collect::evaluation::{self, ExtractionOptions, ExtractionReport, FieldScore, SiteHalf};
use toise_collect::portals::Portals;

/// Arguments of `extraction`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each line of the truth is a JSON object: the file of a page, its URL and site, and what the page states by path of the
advert; null if it does not state a field.

  {\"file\": \"12.html\", \"url\": \"https://portail.fr/12\", \"site\": \"portail.fr\",
   \"truth\": {\"currentPrice.value\": 350000, \"habitation.floor\": null}}

Example: judge on the half of the sites that rules were not made on

  toise-lab extraction --pages pages --truth truth.ndjson --half report")]
pub struct ExtractionArgs {
    /// Folder of saved pages
    #[arg(long, value_name = "DIR")]
    pages: PathBuf,
    /// File with the values that the pages state
    #[arg(long, value_name = "FILE.ndjson")]
    truth: PathBuf,
    /// Use only one half of the sites: the half that rules are developed on, or the half they are judged on
    #[arg(long)]
    half: Option<Half>,
    /// Number of missed, wrong or invented values to list
    #[arg(long, value_name = "N", default_value_t = 0)]
    mistakes: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Half {
    Tuning,
    Report,
}

/// Runs `extraction`.
pub fn run(common: &Common, arguments: &ExtractionArgs) -> CommandResult {
    let portals = Portals::load(&common.data)?;
    let options = ExtractionOptions {
        pages: arguments.pages.clone(),
        truth: arguments.truth.clone(),
        half: arguments.half.map(|half| match half {
            Half::Tuning => SiteHalf::Tuning,
            Half::Report => SiteHalf::Report,
        }),
        mistakes_max: arguments.mistakes,
    };
    let report = evaluation::run(&portals, &options)?;
    show(common, &report, print)
}

fn print(report: &ExtractionReport) {
    let mut table = toise_cli::table_of(
        "field|stated|found|right|wrong|invented|recall|precision|recall by site|precision by site",
    );
    for field in &report.fields {
        table.add_row(row(field));
    }
    table.align_right(1..);
    println!("{table}\n");
    println!(
        "{} pages of {} sites. Percentages; by site: the mean over sites, each counted once.",
        report.pages, report.sites
    );
    for (verdict, count) in &report.verdicts {
        println!("{count:>5} {verdict}");
    }
    if report.mistakes.is_empty() {
        return;
    }
    let mut table = toise_cli::table_of("page|field|stated|found|in");
    for mistake in &report.mistakes {
        table.add_row([
            mistake.file.clone(),
            mistake.field.clone(),
            mistake.truth.to_string(),
            mistake.found.to_string(),
            mistake.origin.unwrap_or_default().to_owned(),
        ]);
    }
    println!("\n{table}");
}

fn row(field: &FieldScore) -> Vec<String> {
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "–".to_owned(), |share| format!("{:.1}", 100.0 * share))
    };
    let counts = [
        field.stated, field.found, field.right, field.wrong, field.invented,
    ];
    let shares = [
        field.recall,
        field.precision,
        field.recall_by_site,
        field.precision_by_site,
    ];
    let cells = [field.field.clone()].into_iter();
    cells
        .chain(counts.map(|count| count.to_string()))
        .chain(shares.map(percent))
        .collect()
}
