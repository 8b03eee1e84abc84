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
/// Maximum length of a line of evidence, characters.
const LINE_CHARS_MAX: usize = 100;

/// Columns of the table of evidence.
const EVIDENCE_COLUMNS: &str = "field|found|bits|rarity bits";

/// Printed with two merged adverts that are not similar enough for a merge today.
const UNSURE_MERGE: &str = "  \
  merged by a person, through other adverts of the property, or earlier with other evidence;
  `toise properties rebuild` decides again, and splits them unless one of the first two holds";

/// Arguments of `explain`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each line is the evidence of one field, in bits: +1 doubles the odds that both are the same asset, -1 halves them. Of
the bits of an equal value, some are due to its rarity in the area.

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
            "flats of a new-build programme, units of one page, parking places or rooms let alone, with no proof that they \
             are the same"
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
        ApartReason::NotCompared => {
            "because they are not compared: only adverts of one class with a similar place and surface, or with a common \
             reference, and homes with the same price and surface are; `toise properties merge` makes them one"
        }
        ApartReason::LaterUnlike => {
            "because the later of the two decides, and they do not match among the adverts around that one; with the \
             arguments in the other order, this command shows that comparison"
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
        let rooms = side.rooms.map(|rooms| match rooms.get() {
            1.0 => "1 room".to_owned(),
            rooms => format!("{rooms} rooms"),
        });
        let known = [price, surface, rooms, Some(side.place.clone())];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let (advert, property) = (side.flx_id, side.property_flx_id);
        lines.push(format!("  advert {advert} of property {property}"));
        lines.push(format!("    {title}"));
        lines.push(format!("    {}", known.join(", ")));
        lines.push(format!("    {}", side.url.as_deref().unwrap_or_default()));
    }
    let shown = pair.comparison.evidence.iter();
    let shown: Vec<String> = shown
        .filter(|one| one.bits.abs() >= SHOWN_BITS)
        .map(|one| {
            let (field, found) = (one.field.as_str(), one.about());
            format!("{field}: {found} ({:+.1} bits)", one.bits)
        })
        .collect();
    lines.extend(wrapped(&shown));
    if pair.together && pair.verdict != DedupVerdict::Same {
        lines.push(UNSURE_MERGE.to_owned());
    }
    for contradiction in &pair.contradictions {
        lines.push(format!("  contradiction: {}", contradiction.as_str()));
    }
    lines.extend(
        dissenter_lines(pair)
            .iter()
            .map(|line| format!("  {}", line.replace('\n', "\n  "))),
    );
    lines.join("\n")
}

/// Joins parts with semicolons into indented lines.
fn wrapped(parts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() <= LINE_CHARS_MAX => {
                line.push_str("; ");
                line.push_str(part);
            }
            _ => lines.push(format!("  {part}")),
        }
    }
    lines
}

/// Returns two lines for each advert that keeps a pair apart.
fn dissenter_lines(explanation: &Explanation) -> Vec<String> {
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
            "advert {} of property {}\n  {title}\n  {url}",
            side.flx_id, side.property_flx_id
        );
    }
    let comparison = &explanation.comparison;
    let mut table = crate::table_of(EVIDENCE_COLUMNS);
    for evidence in comparison.evidence.iter() {
        let bits = format!("{:+.1}", evidence.bits);
        let rarity = evidence.rarity_bits.map(|bits| format!("{bits:+.1}"));
        table.add_row([
            evidence.field.as_str().to_owned(),
            evidence.about().to_owned(),
            bits,
            rarity.unwrap_or_default(),
        ]);
    }
    println!("{table}");
    if let Some(veto) = comparison.veto {
        println!("kept apart regardless of all else: {}", reason(veto));
    }
    println!(
        "before any comparison: {:+.1} bits (adverts around: {})",
        comparison.prior_bits, explanation.adverts_around
    );
    if explanation.portal_bits != 0.0 {
        println!(
            "of these, {:+.1} bits for how often these portals show one home",
            explanation.portal_bits
        );
    }
    if !explanation.common.is_empty() {
        let names = explanation.common.iter().map(|field| field.as_str());
        let names: Vec<&str> = names.collect();
        println!(
            "not compared, because many homes show it: {}",
            names.join(", ")
        );
    }
    if comparison.lookalike_bits < 0.0 {
        println!(
            "other homes of this price and surface: {:+.1} bits (adverts: {})",
            comparison.lookalike_bits, explanation.lookalikes
        );
    }
    for contradiction in &explanation.contradictions {
        println!("contradiction: {}", contradiction.as_str());
    }
    for line in dissenter_lines(explanation) {
        println!("{line}");
    }
    println!(
        "{}: {:+.1} bits, probability {:.2} %",
        outcome(explanation.verdict),
        comparison.bits,
        100.0 * comparison.probability()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use toise_dedup::weights::WEIGHTS;
    use toise_listings::Listings;

    fn fits(text: &str) -> bool {
        text.lines()
            .all(|line| line.chars().count() <= LINE_CHARS_MAX)
    }

    #[test]
    fn the_table_of_evidence_fits_100_columns() {
        let mut table = crate::table_of(EVIDENCE_COLUMNS);
        for weights in &WEIGHTS {
            for level in weights.levels {
                table.add_row([weights.field.as_str(), level.about, "+10.0", "+10.0"]);
            }
        }
        let text = table.to_string();
        assert!(fits(&text), "{text}");
    }

    #[test]
    fn a_short_description_names_both_adverts_and_fits_100_columns() {
        let folder = tempfile::tempdir().unwrap();
        let listings = Listings::new(Store::open(folder.path()).unwrap(), Clock::system());
        let studio = |number: u32| {
            json!({
                "url": format!("https://thin.example/annonce/{number}"), "source": "thin.example",
                "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 310_000},
                "lastSeenAt": "2025-11-01T08:00:00Z",
                "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
                "habitation": {"surface": {"total": 31}, "roomCount": 1},
            })
        };
        let taken = listings.ingest(vec![studio(1), studio(2)]).unwrap();
        let taken: Vec<_> = taken.into_iter().map(Result::unwrap).collect();
        let properties = [&taken[0], &taken[1]].map(|one| one.property_flx_id);

        let likely = listings.likely_pairs(1).unwrap();
        let candidate = short(&likely[0]);
        listings.merge(properties[0], properties[1]).unwrap();
        let merged = short(&listings.sample_of_merges(1, 1).unwrap()[0]);
        for text in [&candidate, &merged] {
            for advert in &taken {
                let named = format!("advert {} of property ", advert.flx_id);
                assert!(text.contains(&named), "{text}");
            }
            assert!(text.contains("31 m², 1 room, 75011 Paris"), "{text}");
            assert!(text.contains(" bits)"), "{text}");
            assert!(fits(text), "{text}");
        }
        assert!(!candidate.contains(UNSURE_MERGE), "{candidate}");
        assert!(merged.contains(UNSURE_MERGE), "{merged}");
    }
}
