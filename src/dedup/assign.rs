//! Which property a new advert belongs to, judged by all adverts each property holds.

use super::compare::{Comparison, DedupVerdict, compare};
use super::fingerprint::Fingerprint;
use super::weights::{BARRED_BITS, CONTRADICTION_BITS, JOIN_BITS, SAME_BITS, SUPPORT_BITS};
use toise_contract::listings::codes::FlxId;

/// An advert of a property that the new one may belong to.
#[derive(Clone, Copy, Debug)]
pub struct AssignmentCandidate {
    /// The property.
    pub property: FlxId,
    /// The advert.
    pub advert: FlxId,
    /// What is compared.
    pub fingerprint: Fingerprint,
}

/// Where a new advert belongs.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// To a property that is known.
    Join {
        /// The property.
        property: FlxId,
        /// Other properties that it fits as well, beyond doubt, by identifier: it shows that they and `property` are one
        /// asset.
        bridged: Vec<FlxId>,
    },
    /// To a property of its own.
    New,
}

/// Decides where an advert belongs.
///
/// `candidates` are *all* adverts of every property that has one among those found by [`Fingerprint::probes`], in any
/// order: those of a property's other adverts that contradict the new one weigh against joining it.
pub fn assign(new: &Fingerprint, candidates: &[AssignmentCandidate]) -> Assignment {
    assign_from(SAME_BITS, new, candidates)
}

/// The same for an advert that has a property of its own already, which would be joined to the other: that takes more.
pub fn assign_known(known: &Fingerprint, candidates: &[AssignmentCandidate]) -> Assignment {
    assign_from(JOIN_BITS, known, candidates)
}

fn assign_from(
    least_bits: f32,
    new: &Fingerprint,
    candidates: &[AssignmentCandidate],
) -> Assignment {
    let mut compared: Vec<(FlxId, FlxId, Comparison)> = candidates
        .iter()
        .map(|one| (one.property, one.advert, compare(new, &one.fingerprint)))
        .collect();
    compared.sort_by_key(|(property, advert, _)| (*property, *advert));
    let mut fitting: Vec<(f32, FlxId)> = compared
        .chunk_by(|one, next| one.0 == next.0)
        .filter_map(|cluster| {
            let bits = judge(cluster)?;
            (bits >= least_bits).then_some((bits, cluster[0].0))
        })
        .collect();
    fitting.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    match fitting.split_first() {
        None => Assignment::New,
        Some(((_, property), others)) => {
            let others = others.iter().filter(|(bits, _)| *bits >= JOIN_BITS);
            let mut bridged: Vec<FlxId> = others.map(|(_, property)| *property).collect();
            bridged.sort();
            Assignment::Join {
                property: *property,
                bridged,
            }
        }
    }
}

/// The bits of a whole property; none when a rule bars all of its adverts.
///
/// The most alike advert decides. Others that agree add a little, as they share its mistakes; others that contradict
/// take more, for what is true of a property holds for each of its adverts.
fn judge(cluster: &[(FlxId, FlxId, Comparison)]) -> Option<f32> {
    let open = cluster
        .iter()
        .filter(|(_, _, comparison)| comparison.bar.is_none());
    // The first of the most alike, by identifier.
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
            _ => {}
        }
    }
    Some(best.bits + support.min(SUPPORT_BITS.1) - against)
}
