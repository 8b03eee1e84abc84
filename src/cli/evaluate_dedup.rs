//! `toise evaluate dedup`: measures the merges of a data folder's own adverts, which have no labels.

use clap::Args;
use serde::Serialize;

use crate::explain::short;
use crate::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_listings::placement::explain::Explanation;
use toise_listings::placement::quality::{
    CalibrationReport, FieldCalibration, MergeCounts, SIZES, USUAL_CONTRADICTING_SHARE,
};
use toise_store::Store;

/// Arguments of `evaluate dedup`.
#[derive(Args, Debug)]
#[command(after_help = "\
Shows properties by number of adverts, merged pairs that contradict each other, probabilities checked against a field
that the comparison did not see, an estimate of wrong merges, and a page of merges to read.

Example:

  toise evaluate dedup --sample 20")]
pub struct DedupArgs {
    /// Number of merges to draw at random and print
    #[arg(long, value_name = "N", default_value_t = 10)]
    sample: usize,
    /// Seed of the merges drawn
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoreReport {
    #[serde(flatten)]
    counts: MergeCounts,
    contradicting_share: f64,
    calibration: CalibrationReport,
    /// Estimated share of merges that are wrong; null if no field can show it.
    wrong_share: Option<f64>,
    sample: Vec<Explanation>,
}

/// Runs `evaluate dedup`.
pub fn run(common: &Common, arguments: &DedupArgs) -> CommandResult {
    let listings = common.listings(Store::open(&common.data)?, Clock::system())?;
    let progress = Progress::new(common.json);
    let counts = listings.merge_counts(progress)?;
    let calibration = listings.calibration(progress)?;
    let report = StoreReport {
        contradicting_share: counts.contradicting_share(),
        wrong_share: calibration.wrong_share(),
        sample: listings.sample_of_merges(arguments.sample, arguments.seed)?,
        counts,
        calibration,
    };
    common.show(&report, || print(&report))
}

fn print(report: &StoreReport) {
    let counts = &report.counts;
    let mut table = crate::table_of("adverts of a property|properties");
    for (size, properties) in SIZES.into_iter().zip(counts.properties_by_size) {
        table.add_row([size.to_owned(), properties.to_string()]);
    }
    println!("{table}");
    let mut table = crate::table_of("merged pairs that contradict each other in|pairs|%");
    let percent = |pairs: u64| {
        format!(
            "{:.2}",
            100.0 * pairs as f64 / counts.merged_pairs.max(1) as f64
        )
    };
    for count in &counts.contradictions {
        let name = count.field.as_str().to_owned();
        table.add_row([name, count.pairs.to_string(), percent(count.pairs)]);
    }
    table.add_row([
        "lot, room, parking place or unit".to_owned(),
        counts.vetoed_pairs.to_string(),
        percent(counts.vetoed_pairs),
    ]);
    table.add_row([
        "any of them".to_owned(),
        counts.contradicting_pairs.to_string(),
        percent(counts.contradicting_pairs),
    ]);
    table.add_row([
        "not counted: pictures, reference or text outweigh it".to_owned(),
        counts.forgiven_pairs.to_string(),
        percent(counts.forgiven_pairs),
    ]);
    println!("{table}");
    println!(
        "{} adverts, {} properties, {} merged pairs of adverts; {} pairs of properties wait for a decision \
         (`toise properties candidates`).",
        counts.adverts, counts.properties, counts.merged_pairs, counts.possible_pairs
    );
    if counts.is_unusual() {
        println!(
            "warning: more than {:.0} % of the merged pairs contradict each other. Look for a column that is mapped wrongly, \
             then decide again with `toise properties rebuild`.",
            100.0 * USUAL_CONTRADICTING_SHARE
        );
    }
    for field in &report.calibration.fields {
        print_calibration(field);
    }
    match report.wrong_share {
        Some(share) => println!("Estimated wrong merges: {:.1} %.", 100.0 * share),
        None => println!(
            "Wrong merges cannot be estimated: no two merged adverts have an energy class, a storey or a district."
        ),
    }
    if !report.sample.is_empty() {
        println!("\nMerges drawn at random:");
    }
    for pair in &report.sample {
        println!("{}", short(pair));
    }
}

fn print_calibration(field: &FieldCalibration) {
    let mut table = crate::table_of("probability from %|pairs|expected %|right %|± %");
    for bin in &field.bins {
        table.add_row([
            format!("{:.2}", 100.0 * bin.from),
            bin.pairs.to_string(),
            format!("{:.1}", 100.0 * bin.expected),
            format!("{:.1}", 100.0 * bin.right),
            format!("{:.1}", 100.0 * bin.error),
        ]);
    }
    table.align_right(2..);
    println!(
        "Checked by the {}, which the comparison did not see: {:.0} % of pairs of \
         two homes agree in it, {:.0} % of pairs of one home{}.\n{table}",
        field.field.as_str(),
        100.0 * field.chance,
        100.0 * field.usual,
        if field.usual_is_measured {
            ""
        } else {
            " as a rule"
        },
    );
    println!(
        "Of {} pairs that would be merged without it, {:.1} % (± {:.1} %) are wrong; of those that agree in it too, {:.1} %.",
        field.merges,
        100.0 * field.wrong_without,
        100.0 * field.wrong_error,
        100.0 * field.wrong
    );
}
