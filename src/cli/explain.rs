//! `toise explain`: explains why two adverts are, or are not, considered the same asset.

use clap::Args;

use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_collect::portals::Portals;
use toise_dedup::{DedupVerdict, Veto};
use toise_listings::placement::explain::{ApartReason, Explanation};
use toise_store::Store;

/// Minimum evidence shown in the short description of a pair, in bits.
const SHOWN_BITS: f32 = 0.5;

/// Arguments of `explain`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each line is the evidence of one field, in bits: +1 doubles the odds that both are the same asset, -1 halves them.

Example:

  toise explain https://portail.example/annonce/12 https://autre.example/biens/t3")]
pub struct ExplainArgs {
    /// Identifier or address of an advert
    one: String,
    /// Identifier or address of the other advert
    other: String,
}

/// Runs `explain`.
pub fn run(common: &Common, arguments: &ExplainArgs) -> CommandResult {
    let listings = common
        .listings(Store::open(&common.data)?, Clock::system())?
        .with_identity(Portals::load(&common.data)?.identity());
    let explanation = listings.explain(&arguments.one, &arguments.other)?;
    common.show(&explanation, || print(&explanation))
}

/// Returns the printed name of a verdict.
fn outcome(verdict: DedupVerdict) -> &'static str {
    match verdict {
        DedupVerdict::Same => "same",
        DedupVerdict::Possible => "possible",
        DedupVerdict::Different => "different",
    }
}

/// Returns why a rule keeps two adverts apart.
fn reason(veto: Veto) -> &'static str {
    match veto {
        Veto::Kind => "different types or offers",
        Veto::Programme => {
            "similar flats of a new-build programme or rooms let alone, and nothing shows that they are the same"
        }
    }
}

/// Returns why two adverts that match are in two properties.
fn reason_apart(apart: ApartReason) -> &'static str {
    match apart {
        ApartReason::Split => "because a person declared them distinct",
        ApartReason::Contradiction => "because they contradict each other",
        ApartReason::Dissenters => {
            "because other adverts of their properties, named above, keep them apart"
        }
        ApartReason::DecidedBefore => {
            "because they were placed when less was known or under other settings; `toise properties rebuild` decides \
             again"
        }
    }
}

/// Formats a pair in a few lines: both adverts, and the evidence for and against one home.
pub(super) fn short(pair: &Explanation) -> String {
    let mut lines = vec![format!(
        "probability {:.1} %",
        100.0 * pair.comparison.probability()
    )];
    for side in &pair.adverts {
        let title = side.title.as_deref().unwrap_or("without title");
        let price = side.price.map(|price| format!("{:.0} EUR", price.get()));
        let surface = side.surface.map(|area| format!("{} m²", area.get()));
        let rooms = side.rooms.map(|rooms| format!("{} rooms", rooms.get()));
        let known = [price, surface, rooms, Some(side.place.clone())];
        let known: Vec<String> = known.into_iter().flatten().collect();
        lines.push(format!("  {}  {title}", side.property_flx_id));
        lines.push(format!("    {}", known.join(", ")));
        lines.push(format!("    {}", side.url.as_deref().unwrap_or_default()));
    }
    let shown = pair.comparison.evidence.iter();
    let shown: Vec<String> = shown
        .filter(|one| one.bits.abs() >= SHOWN_BITS)
        .map(|one| format!("{}: {} ({:+.1})", one.field.label(), one.about(), one.bits))
        .collect();
    lines.push(format!("  {}", shown.join("; ")));
    for contradiction in &pair.contradictions {
        lines.push(format!("  contradiction: {}", contradiction.as_str()));
    }
    lines.extend(
        dissent(pair)
            .iter()
            .map(|line| format!("  {}", line.replace('\n', "\n  "))),
    );
    lines.join("\n")
}

/// Returns two lines for each advert that keeps a pair apart.
fn dissent(explanation: &Explanation) -> Vec<String> {
    let lines = explanation.dissenters.iter().map(|dissenter| {
        let reason = match dissenter.contradictions.as_slice() {
            [] => "it has too little in common".to_owned(),
            found => found
                .iter()
                .map(|one| one.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        };
        let url = dissenter.url.as_deref().unwrap_or_default();
        let (advert, property) = (dissenter.flx_id, dissenter.property_flx_id);
        format!("kept apart by advert {advert} of property {property} ({reason})\n  {url}")
    });
    lines.collect()
}

fn print(explanation: &Explanation) {
    for side in &explanation.adverts {
        let title = side.title.as_deref().unwrap_or("without title");
        let url = side.url.as_deref().unwrap_or_default();
        println!(
            "{} of property {}\n  {title}\n  {url}",
            side.flx_id, side.property_flx_id
        );
    }
    let comparison = &explanation.comparison;
    let mut table = crate::table_of("field|found|bits|of which rarity");
    for evidence in comparison.evidence.iter() {
        let bits = format!("{:+.1}", evidence.bits);
        let rarity = evidence.rarity_bits.map(|bits| format!("{bits:+.1}"));
        table.add_row([
            evidence.field.label().to_owned(),
            evidence.about().to_owned(),
            bits,
            rarity.unwrap_or_default(),
        ]);
    }
    println!("{table}");
    if let Some(veto) = comparison.veto {
        println!("kept apart, whatever else agrees: {}", reason(veto));
    }
    println!(
        "before any comparison: {:+.1} bits for {} adverts around",
        comparison.prior_bits, explanation.adverts_around
    );
    if explanation.portal_bits != 0.0 {
        println!(
            "of these, {:+.1} bits for how often these portals show one home",
            explanation.portal_bits
        );
    }
    if !explanation.common.is_empty() {
        let names = explanation.common.iter().map(|field| field.label());
        let names: Vec<&str> = names.collect();
        println!(
            "not compared, because many homes show it: {}",
            names.join(", ")
        );
    }
    if comparison.lookalike_bits < 0.0 {
        println!(
            "other homes of this price and surface: {:+.1} bits for {}",
            comparison.lookalike_bits, explanation.lookalikes
        );
    }
    for contradiction in &explanation.contradictions {
        println!("contradiction: {}", contradiction.as_str());
    }
    for line in dissent(explanation) {
        println!("{line}");
    }
    println!(
        "{}: {:+.1} bits, probability {:.4}",
        outcome(explanation.verdict),
        comparison.bits,
        comparison.probability()
    );
    if explanation.split {
        println!("declared distinct by `toise properties split`");
    }
    println!(
        "{}",
        if explanation.together {
            "one property now"
        } else {
            "two properties now"
        }
    );
    if let Some(apart) = explanation.apart_because() {
        println!("{}", reason_apart(apart));
    }
}
