//! Assignment of an advert to a property, based on all adverts of each candidate property.

use super::compare::{Comparison, DedupVerdict, compare_among};
use super::fingerprint::Fingerprint;
use super::rarity::Surroundings;
use super::weights::{
    BARRED_BITS, CONTRADICTION_BITS, DOUBT_SHARE, JOIN_BITS, LEAVE_BITS, MOVE_BITS, SAME_BITS,
    SUPPORT_BITS,
};
use toise_contract::listings::codes::FlxId;

/// An advert of a property to which the new advert may belong.
#[derive(Clone, Copy, Debug)]
pub struct AssignmentCandidate {
    /// The property.
    pub property: FlxId,
    /// The advert.
    pub advert: FlxId,
    /// The fingerprint of the advert.
    pub fingerprint: Fingerprint,
}

/// The property to which a new advert is assigned.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// A known property.
    Join {
        /// The property.
        property: FlxId,
        /// Other properties that it matches with at least [`JOIN_BITS`], ordered by identifier: evidence that they and
        /// `property` are the same asset.
        bridged: Vec<FlxId>,
    },
    /// A new property.
    New,
}

/// Assigns a new advert to a property.
///
/// `candidates` must be *all* adverts of every property of which [`Fingerprint::probes`] found at least one, in any
/// order: other adverts of the property that contradict the new one count against joining it. `around` counts the adverts that
/// share a block with it.
pub fn assign(
    new: &Fingerprint,
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
) -> Assignment {
    assign_from(SAME_BITS, new, candidates, around)
}

/// Assigns an advert that already has a property of its own. A match would merge the two properties, so it requires
/// [`JOIN_BITS`] instead of [`SAME_BITS`].
pub fn assign_known(
    known: &Fingerprint,
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
) -> Assignment {
    assign_from(JOIN_BITS, known, candidates, around)
}

/// Reconsiders an advert that shares its property with `companions`, now that more is known of it: `None` where it
/// stays. It leaves if nothing speaks for its companions any more ([`LEAVE_BITS`]), or if another property fits better
/// by [`MOVE_BITS`]; it joins another with [`JOIN_BITS`], else founds one.
pub fn reassign(
    known: &Fingerprint,
    companions: &[AssignmentCandidate],
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
) -> Option<Assignment> {
    let kept = judged(known, companions, around).first().copied();
    let kept_bits = kept.map_or(f32::NEG_INFINITY, |(bits, _)| bits);
    let others = judged(known, candidates, around);
    let best_bits = others.first().map_or(f32::NEG_INFINITY, |(bits, _)| *bits);
    let is_better = best_bits >= JOIN_BITS && best_bits >= kept_bits + MOVE_BITS;
    (is_better || kept_bits < LEAVE_BITS).then(|| chosen(JOIN_BITS, &others))
}

fn assign_from(
    least_bits: f32,
    new: &Fingerprint,
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
) -> Assignment {
    chosen(least_bits, &judged(new, candidates, around))
}

/// The bits of each property of which not all adverts are barred, the best first; equal ones by identifier.
fn judged(
    new: &Fingerprint,
    candidates: &[AssignmentCandidate],
    around: &Surroundings,
) -> Vec<(f32, FlxId)> {
    let mut compared: Vec<(FlxId, FlxId, Comparison)> = candidates
        .iter()
        .map(|one| {
            let comparison = compare_among(new, &one.fingerprint, around);
            (one.property, one.advert, comparison)
        })
        .collect();
    compared.sort_by_key(|(property, advert, _)| (*property, *advert));
    let mut judged: Vec<(f32, FlxId)> = compared
        .chunk_by(|one, next| one.0 == next.0)
        .filter_map(|cluster| Some((judge(cluster)?, cluster[0].0)))
        .collect();
    judged.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    judged
}

/// The best property with at least `least_bits`, and those that it shows to be the same asset.
fn chosen(least_bits: f32, judged: &[(f32, FlxId)]) -> Assignment {
    match judged.split_first() {
        Some(((bits, property), others)) if *bits >= least_bits => {
            let others = others.iter().filter(|(bits, _)| *bits >= JOIN_BITS);
            let mut bridged: Vec<FlxId> = others.map(|(_, property)| *property).collect();
            bridged.sort();
            Assignment::Join {
                property: *property,
                bridged,
            }
        }
        _ => Assignment::New,
    }
}

/// The bits of a whole property; `None` if a veto applies to all of its adverts.
///
/// The most similar advert decides. Others that agree add little, because they share its mistakes; others that
/// contradict subtract more, because what is true of a property is true of each of its adverts.
fn judge(cluster: &[(FlxId, FlxId, Comparison)]) -> Option<f32> {
    let open = cluster
        .iter()
        .filter(|(_, _, comparison)| comparison.bar.is_none());
    // Of equally similar adverts, the one with the lowest identifier.
    let (_, best_advert, best) = open.reduce(|best, next| {
        if next.2.bits > best.2.bits {
            next
        } else {
            best
        }
    })?;
    let (mut support, mut against) = (0.0f32, 0.0);
    for (_, advert, comparison) in cluster {
        match comparison.verdict() {
            _ if advert == best_advert => {}
            DedupVerdict::Different if comparison.bar.is_some() => against += BARRED_BITS,
            DedupVerdict::Different => against += CONTRADICTION_BITS,
            _ if comparison.bits > 0.0 => support += SUPPORT_BITS.0,
            _ => against += DOUBT_SHARE * -comparison.bits,
        }
    }
    Some(best.bits + support.min(SUPPORT_BITS.1) - against)
}
