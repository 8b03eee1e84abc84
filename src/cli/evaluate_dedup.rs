//! `toise evaluate dedup`: measures the merges of the data folder's own adverts (`store`), of adverts that people
//! judged in pairs (`pairs`), or of synthetic adverts with known assets.

mod ingestion;
mod pairs;
mod store;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table};
use indicatif::ProgressBar;
use serde::Serialize;

use self::ingestion::IngestedGroupings;
use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::InseeCode;
use toise_lab::dedup::fit::{FittedWeights, WeightFitter};
use toise_lab::dedup::{self, DedupOutcome, Grouping, Mistake};
use toise_lab::synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity, MarketGenerator};
use toise_lab::synth::communes;
use toise_listings::Listings;
use toise_store::Store;

/// Arguments of `evaluate dedup`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without options, measures the adverts of the data folder, which have no labels: properties by number of
adverts, merged pairs that contradict each other, probabilities checked against a field that the comparison did not see,
an estimate of wrong merges, and a page of merges to read.

Examples:

  toise evaluate dedup --sample 20
  toise evaluate dedup --synthetic --adverts 20000
  toise evaluate dedup --pairs benches/adverts/labels.csv --mistakes 20")]
pub struct DedupArgs {
    /// Number of merges to draw at random and print
    #[arg(long, value_name = "N", default_value_t = 10)]
    sample: usize,
    /// Seed of the merges drawn, or of the synthetic adverts
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Measure synthetic adverts whose assets are known, instead of those of the data folder
    #[arg(long)]
    synthetic: bool,
    /// Synthetic adverts at each level, in few enough communes to be as dense as in the whole market
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20_000,
        requires = "synthetic"
    )]
    adverts: u64,
    /// Run one noise level instead of all
    #[arg(long, value_enum, value_name = "LEVEL", requires = "synthetic")]
    level: Option<NoiseLevel>,
    /// Also print N wrong decisions with their evidence, wrong joins first
    #[arg(long, value_name = "N", default_value_t = 0)]
    mistakes: usize,
    /// Run the full ingestion of every sighting into a temporary store and rebuild its properties, instead of the
    /// scorer alone
    #[arg(long, conflicts_with = "mistakes", requires = "synthetic")]
    ingested: bool,
    /// Judge the adverts of the data folder by pairs that people read: columns left, right (first 24 digits of the
    /// SHA-256 digests of both addresses), verdict (same, different, cannot_tell), and split (tune or report)
    #[arg(long, value_name = "FILE.csv", conflicts_with = "synthetic")]
    pairs: Option<PathBuf>,
    /// Estimate the weights from the unlabelled adverts of the data folder, and from the tuning pairs of --pairs, and
    /// print them next to the weights in use
    #[arg(long, conflicts_with = "synthetic")]
    fit: bool,
    /// With --fit, weight of a pair that people read, relative to an unlabelled pair of the data folder
    #[arg(long, value_name = "W", default_value_t = 50.0)]
    pair_weight: f64,
}

/// A noise level, as a command-line argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NoiseLevel {
    /// Portals copy what the seller wrote
    Clean,
    /// Areas rounded, some positions blurred, few fields omitted
    Light,
    /// Texts shortened or rewritten, pictures recompressed, prices outdated, second agencies
    Middle,
    /// Half of all fields missing or wrong
    Heavy,
    /// As on real portals: several agencies on one portal, thin adverts, towns for positions, lots alike
    Market,
    /// One dense city, adverts of price, surface, rooms, district and energy class alone, as measured on real ones
    Thin,
}

impl From<NoiseLevel> for DistortionLevel {
    fn from(level: NoiseLevel) -> Self {
        match level {
            NoiseLevel::Clean => DistortionLevel::Clean,
            NoiseLevel::Light => DistortionLevel::Light,
            NoiseLevel::Middle => DistortionLevel::Middle,
            NoiseLevel::Heavy => DistortionLevel::Heavy,
            NoiseLevel::Market => DistortionLevel::Market,
            NoiseLevel::Thin => DistortionLevel::Thin,
        }
    }
}

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

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

