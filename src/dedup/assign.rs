//! Assignment of an advert to a property, based on all adverts of each candidate property.
//!
//! An advert joins a property only if it fits every advert of the property. An advert that contradicts any of them
//! stays outside, however similar it is to another, so that chains of near matches never form. Likely but uncertain
//! matches are returned as [`LikelyPair`]s for a person to decide.

use super::compare::{Comparison, compare, compare_among};
use super::contradiction::{Contradiction, contradictions};
use super::fingerprint::Fingerprint;
use super::rarity::Surroundings;
use super::thresholds::{DedupVerdict, Thresholds};
use super::weights::{DOUBT_SHARE, LEAVE_BITS, MEMBER_EVIDENCE_MIN, MOVE_BITS, SUPPORT_BITS};
use toise_contract::listings::codes::FlxId;

/// Maximum likely pairs kept per advert: those with the highest odds.
const LIKELY_MAX: usize = 5;

/// An advert of a property that the new advert may belong to.
#[derive(Clone, Copy, Debug)]
pub struct AssignmentCandidate {
    /// The property.
    pub property: FlxId,
    /// The advert.
    pub advert: FlxId,
    /// The fingerprint of the advert.
    pub fingerprint: Fingerprint,
    /// Whether a person put it into its property. If a person also put the most similar advert there, this one does not
    /// keep the new advert out.
    pub is_held: bool,
}

/// An advert in another property that may describe the same asset as the assigned advert.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LikelyPair {
    /// The other property.
    pub property: FlxId,
    /// The advert of that property that is most similar.
    pub advert: FlxId,
    /// Binary logarithm of the odds.
    pub bits: f32,
}

/// The property to which an advert is assigned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    /// The known property that it joins; `None` for a new one.
    pub property: Option<FlxId>,
    /// Other properties that it also certainly belongs to, ordered by identifier: they and `property` are one asset.
    pub bridged: Vec<FlxId>,
    /// Properties that it may belong to, most likely first.
    pub likely: Vec<LikelyPair>,
}

/// The outcome of reconsidering an advert that shares a property.
#[derive(Clone, Debug, PartialEq)]
pub struct Reassignment {
    /// Whether it leaves its companions.
    pub leaves: bool,
    /// The property that it moves to; if it stays, the other properties of the same asset.
    pub assignment: Assignment,
}

/// Assigns an advert that is alone, new or already known, to a property.
///
/// `candidates` must be *all* adverts of every property of which [`Fingerprint::probes`] found at least one, in any
/// order. `around` counts the adverts that share a block with it.
pub fn assign(
    advert: &Fingerprint,
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
    thresholds: Thresholds,
) -> Assignment {
    chosen(&judged(advert, candidates, around), thresholds)
}

/// Reconsiders an advert that shares its property with `companions`, after it gained information.
///
/// It leaves if it is likelier another asset than its companions' ([`LEAVE_BITS`]), if one of them contradicts it, or
/// if another property fits better by [`MOVE_BITS`]. If it leaves, a property of `None` stands for a new one. If it
/// stays, the properties returned are certainly the same asset as its own.
pub fn reassign(
    known: &Fingerprint,
    companions: &[AssignmentCandidate],
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
    thresholds: Thresholds,
) -> Reassignment {
    let kept = judged(known, companions, around);
    let others = judged(known, candidates, around);
    let assignment = chosen(&others, thresholds);
    let best = others
        .iter()
        .find(|fit| Some(fit.property) == assignment.property);
    let leaves = kept.first().is_none_or(|kept| {
        let is_better = best.is_some_and(|best| best.bits >= kept.bits + MOVE_BITS);
        kept.is_refused || kept.bits < LEAVE_BITS || is_better
    });
    Reassignment { leaves, assignment }
}

/// The fit of an advert to a property.
#[derive(Clone, Copy, Debug)]
struct Fit {
    property: FlxId,
    /// The most similar advert of the property.
    advert: FlxId,
    /// Binary logarithm of the odds that the advert belongs to the property.
    bits: f32,
    /// Whether an advert of the property rules it out, even if the others make it likely.
    is_refused: bool,
}

