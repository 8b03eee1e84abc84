//! Where an advert belongs: the property its asset has already, looked for among the adverts near it.
//!
//! That is most of what taking an advert costs, so readers do it on all cores before the transaction
//! ([`PlannedPlacement::plan`]). Inside it, only what changed in between is looked at again ([`Placement::now`]), and the outcome is
//! that of looking for everything again. An advert meets about 130 others at two million properties; their outlines are
//! read in runs of neighbours, and the one in ten that remains by its fingerprint.

use std::collections::BTreeSet;

use rusqlite::Connection;
use uuid::Uuid;

use crate::adverts::prepare::{AdvertDraft, ContentChange, StoredAdvert};
use crate::placement::cluster::MEMBERS_MAX;
use crate::properties::made::BuiltProperty;
use crate::records::recent_changes::RecentChanges;
use crate::records::rows::{self, failed, fingerprints_of, is_marked_distinct};
use toise_contract::listings::codes::FlxId;
use toise_dedup::{
    Assignment, AssignmentCandidate, BlockKey, DedupVerdict, Fingerprint, Outline, assign,
    assign_known, compare,
};

/// Adverts of one key that a new one meets at most, the latest first.
const CANDIDATES_PER_KEY_MAX: usize = 500;
/// Adverts a new one meets at most, the latest first.
const CANDIDATES_MAX: usize = 2_000;

/// The property an advert belongs to, by number, and those it shows to be the same; `None` when to one of its own.
pub(crate) type PlacementTarget = Option<(i64, Vec<i64>)>;

/// Where an advert belongs as the store stood, and what that depends on.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// Where it belongs.
    pub found: PlacementTarget,
    /// Adverts met that are not plainly different.
    alike: Vec<i64>,
    /// Their properties: those that were weighed.
    weighed: Vec<i64>,
    /// Adverts met, under the fullest key and in all.
    met: (usize, usize),
}

impl Placement {
    /// Looks for the property an advert belongs to; `own` is the advert's number and property when it is known already.
    pub fn find(
        connection: &Connection,
        fingerprint: &Fingerprint,
        own: Option<(i64, i64)>,
    ) -> rusqlite::Result<Self> {
        let (near, met) = find_nearby(connection, fingerprint)?;
        let mut statement = connection
            .prepare_cached("SELECT property, fingerprint FROM fingerprints WHERE advert = ?1")?;
        let mut alike = Vec::new();
        let mut weighed = BTreeSet::new();
        for advert in near {
            let (property, other) = statement.query_row([advert], |row| {
                Ok((row.get(0)?, rows::fingerprint(row, 1)?))
            })?;
            // Most of those met are plainly different: their properties need not be read whole.
            if !is_different(fingerprint, &other) {
                alike.push(advert);
                weighed.insert(property);
            }
        }
        Ok(Self {
            found: choose_property(connection, fingerprint, own, &weighed)?,
            alike,
            weighed: weighed.into_iter().collect(),
            met,
        })
    }

    /// What [`Placement::find`] finds now, after what changed since.
    pub fn now(
        &self,
        connection: &Connection,
        fingerprint: &Fingerprint,
        own: Option<(i64, i64)>,
        recent: &RecentChanges,
    ) -> rusqlite::Result<PlacementTarget> {
        let met_since = recent.under(&fingerprint.probes());
        let (of_key, in_all) = (self.met.0 + met_since.len(), self.met.1 + met_since.len());
        let is_full = of_key >= CANDIDATES_PER_KEY_MAX || in_all >= CANDIDATES_MAX;
        if is_full && (!met_since.is_empty() || recent.has_changed_adverts()) {
            // The latest are met: who came may have displaced others, who left may have let others in.
            return Ok(Self::find(connection, fingerprint, own)?.found);
        }
        let alike_since: Vec<i64> = met_since
            .into_iter()
            .filter(|(_, other)| !is_different(fingerprint, other))
            .map(|(advert, _)| advert)
            .collect();
        let is_changed = |property: &i64| recent.has_property(*property);
        if alike_since.is_empty() && !self.weighed.iter().any(is_changed) {
            return Ok(self.found.clone());
        }
        let unchanged = self.alike.iter().filter(|one| !recent.has_advert(**one));
        let mut property_of =
            connection.prepare_cached("SELECT property FROM fingerprints WHERE advert = ?1")?;
        let weighed = unchanged
            .chain(&alike_since)
            .map(|advert| property_of.query_row([advert], |row| row.get(0)))
            .collect::<rusqlite::Result<BTreeSet<i64>>>()?;
        choose_property(connection, fingerprint, own, &weighed)
    }
}

fn is_different(one: &Fingerprint, other: &Fingerprint) -> bool {
    compare(one, other).verdict() == DedupVerdict::Different
}

