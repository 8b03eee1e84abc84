//! Finds the property an advert belongs to, among the adverts that share a block key with it.
//!
//! Ingestion spends most of its time in this search, so readers run it on all cores before the transaction
//! ([`PlannedPlacement::plan`]). Inside the transaction only later changes are checked ([`Placement::now`]); the result
//! equals that of a full search inside it. At two million properties an advert has about 130 candidates. Their outlines
//! are read in runs of neighbouring keys and rule out nine in ten; the rest are compared by fingerprint.

mod around;

use std::collections::{BTreeSet, HashSet};

use rusqlite::Connection;
use uuid::Uuid;

use crate::adverts::prepare::{AdvertDraft, ContentChange, StoredAdvert};
use crate::placement::cluster::MEMBERS_MAX;
use crate::properties::made::BuiltProperty;
use crate::records::recent_changes::RecentChanges;
use crate::records::rows::{self, fingerprints_of, is_marked_distinct, one_row};
use crate::{Error, Result};
use toise_contract::listings::codes::FlxId;
use toise_dedup::{
    Agreements, AssignmentCandidate, BlockKey, Fingerprint, Outline, Reassignment, Surroundings,
    Thresholds, assign, may_be_same, reassign,
};

use around::surroundings_of;
pub(super) use around::{AdvertsAround, surroundings};

/// Maximum candidates under one block key.
const CANDIDATES_PER_KEY_MAX: usize = 500;
/// Maximum candidates in all.
const CANDIDATES_MAX: usize = 2_000;

/// The property that an advert belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlacementTarget {
    /// The number of the property, and of others that the advert shows to be the same asset; `None` if the advert gets
    /// a new property or stays in its own.
    pub property: Option<(i64, Vec<i64>)>,
    /// Whether it leaves its current property, in which other adverts remain.
    pub leaves: bool,
    /// Adverts of other properties that may describe the same asset, with the evidence in bits; `None` if nothing was
    /// searched.
    pub likely: Option<Vec<(i64, f32)>>,
}

/// Input of a search for an advert's property, in addition to the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacementQuery<'a> {
    /// Fingerprint of the advert.
    pub fingerprint: &'a Fingerprint,
    /// The number and property of an advert that is already stored.
    pub own: Option<(i64, i64)>,
    /// Whether it may leave its property while other adverts remain there.
    pub may_leave: bool,
    /// Probabilities from which adverts are merged, or listed as possibly the same.
    pub thresholds: Thresholds,
}

/// Returns whether an advert that shares its property may leave it: its fingerprint must add information to the stored
/// one, and no person may have placed it.
pub(crate) fn is_reconsidered(
    connection: &Connection,
    advert: i64,
    fingerprint: &Fingerprint,
) -> Result<bool> {
    Ok(
        fingerprint.adds_information_to(&rows::fingerprint_of(connection, advert)?)
            && !rows::is_held(connection, advert)?,
    )
}

/// Result of a search on one state of the store, and the data that the result depends on.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// The property that the advert belongs to.
    pub found: PlacementTarget,
    /// The compared fingerprint, without common marks.
    compared: Fingerprint,
    /// Number of the mark that became common last.
    last_common_mark: i64,
    /// Candidates that are not clearly different.
    alike: Vec<i64>,
    /// The properties of those candidates, which were compared in full.
    weighed: Vec<i64>,
    /// The adverts found under the keys, and how their values agree with this one's.
    met: Vec<(i64, Agreements)>,
    /// Number of candidates under the fullest key.
    fullest: usize,
    /// Whether it shares its current property with other adverts.
    is_shared: bool,
}

impl Placement {
    /// Searches for the property an advert belongs to.
    pub fn find(connection: &Connection, query: PlacementQuery<'_>) -> Result<Self> {
        let own = query.own;
        let compared = rows::without_common_marks(connection, query.fingerprint)?;
        let fingerprint = &compared;
        let query = PlacementQuery {
            fingerprint,
            ..query
        };
        let Nearby { near, met, fullest } = find_nearby(connection, fingerprint, None)?;
        let own_advert = own.map(|(advert, _)| advert);
        let met: Vec<_> = met
            .into_iter()
            .filter(|(advert, _)| Some(*advert) != own_advert)
            .collect();
        let agreements = met.iter().map(|(_, agreements)| *agreements);
        let around = surroundings_of(connection, fingerprint, agreements)?;
        let mut statement = connection
            .prepare_cached("SELECT property, fingerprint FROM fingerprints WHERE advert = ?1")?;
        let mut alike = Vec::new();
        let mut weighed = BTreeSet::new();
        for advert in near {
            let (property, other) = one_row(&mut statement, [advert], |row| {
                Ok((row.get(0)?, rows::fingerprint(row, 1)?))
            })?;
            // Most candidates are clearly different: their properties do not have to be read in full.
            if may_be_same(fingerprint, &other) {
                alike.push(advert);
                weighed.insert(property);
            }
        }
        let companions = match own {
            Some((advert, property)) => companions(connection, advert, property)?,
            None => Vec::new(),
        };
        Ok(Self {
            is_shared: !companions.is_empty(),
            found: choose_property(connection, query, &weighed, &around)?,
            compared,
            last_common_mark: rows::last_common_mark(connection)?,
            alike,
            weighed: weighed.into_iter().collect(),
            met,
            fullest,
        })
    }

