//! Assignment of an advert to a property, based on all adverts of each candidate property.
//!
//! An advert joins a property only if it fits every advert of it: one that contradicts any of them stays outside, however
//! like another it is, so that chains of near matches never form. What is likely but not sure is returned as
//! [`LikelyPair`]s, for a person to decide.

use super::compare::{Comparison, compare, compare_among};
use super::contradiction::{Contradiction, contradictions};
use super::fingerprint::Fingerprint;
use super::rarity::Surroundings;
use super::thresholds::{DedupVerdict, Thresholds};
use super::weights::{DOUBT_SHARE, LEAVE_BITS, MEMBER_EVIDENCE_MIN, MOVE_BITS, SUPPORT_BITS};
use toise_contract::listings::codes::FlxId;

/// Maximum likely pairs that are kept of one advert: the likeliest.
const LIKELY_MAX: usize = 5;

/// An advert of a property to which the new advert may belong.
#[derive(Clone, Copy, Debug)]
pub struct AssignmentCandidate {
    /// The property.
    pub property: FlxId,
    /// The advert.
    pub advert: FlxId,
    /// The fingerprint of the advert.
    pub fingerprint: Fingerprint,
    /// Whether a person put it into its property: adverts that a person put together do not keep out what fits one of
    /// them.
    pub is_held: bool,
}

/// An advert that is perhaps of the same asset as the one that was assigned, but in another property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LikelyPair {
    /// Its property.
    pub property: FlxId,
    /// The advert of that property that is most like it.
    pub advert: FlxId,
    /// Binary logarithm of the odds.
    pub bits: f32,
}

/// The property to which an advert is assigned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    /// The known property that it joins; `None` for one of its own.
    pub property: Option<FlxId>,
    /// Other properties that it surely belongs to as well, ordered by identifier: they and `property` are one asset.
    pub bridged: Vec<FlxId>,
    /// Properties that it perhaps belongs to, the likeliest first.
    pub likely: Vec<LikelyPair>,
}

/// What becomes of an advert that shares a property.
#[derive(Clone, Debug, PartialEq)]
pub struct Reassignment {
    /// Whether it leaves the others behind.
    pub leaves: bool,
    /// Where it goes, or, if it stays, the properties that are one asset with its own.
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

/// Reconsiders an advert that shares its property with `companions`, now that more is known of it.
///
/// It leaves if nothing speaks for its companions any more ([`LEAVE_BITS`]) or one of them contradicts it, or if
/// another property fits better by [`MOVE_BITS`]; `None` then stands for a property of its own. If it stays, the
/// properties returned surely show the same asset as its own.
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

/// How an advert fits a property.
#[derive(Clone, Copy, Debug)]
struct Fit {
    property: FlxId,
    /// The advert most like it.
    advert: FlxId,
    /// Binary logarithm of the odds that it belongs there.
    bits: f32,
    /// Whether an advert of the property rules it out, however likely the others make it.
    is_refused: bool,
}

/// How an advert fits each property of which not all adverts are vetoed, the best first; equal ones by identifier.
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

/// The properties that an advert surely and perhaps belongs to.
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

/// How an advert fits a whole property; `None` if a veto applies to all of its adverts.
///
/// The most similar advert decides. Others that agree add little, because they share its mistakes; others that disagree
/// on balance subtract more, because what is true of a property is true of each of its adverts.
fn judge(new: &Fingerprint, cluster: &[(AssignmentCandidate, Comparison)]) -> Option<Fit> {
    let open = cluster
        .iter()
        .filter(|(_, comparison)| comparison.bar.is_none());
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
        against -= DOUBT_SHARE * comparison.evidence_bits().min(0.0);
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

/// Whether an advert of a property admits another to it.
fn admits(new: &Fingerprint, member: &Fingerprint, comparison: &Comparison) -> bool {
    if comparison.bar.is_some() || comparison.evidence_bits() < MEMBER_EVIDENCE_MIN {
        return false;
    }
    let mut found = contradictions(new, member);
    match (found.next(), found.next()) {
        (None, _) => true,
        (Some(Contradiction::Commune | Contradiction::Energy | Contradiction::Price), None) => {
            comparison.is_identified() || comparison.shares_pictures() || comparison.is_one_text()
        }
        (Some(_), None) => comparison.is_identified(),
        (Some(_), Some(_)) => false,
    }
}

/// Whether two adverts may stand in one property, whatever is common around them.
pub fn may_share(one: &Fingerprint, other: &Fingerprint) -> bool {
    admits(one, other, &compare(one, other))
}