/// Rates the fit of an advert to each property in which at least one advert is not vetoed, best first, ties by
/// identifier.
fn judged(
    new: &Fingerprint,
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
) -> Vec<Fit> {
    let mut compared: Vec<(AssignmentCandidate, Comparison)> = candidates
        .iter()
        .map(|one| (*one, compare_among(new, &one.fingerprint, around)))
        .collect();
    compared.sort_by_key(|(one, _)| (one.property, one.advert));
    let mut fits: Vec<Fit> = compared
        .chunk_by(|(one, _), (next, _)| one.property == next.property)
        .filter_map(|cluster| judge(new, cluster))
        .collect();
    fits.sort_by(|one, other| {
        let by_bits = other.bits.total_cmp(&one.bits);
        by_bits.then(one.property.cmp(&other.property))
    });
    fits
}

/// Chooses the properties that an advert certainly and possibly belongs to.
fn chosen(fits: &[Fit], thresholds: Thresholds) -> Assignment {
    let mut assignment = Assignment::default();
    for fit in fits {
        match thresholds.verdict(fit.bits) {
            DedupVerdict::Same if !fit.is_refused => match assignment.property {
                None => assignment.property = Some(fit.property),
                Some(_) => assignment.bridged.push(fit.property),
            },
            DedupVerdict::Same | DedupVerdict::Possible => {
                assignment.likely.push(LikelyPair {
                    property: fit.property,
                    advert: fit.advert,
                    bits: fit.bits,
                });
            }
            DedupVerdict::Different => {}
        }
    }
    assignment.bridged.sort();
    assignment.likely.truncate(LIKELY_MAX);
    assignment
}

/// Rates the fit of an advert to a whole property; `None` if a veto applies to all of the property's adverts.
///
/// The most similar advert decides. Other adverts that agree add little, because they share its mistakes. Others that
/// disagree on balance subtract more, because what is true of a property is true of each of its adverts.
fn judge(new: &Fingerprint, cluster: &[(AssignmentCandidate, Comparison)]) -> Option<Fit> {
    let open = cluster
        .iter()
        .filter(|(_, comparison)| comparison.veto.is_none());
    // Of equally similar adverts, the one with the lowest identifier.
    let (best, most) = open.reduce(|best, next| {
        if next.1.bits > best.1.bits {
            next
        } else {
            best
        }
    })?;
    let (mut support, mut against) = (0.0f32, 0.0);
    let is_vouched = |one: &AssignmentCandidate| best.is_held && one.is_held;
    for (one, comparison) in cluster {
        if one.advert == best.advert || is_vouched(one) {
            continue;
        }
        if comparison.bits > 0.0 {
            support += SUPPORT_BITS.0;
        }
        against -= DOUBT_SHARE * comparison.member_bits().min(0.0);
    }
    Some(Fit {
        property: best.property,
        advert: best.advert,
        bits: most.bits + support.min(SUPPORT_BITS.1) - against,
        is_refused: cluster.iter().any(|(one, comparison)| {
            let is_exempt = one.advert != best.advert && is_vouched(one);
            !is_exempt && !admits(new, &one.fingerprint, comparison)
        }),
    })
}

/// Returns whether an advert of a property admits another advert, by their comparison.
pub fn admits(new: &Fingerprint, member: &Fingerprint, comparison: &Comparison) -> bool {
    if comparison.veto.is_some() || comparison.member_bits() < MEMBER_EVIDENCE_MIN {
        return false;
    }
    let mut found = contradictions(new, member);
    match (found.next(), found.next()) {
        (None, _) => true,
        (Some(only), None) => comparison.is_identified() || is_excused(only, comparison),
        (Some(_), Some(_)) => false,
    }
}

/// Returns whether a single contradiction is more likely a mistake than a second home, by evidence that does not identify
/// the home in every case.
fn is_excused(only: Contradiction, comparison: &Comparison) -> bool {
    match only {
        Contradiction::Commune | Contradiction::Price => {
            comparison.shares_pictures() || comparison.is_one_text
        }
        Contradiction::Energy => {
            comparison.shares_pictures()
                || comparison.is_one_text
                || comparison.is_one_plot()
                || comparison.is_one_flat()
        }
        Contradiction::Surface => comparison.is_one_plot(),
        Contradiction::Floor | Contradiction::Land => false,
    }
}

/// Returns whether two adverts may belong to one property, however common their values are around them.
pub fn may_share(one: &Fingerprint, other: &Fingerprint) -> bool {
    admits(one, other, &compare(one, other))
}