    /// Returns the result of [`Placement::find`], updated for the changes since it ran.
    pub fn now(
        &self,
        connection: &Connection,
        query: PlacementQuery<'_>,
        recent: &RecentChanges,
    ) -> Result<PlacementTarget> {
        let are_marks_same = rows::last_common_mark(connection)? == self.last_common_mark;
        let compared = if are_marks_same {
            self.compared
        } else {
            rows::without_common_marks(connection, query.fingerprint)?
        };
        if compared != self.compared {
            return Ok(Self::find(connection, query)?.found);
        }
        let fingerprint = &compared;
        let query = PlacementQuery {
            fingerprint,
            ..query
        };
        let around_since = recent.under(&fingerprint.probes());
        let exact_since = recent.under(&fingerprint.exact_probes());
        let is_around = |advert: &i64| around_since.iter().any(|(around, _)| around == advert);
        let only_exact = exact_since.iter().filter(|(advert, _)| !is_around(advert));
        let met_since: Vec<_> = around_since.iter().chain(only_exact).copied().collect();
        let (of_key, in_all) = (
            self.fullest + met_since.len(),
            self.met.len() + met_since.len(),
        );
        let is_full = of_key >= CANDIDATES_PER_KEY_MAX || in_all >= CANDIDATES_MAX;
        if is_full && (!met_since.is_empty() || recent.has_changed_adverts()) {
            // Only the latest adverts under a key are candidates: new ones may have displaced some, and removed ones
            // made room for others.
            return Ok(Self::find(connection, query)?.found);
        }
        let alike_since: Vec<i64> = met_since
            .iter()
            .filter(|(_, other)| may_be_same(fingerprint, other))
            .map(|(advert, _)| *advert)
            .collect();
        let is_gone = |advert: &i64| recent.has_advert(*advert);
        let is_around_same =
            met_since.is_empty() && !self.met.iter().any(|(advert, _)| is_gone(advert));
        let is_changed = |property: &i64| recent.has_property(*property);
        let is_alone = self.weighed.is_empty() && alike_since.is_empty() && !self.is_shared;
        // A mark that became common may be one of another advert's.
        if is_alone || (is_around_same && are_marks_same && !self.weighed.iter().any(is_changed)) {
            return Ok(self.found.clone());
        }
        let still = self.met.iter().filter(|(advert, _)| !is_gone(advert));
        let since = around_since
            .iter()
            .map(|(_, other)| Agreements::between(fingerprint, other));
        let agreements = still.map(|(_, agreements)| *agreements).chain(since);
        let around = surroundings_of(connection, fingerprint, agreements)?;
        let unchanged = self.alike.iter().filter(|advert| !is_gone(advert));
        let mut property_of =
            connection.prepare_cached("SELECT property FROM fingerprints WHERE advert = ?1")?;
        let weighed = unchanged
            .chain(&alike_since)
            .map(|advert| property_of.query_row([advert], |row| row.get(0)))
            .collect::<rusqlite::Result<BTreeSet<i64>>>()?;
        choose_property(connection, query, &weighed, &around)
    }
}

/// Adverts under the block keys that an advert looks up.
struct Nearby {
    /// Those whose outlines may belong to the same property.
    near: Vec<i64>,
    /// All of them, with how their values agree with the advert's.
    met: Vec<(i64, Agreements)>,
    /// Number under the fullest key.
    fullest: usize,
}