/// Adverts under any key that an advert looks up, each once, without those their outlines rule out; and how many were
/// met, under the fullest key and in all.
fn find_nearby(
    connection: &Connection,
    fingerprint: &Fingerprint,
) -> rusqlite::Result<(Vec<i64>, (usize, usize))> {
    // A limit bound as a parameter would have the statement planned anew for each key.
    let mut statement = connection
        .prepare_cached("SELECT advert, outline FROM blocks WHERE key = ?1 ORDER BY advert DESC")?;
    let mut met: Vec<(i64, bool)> = Vec::new();
    let mut fullest = 0;
    for BlockKey(key) in fingerprint.probes() {
        let before = met.len();
        let mut rows = statement.query([key])?;
        while met.len() - before < CANDIDATES_PER_KEY_MAX
            && let Some(row) = rows.next()?
        {
            // Blocks of an older version have no outlines.
            let outline = row.get_ref(1)?.as_blob_or_null()?.and_then(Outline::decode);
            let is_ruled_out = outline.is_some_and(|other| fingerprint.certainly_differs(&other));
            met.push((row.get(0)?, is_ruled_out));
        }
        fullest = fullest.max(met.len() - before);
    }
    met.sort_unstable();
    met.dedup_by_key(|(advert, _)| *advert);
    let in_all = met.len();
    met.drain(..in_all.saturating_sub(CANDIDATES_MAX));
    let near = met.into_iter().filter(|(_, is_ruled_out)| !is_ruled_out);
    Ok((near.map(|(advert, _)| advert).collect(), (fullest, in_all)))
}

/// Decides between properties, by all adverts each of them holds.
fn choose_property(
    connection: &Connection,
    fingerprint: &Fingerprint,
    own: Option<(i64, i64)>,
    properties: &BTreeSet<i64>,
) -> rusqlite::Result<PlacementTarget> {
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
        candidates.extend(
            members
                .into_iter()
                .map(|(number, fingerprint)| AssignmentCandidate {
                    property: id,
                    // Numbers follow arrival as identifiers do: enough to break ties.
                    advert: FlxId(Uuid::from_u128(number as u128)),
                    fingerprint,
                }),
        );
    }
    let number = |id: FlxId| {
        let known = numbers.iter().find(|(known, _)| *known == id);
        known.map(|(_, number)| *number)
    };
    let assignment = match own {
        None => assign(fingerprint, &candidates),
        Some(_) => assign_known(fingerprint, &candidates),
    };
    Ok(match assignment {
        Assignment::New => None,
        Assignment::Join { property, bridged } => {
            number(property).map(|found| (found, bridged.into_iter().filter_map(number).collect()))
        }
    })
}

/// What becomes of properties when a draft is stored, found out before its transaction.
#[derive(Clone, Debug)]
pub(crate) struct PlannedPlacement {
    /// Where the advert belongs; `None` of a known one that stays where it is.
    pub placement: Option<Placement>,
    /// The number of the property that its adverts make with this one, and what they make; no number of a new one.
    pub made: Option<(Option<i64>, BuiltProperty)>,
}

impl PlannedPlacement {
    /// Finds out, for a draft made from a stored advert or from none.
    pub fn plan(
        connection: &Connection,
        draft: &AdvertDraft,
        stored: Option<&StoredAdvert>,
    ) -> rusqlite::Result<Self> {
        match stored {
            None => Self::of_new(connection, draft),
            Some(stored) => Self::of_known(connection, draft, stored),
        }
    }

    fn of_new(connection: &Connection, draft: &AdvertDraft) -> rusqlite::Result<Self> {
        let placement = Placement::find(connection, &draft.fingerprint, None)?;
        let made = match &placement.found {
            None => Some((None, own_property(draft)?)),
            Some((property, bridged)) if bridged.is_empty() => {
                let id = rows::property_id(connection, *property)?;
                let members = rows::members(connection, *property)?;
                let members = members.iter().map(|(_, member)| member);
                let made = BuiltProperty::build(id, members.chain([&draft.member]));
                Some((Some(*property), made.map_err(failed)?))
            }
            // What is joined to it is found out when it is.
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
    ) -> rusqlite::Result<Self> {
        let property = stored.property;
        let members = rows::members(connection, property)?;
        let placement = match members.len() == 1 && draft.change == ContentChange::Updated {
            true => {
                let own = Some((stored.advert, property));
                Some(Placement::find(connection, &draft.fingerprint, own)?)
            }
            false => None,
        };
        let id = rows::property_id(connection, property)?;
        let members = members
            .iter()
            .map(|(advert, member)| match *advert == stored.advert {
                true => &draft.member,
                false => member,
            });
        let made = BuiltProperty::build(id, members).map_err(failed)?;
        Ok(Self {
            placement,
            made: Some((Some(property), made)),
        })
    }
}

/// The property that a new advert makes alone.
pub(crate) fn own_property(draft: &AdvertDraft) -> rusqlite::Result<BuiltProperty> {
    let id = draft.member.advert.flx_id;
    let id = id.ok_or_else(|| failed("an advert has no identifier"))?;
    BuiltProperty::build(id, [&draft.member]).map_err(failed)
}

#[cfg(test)]
mod tests;
