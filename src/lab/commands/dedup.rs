//! `toise-lab dedup`: measures deduplication on synthetic adverts with known assets.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;

use super::ingestion::{self, IngestedGroupings};
use super::show;
use crate::dedup::{self, DedupOutcome, Grouping, Mistake};
use toise_cli::result::Failure;
use toise_cli::synth::NoiseLevel;
use toise_cli::{CommandResult, Common, FittedTable};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::InseeCode;
use toise_synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity, MarketGenerator};
use toise_synth::communes;

/// Arguments of `dedup`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:

  toise-lab dedup --adverts 20000
  toise-lab dedup --ingested --level thin --seed 2")]
pub struct DedupArgs {
    /// Seed of the synthetic adverts
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Adverts at each level, in few enough communes to be as dense as in the whole market
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    adverts: u64,
    /// Run one noise level instead of all
    #[arg(long, value_enum, value_name = "LEVEL")]
    level: Option<NoiseLevel>,
    /// Also print N wrong decisions with their evidence, wrong joins first
    #[arg(long, value_name = "N", default_value_t = 0)]
    mistakes: usize,
    /// Run the full ingestion of every sighting into a temporary store and rebuild its properties, instead of the
    /// scorer alone
    #[arg(long, conflicts_with = "mistakes")]
    ingested: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DedupLevelResult {
    level: DistortionLevel,
    seconds: f64,
    #[serde(flatten)]
    judged: DedupMeasurement,
}

/// Measurement at a noise level.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum DedupMeasurement {
    /// Of the scorer alone.
    Scorer {
        #[serde(flatten)]
        outcome: Box<DedupOutcome>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        mistakes: Vec<Mistake>,
    },
    /// Of the full ingestion.
    Ingestion(IngestedGroupings),
}