/// Finds the adverts under any block key that the fingerprint looks up, each once. Under a full key, these are the
/// latest ones before the advert `own`, then the first ones after it; the latest of all without `own`.
fn find_nearby(
    connection: &Connection,
    fingerprint: &Fingerprint,
    own: Option<i64>,
) -> Result<Nearby> {
    // The loop stops reading at the limit: a LIMIT bound as a parameter would make SQLite plan again for each key.
    let mut before = connection.prepare_cached(
        "SELECT advert, outline FROM blocks WHERE key = ?1 AND advert < ?2 ORDER BY advert DESC",
    )?;
    let after = "SELECT advert, outline FROM blocks WHERE key = ?1 AND advert > ?2 ORDER BY advert";
    let mut after = own.map(|_| connection.prepare_cached(after)).transpose()?;
    let own = own.unwrap_or(i64::MAX);
    let mut met: Vec<BlockMatch> = Vec::new();
    // An advert is under several of the keys, mostly those of its INSEE code and its postal code, with one outline.
    let mut known = HashSet::new();
    let mut fullest = 0;
    let around = fingerprint.probes().into_iter().map(|key| (key, true));
    let exact = fingerprint
        .exact_probes()
        .into_iter()
        .map(|key| (key, false));
    for (BlockKey(key), is_around) in around.chain(exact) {
        let mut under_key = 0;
        for statement in [Some(&mut before), after.as_mut()].into_iter().flatten() {
            let mut rows = statement.query([key, own])?;
            while under_key < CANDIDATES_PER_KEY_MAX
                && let Some(row) = rows.next()?
            {
                under_key += 1;
                let advert: i64 = row.get(0)?;
                // If it was found by place too, it counts as around: those keys come first.
                if !known.insert(advert) {
                    continue;
                }
                let outline = row.get_ref(1)?.as_blob().ok().and_then(Outline::decode);
                let is_ruled_out = outline
                    .as_ref()
                    .is_some_and(|other| fingerprint.certainly_differs(other));
                let agreements = match outline {
                    _ if !is_around => Agreements::default(),
                    Some(other) => other.agreements(fingerprint),
                    // Written by another version of toise; stays until the properties are rebuilt.
                    None => {
                        Agreements::between(fingerprint, &rows::fingerprint_of(connection, advert)?)
                    }
                };
                met.push(BlockMatch {
                    advert,
                    is_ruled_out,
                    agreements,
                });
            }
        }
        fullest = fullest.max(under_key);
    }
    met.sort_unstable_by_key(|one| one.advert.abs_diff(own));
    met.truncate(CANDIDATES_MAX);
    met.sort_unstable_by_key(|one| one.advert);
    let near = met.iter().filter(|one| !one.is_ruled_out);
    Ok(Nearby {
        near: near.map(|one| one.advert).collect(),
        met: met
            .into_iter()
            .map(|one| (one.advert, one.agreements))
            .collect(),
        fullest,
    })
}

/// An advert that shares a block key with the one to be placed.
struct BlockMatch {
    /// The advert.
    advert: i64,
    /// Whether its outline rules it out.
    is_ruled_out: bool,
    /// How its values agree; empty for an advert that was found by price and area alone and may be elsewhere.
    agreements: Agreements,
}

/// Chooses between properties by comparing with all adverts of each.
fn choose_property(
    connection: &Connection,
    query: PlacementQuery<'_>,
    properties: &BTreeSet<i64>,
    around: &Surroundings,
) -> Result<PlacementTarget> {
    let PlacementQuery {
        fingerprint,
        own,
        may_leave,
        thresholds,
    } = query;
    let mut candidates = Vec::new();
    let mut numbers = Vec::new();
    for property in properties {
        if let Some((advert, own_property)) = own
            && (*property == own_property || is_marked_distinct(connection, advert, *property)?)
        {
            continue;
        }
        let members = fingerprints_of(connection, *property)?;
        if members.len() >= MEMBERS_MAX {
            continue;
        }
        let id = rows::property_id(connection, *property)?;
        numbers.push((id, *property));
        let held = rows::held_of(connection, *property)?;
        for (number, member) in members {
            let member = rows::as_compared_with(connection, fingerprint, &member)?;
            candidates.push(candidate(id, (number, member), &held));
        }
    }
    let number = |id: FlxId| {
        let known = numbers.iter().find(|(known, _)| *known == id);
        known.map(|(_, number)| *number)
    };
    let mut companions = match own {
        Some((advert, property)) => companions(connection, advert, property)?,
        None => Vec::new(),
    };
    for one in &mut companions {
        one.fingerprint = rows::as_compared_with(connection, fingerprint, &one.fingerprint)?;
    }
    let Reassignment { leaves, assignment } = if companions.is_empty() {
        Reassignment {
            leaves: false,
            assignment: assign(fingerprint, &candidates, around, thresholds),
        }
    } else {
        reassign(fingerprint, &companions, &candidates, around, thresholds)
    };
    let likely = assignment.likely.iter();
    if leaves && !may_leave {
        return Ok(PlacementTarget::default());
    }
    Ok(PlacementTarget {
        leaves,
        property: assignment.property.and_then(number).map(|found| {
            let bridged = assignment.bridged.iter().copied();
            (found, bridged.filter_map(number).collect())
        }),
        likely: Some(
            likely
                .map(|pair| (number_of(pair.advert), pair.bits))
                .collect(),
        ),
    })
}

