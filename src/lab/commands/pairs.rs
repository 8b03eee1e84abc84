//! Judges the properties of a data folder by pairs of adverts that people read to decide whether both show one asset.
//!
//! The file of pairs names adverts by digests of their addresses, so it can be published without the adverts, and
//! anyone who has the same adverts can reproduce the figures.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{listings, show};
use crate::dedup::fit::WeightFitter;
use toise_cli::result::Failure;
use toise_cli::{CommandResult, Common, FittedTable};
use toise_dedup::weights::ComparedField;
use toise_dedup::{Comparison, DedupVerdict};
use toise_listings::Listings;
use toise_listings::placement::explain::Explanation;

/// Number of hexadecimal digits of the SHA-256 digest of its address that identify an advert.
const DIGEST_DIGITS: usize = 24;

/// Arguments of `pairs`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n\n  toise-lab pairs benches/adverts/labels.csv --mistakes 20")]
pub struct PairsArgs {
    /// Pairs of adverts that people read: columns left, right (first 24 digits of the SHA-256 digests of both
    /// addresses), verdict (same, different, cannot_tell), and split (tune or report)
    #[arg(value_name = "FILE.csv")]
    pairs: PathBuf,
    /// Also print N wrong decisions with their evidence, wrong joins first
    #[arg(long, value_name = "N", default_value_t = 0)]
    mistakes: usize,
}

/// Runs `pairs`.
pub fn run(common: &Common, arguments: &PairsArgs) -> CommandResult {
    let report = judge(&listings(common)?, &arguments.pairs)?;
    show(common, &report, |report| report.print(arguments.mistakes))
}

/// A person's decision on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reading {
    Same,
    Different,
    CannotTell,
}

/// A line of the file of pairs. Further columns are ignored.
#[derive(Debug, Deserialize)]
struct ReadPair {
    /// First digits of the SHA-256 digest of the address of one advert.
    left: String,
    right: String,
    verdict: Reading,
    /// Whether the pair was used to fit weights (`tune`) or only to report (`report`).
    #[serde(default)]
    split: String,
    #[serde(default)]
    stratum: String,
}

/// Counts of the pairs of a kind, by the person's decision and by toise's.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PairCounts {
    /// Of one asset, in one property.
    same_together: u64,
    /// Of one asset, in two properties.
    same_apart: u64,
    /// Of two assets, in one property.
    different_together: u64,
    /// Of two assets, in two properties.
    different_apart: u64,
}

impl PairCounts {
    fn add(&mut self, is_same: bool, is_together: bool) {
        *match (is_same, is_together) {
            (true, true) => &mut self.same_together,
            (true, false) => &mut self.same_apart,
            (false, true) => &mut self.different_together,
            (false, false) => &mut self.different_apart,
        } += 1;
    }

    fn precision(&self) -> f64 {
        share(self.same_together, self.different_together)
    }

    fn recall(&self) -> f64 {
        share(self.same_together, self.same_apart)
    }
}

fn share(part: u64, rest: u64) -> f64 {
    part as f64 / (part + rest).max(1) as f64
}

/// A pair that a person decided, with toise's decision.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JudgedPair {
    left: Option<String>,
    right: Option<String>,
    is_same: bool,
    is_together: bool,
    split: String,
    stratum: String,
    /// Verdict on these two adverts alone.
    verdict: DedupVerdict,
    comparison: Comparison,
}

/// Result of judging a data folder by the pairs of a file.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PairReport {
    /// Counts by split and kind of pair.
    groups: BTreeMap<String, PairCounts>,
    /// Pairs that people could not decide.
    undecided: u64,
    /// Pairs with an advert that is not in the data folder.
    missing: u64,
    pairs: Vec<JudgedPair>,
}

/// Reads the pairs whose adverts are both in the data folder, with their explanations. Also returns the number of the
/// other pairs.
fn known_pairs(
    listings: &Listings,
    path: &Path,
) -> Result<(Vec<(ReadPair, Explanation)>, u64), Failure> {
    let mut addresses = HashMap::new();
    listings.for_each_address(|address| {
        let digest = hex(address);
        addresses.insert(digest, address.to_owned());
    })?;
    let mut reader = csv::Reader::from_path(path)?;
    let (mut pairs, mut missing) = (Vec::new(), 0);
    for pair in reader.deserialize() {
        let pair: ReadPair = pair?;
        let address = |digest: &str| addresses.get(digest.get(..DIGEST_DIGITS)?);
        match (address(&pair.left), address(&pair.right)) {
            (Some(left), Some(right)) => {
                let explanation = listings.explain(left, right)?;
                pairs.push((pair, explanation));
            }
            _ => missing += 1,
        }
    }
    Ok((pairs, missing))
}