/// Runs `evaluate dedup`.
pub fn run(common: &Common, arguments: &DedupArgs) -> CommandResult {
    if arguments.fit {
        return fit(common, arguments);
    }
    if let Some(pairs) = &arguments.pairs {
        let report = pairs::judge(&listings(common)?, pairs)?;
        if common.json {
            println!("{}", serde_json::to_string(&report)?)
        } else {
            report.print(arguments.mistakes)
        }
        return Ok(());
    }
    if !arguments.synthetic {
        return store::run(common, &listings(common)?, arguments.sample, arguments.seed);
    }
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
    if common.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print(&report);
    }
    Ok(())
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

fn ingested(
    adverts: u64,
    seed: u64,
    level: DistortionLevel,
) -> Result<DedupMeasurement, BoxedError> {
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
    let bar = ProgressBar::new(synth.blocks()).with_message(level.name());
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

/// Opens the adverts of the data folder.
fn listings(common: &Common) -> Result<Listings, BoxedError> {
    Ok(common.listings(Store::open(&common.data)?, Clock::system())?)
}

fn fit(common: &Common, arguments: &DedupArgs) -> CommandResult {
    let listings = listings(common)?;
    let mut fit = WeightFitter::default();
    listings.for_each_pair_around(Progress::new(common.json), |comparison| {
        fit.add(comparison, None, 1.0);
    })?;
    if let Some(pairs) = &arguments.pairs {
        pairs::add_to_fit(&listings, pairs, arguments.pair_weight, &mut fit)?;
    }
    let fitted = fit.fit();
    if common.json {
        println!("{}", serde_json::to_string(&fitted)?);
    } else {
        print_fitted(&fitted);
    }
    Ok(())
}

/// Builds the table of a report, one row per noise level.
fn table_of(report: &DedupReport) -> Table {
    let mut table = crate::table();
    table.set_header([
        "level",
        "adverts",
        "assets",
        "properties",
        "precision",
        "recall",
        "purity",
        "pure",
        "blocking",
        "candidates",
        "most",
        "bytes",
        "s",
    ]);
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
        let mut row = of_grouping(level.level.name().to_owned(), level.judged.grouping());
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
            let name = format!("{}, rebuilt", level.level.name());
            table.add_row(of_grouping(name, &groupings.rebuilt));
        }
    }
    align(&mut table);
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
        level.name(),
        missed.not_met + missed.barred + missed.unsure + missed.outweighed,
        outcome.returning,
        missed.not_met,
        missed.barred,
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
        if let Some(bar) = comparison.bar {
            print!(", vetoed ({bar:?})");
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

fn print_fitted(fitted: &FittedWeights) {
    let mut table = crate::table();
    table.set_header([
        "field",
        "seller",
        "level",
        "one asset",
        "two assets",
        "ratio",
        "fitted",
        "current",
    ]);
    for field in &fitted.fields {
        for level in &field.levels {
            table.add_row([
                field.field.to_owned(),
                if level.one_seller { "one" } else { "others" }.to_owned(),
                level.about.to_owned(),
                format!("{:.0}", level.same),
                format!("{:.0}", level.different),
                format!("{:.1}", level.ratio_bits),
                format!("{:.1}", level.fitted_bits),
                format!("{:.1}", level.bits_in_use),
            ]);
        }
    }
    align(&mut table);
    println!("{table}");
    println!(
        "{:.0} pairs of one asset are expected, {:.0} of two.\n\
         ratio: binary logarithm of the ratio of both frequencies, the right weight if fields were independent; fitted: the \
         same, at most two bits from the weight in use.",
        fitted.same, fitted.different
    );
}

fn align(table: &mut Table) {
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