/// Returns the other adverts of an advert's property.
fn companions(
    connection: &Connection,
    advert: i64,
    property: i64,
) -> Result<Vec<AssignmentCandidate>> {
    let id = rows::property_id(connection, property)?;
    let members = fingerprints_of(connection, property)?;
    let others = members.into_iter().filter(|(number, _)| *number != advert);
    let held = rows::held_of(connection, property)?;
    Ok(others.map(|other| candidate(id, other, &held)).collect())
}

fn candidate(
    property: FlxId,
    (number, fingerprint): (i64, Fingerprint),
    held: &[i64],
) -> AssignmentCandidate {
    AssignmentCandidate {
        property,
        // Numbers grow with arrival as identifiers do, which is enough to break ties.
        advert: FlxId(Uuid::from_u128(number as u128)),
        fingerprint,
        is_held: held.contains(&number),
    }
}

/// Returns the number that a candidate's identifier was made from.
pub(super) fn number_of(advert: FlxId) -> i64 {
    advert.0.as_u128() as i64
}

/// Effect of storing a draft on properties, computed before its transaction.
#[derive(Clone, Debug)]
pub(crate) struct PlannedPlacement {
    /// Result of the search; `None` for a known advert that stays in its property.
    pub placement: Option<Placement>,
    /// The property rebuilt with this advert, and its number, which is `None` for a new property. `None` if properties
    /// are to be joined.
    pub made: Option<(Option<i64>, BuiltProperty)>,
}

impl PlannedPlacement {
    /// Plans for a draft that updates the stored advert, or for a new advert.
    pub fn plan(
        connection: &Connection,
        draft: &AdvertDraft,
        stored: Option<&StoredAdvert>,
        thresholds: Thresholds,
    ) -> Result<Self> {
        match stored {
            None => Self::of_new(connection, draft, thresholds),
            Some(stored) => Self::of_known(connection, draft, stored, thresholds),
        }
    }

    fn of_new(
        connection: &Connection,
        draft: &AdvertDraft,
        thresholds: Thresholds,
    ) -> Result<Self> {
        let query = PlacementQuery {
            fingerprint: &draft.fingerprint,
            own: None,
            may_leave: false,
            thresholds,
        };
        let placement = Placement::find(connection, query)?;
        let made = match &placement.found.property {
            None => Some((None, own_property(draft)?)),
            Some((property, bridged)) if bridged.is_empty() => {
                let id = rows::property_id(connection, *property)?;
                let members = rows::members(connection, *property)?;
                let members = members.iter().map(|(_, member)| member);
                let made = BuiltProperty::build(id, members.chain([&draft.member]));
                Some((Some(*property), made?))
            }
            // Joins are decided inside the transaction, and the record is built after them.
            Some(_) => None,
        };
        Ok(Self {
            placement: Some(placement),
            made,
        })
    }

    fn of_known(
        connection: &Connection,
        draft: &AdvertDraft,
        stored: &StoredAdvert,
        thresholds: Thresholds,
    ) -> Result<Self> {
        let property = stored.property;
        let members = rows::members(connection, property)?;
        let is_updated = draft.change == ContentChange::Updated;
        let query = PlacementQuery {
            fingerprint: &draft.fingerprint,
            own: Some((stored.advert, property)),
            may_leave: is_updated
                && members.len() > 1
                && is_reconsidered(connection, stored.advert, &draft.fingerprint)?,
            thresholds,
        };
        let placement = if is_updated {
            Some(Placement::find(connection, query)?)
        } else {
            None
        };
        let id = rows::property_id(connection, property)?;
        let members = members.iter().map(|(advert, member)| {
            if *advert == stored.advert {
                &draft.member
            } else {
                member
            }
        });
        let made = BuiltProperty::build(id, members)?;
        Ok(Self {
            placement,
            made: Some((Some(property), made)),
        })
    }
}

/// Builds the property of a new advert that does not belong to an existing one.
pub(crate) fn own_property(draft: &AdvertDraft) -> Result<BuiltProperty> {
    let id = draft.member.advert.flx_id;
    let id = id.ok_or(Error::NoId("an advert"))?;
    Ok(BuiltProperty::build(id, [&draft.member])?)
}

#[cfg(test)]
mod tests;