impl DedupMeasurement {
    fn grouping(&self) -> &Grouping {
        match self {
            Self::Scorer { outcome, .. } => &outcome.grouping,
            Self::Ingestion(groupings) => &groupings.ingested,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DedupReport {
    adverts: u64,
    seed: u64,
    levels: Vec<DedupLevelResult>,
}

/// Runs `dedup`.
pub fn run(common: &Common, arguments: &DedupArgs) -> CommandResult {
    let levels: Vec<DistortionLevel> = match arguments.level {
        Some(level) => vec![level.into()],
        None => DistortionLevel::ALL.to_vec(),
    };
    let mut results = Vec::new();
    for level in levels {
        let started = Instant::now();
        let judged = if arguments.ingested {
            ingested(arguments.adverts, arguments.seed, level)?
        } else {
            scored(arguments, level)
        };
        results.push(DedupLevelResult {
            level,
            seconds: started.elapsed().as_secs_f64(),
            judged,
        });
    }
    let report = DedupReport {
        adverts: arguments.adverts,
        seed: arguments.seed,
        levels: results,
    };
    show(common, &report, print)
}

fn scored(arguments: &DedupArgs, level: DistortionLevel) -> DedupMeasurement {
    let mut market = dedup::DedupSimulation::default();
    observe(arguments.adverts, arguments.seed, level, &mut market);
    let mistakes = market.mistakes().take(arguments.mistakes);
    DedupMeasurement::Scorer {
        outcome: Box::new(market.outcome()),
        mistakes: mistakes.cloned().collect(),
    }
}

fn ingested(adverts: u64, seed: u64, level: DistortionLevel) -> Result<DedupMeasurement, Failure> {
    let (synth, bar) = market(adverts, seed, level);
    let groupings = ingestion::grouping(&synth, || bar.inc(1))?;
    bar.finish_and_clear();
    Ok(DedupMeasurement::Ingestion(groupings))
}

/// Creates the generator of the adverts of a level, and a progress bar for their blocks.
fn market(adverts: u64, seed: u64, level: DistortionLevel) -> (MarketGenerator, ProgressBar) {
    let synth = MarketGenerator::new(AdvertsRequest {
        spread: MarketDensity::Dense,
        ..AdvertsRequest::new(adverts, seed, level)
    });
    let bar = ProgressBar::new(synth.blocks()).with_message(level.as_str());
    (synth, bar)
}

fn observe(adverts: u64, seed: u64, level: DistortionLevel, judge: &mut dedup::DedupSimulation) {
    let (synth, bar) = market(adverts, seed, level);
    for block in 0..synth.blocks() {
        for mut observation in synth.block(block) {
            complete(&mut observation.advert);
            judge.observe(&observation.advert, observation.asset);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
}

/// Adds the INSEE code that ingestion derives from city and department before the comparison.
fn complete(advert: &mut Advert) {
    static CODES: LazyLock<HashMap<(&str, &str), &str>> = LazyLock::new(|| {
        let places = communes::all().iter();
        places
            .map(|place| ((place.department, place.name), place.insee))
            .collect()
    });
    let Some(location) = &mut advert.location else {
        return;
    };
    if let (None, Some(department), Some(city)) =
        (&location.insee_code, &location.department, &location.city)
    {
        let code = CODES.get(&(department.as_str(), city.as_str()));
        location.insee_code = code.and_then(|code| InseeCode::parse(code));
    }
}

/// Builds the table of a report, one row per noise level.
fn table_of(report: &DedupReport) -> FittedTable {
    let mut table = toise_cli::table_of(
        "level|adverts|assets|properties|precision|recall|purity|pure|blocking|candidates|most|bytes|s",
    );
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let of_grouping = |name: String, grouping: &Grouping| {
        vec![
            name,
            grouping.adverts.to_string(),
            grouping.assets.to_string(),
            grouping.properties.to_string(),
            percent(grouping.precision),
            percent(grouping.recall),
            percent(grouping.purity),
            percent(grouping.pure_properties),
        ]
    };
    for level in &report.levels {
        let mut row = of_grouping(level.level.as_str().to_owned(), level.judged.grouping());
        row.extend(match &level.judged {
            DedupMeasurement::Scorer { outcome, .. } => [
                percent(outcome.blocking_recall),
                format!("{:.1}", outcome.candidates_mean),
                outcome.candidates_max.to_string(),
                format!("{:.0}", outcome.encoded_bytes_mean),
            ],
            DedupMeasurement::Ingestion(_) => std::array::from_fn(|_| "-".to_owned()),
        });
        row.push(format!("{:.1}", level.seconds));
        table.add_row(row);
        if let DedupMeasurement::Ingestion(groupings) = &level.judged {
            let name = format!("{}, rebuilt", level.level.as_str());
            table.add_row(of_grouping(name, &groupings.rebuilt));
        }
    }
    table.align_right(2..);
    table
}

fn print(report: &DedupReport) {
    println!("{}", table_of(report));
    for level in &report.levels {
        if let DedupMeasurement::Scorer { outcome, mistakes } = &level.judged {
            print_missed(level.level, outcome, mistakes);
        }
    }
    println!(
        "Percentages: precision and recall of pairs of adverts; purity: adverts of their property's most frequent asset; \
         pure: properties of one asset; blocking: adverts of a known asset with one of its adverts among the candidates.\n\
         Seed {}.",
        report.seed
    );
}

fn print_missed(level: DistortionLevel, outcome: &DedupOutcome, mistakes: &[Mistake]) {
    let missed = &outcome.missed;
    println!(
        "{}: {} of {} adverts of known assets joined none of theirs ({} not among the candidates, {} vetoed, {} unsure, \
         {} outweighed); {} joined another asset.",
        level.as_str(),
        missed.not_met + missed.vetoed + missed.unsure + missed.outweighed,
        outcome.returning,
        missed.not_met,
        missed.vetoed,
        missed.unsure,
        missed.outweighed,
        outcome.wrongly_joined,
    );
    for mistake in mistakes {
        let comparison = &mistake.comparison;
        let kind = if mistake.same {
            "missed"
        } else {
            "wrongly joined"
        };
        print!(
            "  {kind} {} and {}: {:.1} bits",
            mistake.new, mistake.known, comparison.bits
        );
        if let Some(veto) = comparison.veto {
            print!(", vetoed ({veto:?})");
        }
        for evidence in comparison.evidence.iter() {
            print!(
                "; {:?} {} {:+.1}",
                evidence.field,
                evidence.about(),
                evidence.bits
            );
        }
        println!();
    }
}
