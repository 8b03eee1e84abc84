//! Which property a new advert belongs to, judged by all adverts each property holds.

use super::compare::{Comparison, Verdict, compare};
use super::fingerprint::Fingerprint;
use super::weights::SAME_BITS;
use crate::wire::listings::codes::FlxId;

/// An advert of a property that the new one may belong to.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
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
        /// The comparison with the advert of it that is most alike.
        comparison: Comparison,
        /// Other properties that it fits as well, by identifier: it shows that they and `property` are one asset.
        bridged: Vec<FlxId>,
    },
    /// To a property of its own.
    New,
}

/// Decides where an advert belongs.
///
/// `candidates` are *all* adverts of every property that has one among those found by [`Fingerprint::probes`], in any
/// order: a property whose other adverts contradict the new one is not joined.
pub fn assign(new: &Fingerprint, candidates: &[Candidate]) -> Assignment {
    let mut compared: Vec<(FlxId, FlxId, Comparison)> = candidates
        .iter()
        .map(|one| (one.property, one.advert, compare(new, &one.fingerprint)))
        .collect();
    compared.sort_by_key(|(property, advert, _)| (*property, *advert));
    let mut fitting: Vec<(f32, FlxId, Comparison)> = compared
        .chunk_by(|one, next| one.0 == next.0)
        .filter_map(|cluster| {
            let (bits, best) = judge(cluster)?;
            (bits >= SAME_BITS).then_some((bits, cluster[0].0, best))
        })
        .collect();
    fitting.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    match fitting.split_first() {
        None => Assignment::New,
        Some(((_, property, comparison), others)) => {
            let mut bridged: Vec<FlxId> = others.iter().map(|(_, property, _)| *property).collect();
            bridged.sort();
            Assignment::Join {
                property: *property,
                comparison: *comparison,
                bridged,
            }
        }
    }
}

/// The bits of a whole property and the comparison with its most alike advert.
fn judge(cluster: &[(FlxId, FlxId, Comparison)]) -> Option<(f32, Comparison)> {
    let mut best = cluster.first()?;
    let mut against = 0.0;
    for one in cluster {
        if one.2.bits > best.2.bits {
            best = one;
        }
        if one.2.verdict() == Verdict::Different {
            against += 3.0;
        }
    }
    if best.2.verdict() != Verdict::Same {
        return None;
    }
    Some((best.2.bits - against, best.2))
}