fn hex(address: &str) -> String {
    let digest = Sha256::digest(address.as_bytes());
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    digits.take(DIGEST_DIGITS / 2).collect()
}

/// Judges the properties of a data folder by the pairs of a file.
///
/// # Errors
/// The file cannot be read or is not a file of pairs, or the store cannot be read.
pub(super) fn judge(listings: &Listings, path: &Path) -> Result<PairReport, Failure> {
    let (pairs, missing) = known_pairs(listings, path)?;
    let mut report = PairReport {
        missing,
        ..PairReport::default()
    };
    for (pair, explanation) in pairs {
        if pair.verdict == Reading::CannotTell {
            report.undecided += 1;
            continue;
        }
        let is_same = pair.verdict == Reading::Same;
        for kind in kinds(&explanation) {
            let group = format!("{} {kind}", pair.split);
            let counts = report.groups.entry(group).or_default();
            counts.add(is_same, explanation.together);
        }
        let [left, right] = explanation.adverts;
        report.pairs.push(JudgedPair {
            left: left.url,
            right: right.url,
            is_same,
            is_together: explanation.together,
            split: pair.split,
            stratum: pair.stratum,
            verdict: explanation.verdict,
            comparison: explanation.comparison,
        });
    }
    Ok(report)
}

/// Returns the kinds that a pair counts as: all, with position or text in both adverts, one or two portals, and the
/// names of the portals.
fn kinds(explanation: &Explanation) -> Vec<String> {
    let portals = explanation.adverts.each_ref().map(|advert| {
        let source = advert.source.as_deref().unwrap_or("unknown");
        source.trim_start_matches("www.").to_owned()
    });
    let comparison = &explanation.comparison;
    let is_placed = comparison
        .level(ComparedField::Place)
        .is_some_and(|level| level < 5);
    let is_described = comparison.level(ComparedField::Text).is_some();
    let mut kinds = vec!["all".to_owned()];
    if is_placed || is_described {
        kinds.push("both with position or text".to_owned());
    }
    let [one, other] = portals;
    kinds.push(if one == other {
        "one portal".to_owned()
    } else {
        "two portals".to_owned()
    });
    let (first, second) = (one.clone().min(other.clone()), one.max(other));
    kinds.push(format!("{first}, {second}"));
    kinds
}

/// Adds the decided pairs that are not reserved for reporting to a weight fitter. Returns their number.
///
/// # Errors
/// As for [`judge`].
pub(super) fn add_to_fit(
    listings: &Listings,
    path: &Path,
    weight: f64,
    fitter: &mut WeightFitter,
) -> Result<u64, Failure> {
    let (pairs, _) = known_pairs(listings, path)?;
    let mut added = 0;
    for (pair, explanation) in pairs {
        if pair.split == "report" || pair.verdict == Reading::CannotTell {
            continue;
        }
        fitter.add(
            &explanation.comparison,
            Some(pair.verdict == Reading::Same),
            weight,
        );
        added += 1;
    }
    Ok(added)
}

impl PairReport {
    /// Formats the counts as a table.
    pub(super) fn table(&self) -> FittedTable {
        let mut table = toise_cli::table_of(
            "pairs|same, together|same, apart|different, together|different, apart|precision|recall",
        );
        for (group, counts) in &self.groups {
            table.add_row([
                group.clone(),
                counts.same_together.to_string(),
                counts.same_apart.to_string(),
                counts.different_together.to_string(),
                counts.different_apart.to_string(),
                format!("{:.2}", 100.0 * counts.precision()),
                format!("{:.2}", 100.0 * counts.recall()),
            ]);
        }
        table.align_right(2..);
        table
    }

    /// Prints the table and the first `wrong` wrong decisions.
    pub(super) fn print(&self, wrong: usize) {
        println!("{}", self.table());
        println!(
            "{} pairs that a reader could not decide; {} with an advert that is not in this data folder",
            self.undecided, self.missing
        );
        let wrongly = self
            .pairs
            .iter()
            .filter(|pair| pair.is_same != pair.is_together);
        for pair in wrongly.take(wrong) {
            let reading = if pair.is_same { "same" } else { "different" };
            println!(
                "read as {reading}, {:+.1} bits ({:?}), {} {}\n  {}\n  {}",
                pair.comparison.bits,
                pair.verdict,
                pair.split,
                pair.stratum,
                pair.left.as_deref().unwrap_or_default(),
                pair.right.as_deref().unwrap_or_default(),
            );
        }
    }
}
