//! Finds the property an advert belongs to, among the adverts that share a block key with it.
//!
//! Ingestion calls it, and spends most of its time here, so readers search on all cores before the transaction
//! ([`PlannedPlacement::plan`]). Inside the transaction only what changed since is checked ([`Placement::now`]); the
//! result is the same as that of a full search there. At two million properties an advert has about 130 candidates.
//! Their outlines are read in runs of neighbours; the one in ten that remains is compared by its fingerprint.

use std::collections::BTreeSet;

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
    Agreements, Assignment, AssignmentCandidate, BlockKey, Fingerprint, Outline, Surroundings,
    assign, assign_known, may_be_same,
};

/// Maximum candidates under one block key, latest first.
const CANDIDATES_PER_KEY_MAX: usize = 500;
/// Maximum candidates in all, latest first.
const CANDIDATES_MAX: usize = 2_000;

/// The number of the property an advert belongs to, and of others that it shows to be the same asset; `None` when it
/// founds a new property.
pub(crate) type PlacementTarget = Option<(i64, Vec<i64>)>;

/// Where an advert belongs as of one state of the store, and what that result depends on.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// Where the advert belongs.
    pub found: PlacementTarget,
    /// Candidates that are not clearly different.
    alike: Vec<i64>,
    /// The properties of those candidates, which were compared in full.
    weighed: Vec<i64>,
    /// The adverts met, and how their values agree with those of this one.
    met: Vec<(i64, Agreements)>,
    /// Number of candidates under the fullest key.
    fullest: usize,
}

impl Placement {
    /// Searches for the property an advert belongs to; `own` is the number and property of an advert already stored.
    pub fn find(
        connection: &Connection,
        fingerprint: &Fingerprint,
        own: Option<(i64, i64)>,
    ) -> Result<Self> {
        let Nearby { near, met, fullest } = find_nearby(connection, fingerprint)?;
        let around: Surroundings = met.iter().map(|(_, agreements)| *agreements).collect();
        let mut statement = connection
            .prepare_cached("SELECT property, fingerprint FROM fingerprints WHERE advert = ?1")?;
        let mut alike = Vec::new();
        let mut weighed = BTreeSet::new();
        for advert in near {
            let (property, other) = one_row(&mut statement, [advert], |row| {
                Ok((row.get(0)?, rows::fingerprint(row, 1)?))
            })?;
            // Most candidates are clearly different: their properties need not be read in full.
            if may_be_same(fingerprint, &other) {
                alike.push(advert);
                weighed.insert(property);
            }
        }
        Ok(Self {
            found: choose_property(connection, fingerprint, own, &weighed, &around)?,
            alike,
            weighed: weighed.into_iter().collect(),
            met,
            fullest,
        })
    }

    /// What [`Placement::find`] would find now, given what changed since it ran.
    pub fn now(
        &self,
        connection: &Connection,
        fingerprint: &Fingerprint,
        own: Option<(i64, i64)>,
        recent: &RecentChanges,
    ) -> Result<PlacementTarget> {
        let met_since = recent.under(&fingerprint.probes());
        let (of_key, in_all) = (
            self.fullest + met_since.len(),
            self.met.len() + met_since.len(),
        );
        let is_full = of_key >= CANDIDATES_PER_KEY_MAX || in_all >= CANDIDATES_MAX;
        if is_full && (!met_since.is_empty() || recent.has_changed_adverts()) {
            // Only the latest are candidates: new adverts may have displaced some, removed ones made room for others.
            return Ok(Self::find(connection, fingerprint, own)?.found);
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
        let is_alone = self.weighed.is_empty() && alike_since.is_empty();
        if is_alone || (is_around_same && !self.weighed.iter().any(is_changed)) {
            return Ok(self.found.clone());
        }
        let still = self.met.iter().filter(|(advert, _)| !is_gone(advert));
        let since = met_since
            .iter()
            .map(|(_, other)| Agreements::between(fingerprint, other));
        let around = still
            .map(|(_, agreements)| *agreements)
            .chain(since)
            .collect();
        let unchanged = self.alike.iter().filter(|advert| !is_gone(advert));
        let mut property_of =
            connection.prepare_cached("SELECT property FROM fingerprints WHERE advert = ?1")?;
        let weighed = unchanged
            .chain(&alike_since)
            .map(|advert| property_of.query_row([advert], |row| row.get(0)))
            .collect::<rusqlite::Result<BTreeSet<i64>>>()?;
        choose_property(connection, fingerprint, own, &weighed, &around)
    }
}

/// The adverts around an advert.
struct Nearby {
    /// Those that their outlines do not rule out.
    near: Vec<i64>,
    /// All of them, with how their values agree with those of the advert.
    met: Vec<(i64, Agreements)>,
    /// Number under the fullest key.
    fullest: usize,
}

/// How common the values of an advert are among the adverts around it.
pub(crate) fn surroundings(
    connection: &Connection,
    fingerprint: &Fingerprint,
) -> Result<Surroundings> {
    let met = find_nearby(connection, fingerprint)?.met;
    Ok(met.into_iter().map(|(_, agreements)| agreements).collect())
}

/// Adverts under any block key that the fingerprint probes, each once.
fn find_nearby(connection: &Connection, fingerprint: &Fingerprint) -> rusqlite::Result<Nearby> {
    // The loop stops reading at the limit: a LIMIT bound as a parameter would make SQLite plan again for each key.
    let mut statement = connection
        .prepare_cached("SELECT advert, outline FROM blocks WHERE key = ?1 ORDER BY advert DESC")?;
    let mut met: Vec<(i64, bool, Agreements)> = Vec::new();
    let mut fullest = 0;
    for BlockKey(key) in fingerprint.probes() {
        let before = met.len();
        let mut rows = statement.query([key])?;
        while met.len() - before < CANDIDATES_PER_KEY_MAX
            && let Some(row) = rows.next()?
        {
            // Blocks written by an older version have no outlines.
            let outline = row.get_ref(1)?.as_blob_or_null()?.and_then(Outline::decode);
            let is_ruled_out = outline
                .as_ref()
                .is_some_and(|other| fingerprint.certainly_differs(other));
            let agreements = outline.map(|other| other.agreements(fingerprint));
            met.push((row.get(0)?, is_ruled_out, agreements.unwrap_or_default()));
        }
        fullest = fullest.max(met.len() - before);
    }
    met.sort_unstable_by_key(|(advert, ..)| *advert);
    met.dedup_by_key(|(advert, ..)| *advert);
    met.drain(..met.len().saturating_sub(CANDIDATES_MAX));
    let near = met.iter().filter(|(_, is_ruled_out, _)| !is_ruled_out);
    Ok(Nearby {
        near: near.map(|(advert, ..)| *advert).collect(),
        met: met
            .into_iter()
            .map(|(advert, _, agreements)| (advert, agreements))
            .collect(),
        fullest,
    })
}

/// Chooses between properties by comparing with all adverts of each.
fn choose_property(
    connection: &Connection,
    fingerprint: &Fingerprint,
    own: Option<(i64, i64)>,
    properties: &BTreeSet<i64>,
    around: &Surroundings,
) -> Result<PlacementTarget> {
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
                    // Numbers grow with arrival as identifiers do, which is enough to break ties.
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
        None => assign(fingerprint, &candidates, around),
        Some(_) => assign_known(fingerprint, &candidates, around),
    };
    Ok(match assignment {
        Assignment::New => None,
        Assignment::Join { property, bridged } => {
            number(property).map(|found| (found, bridged.into_iter().filter_map(number).collect()))
        }
    })
}

/// What storing a draft does to properties, worked out before its transaction.
#[derive(Clone, Debug)]
pub(crate) struct PlannedPlacement {
    /// Where the advert belongs; `None` for a known advert that stays in its property.
    pub placement: Option<Placement>,
    /// The property rebuilt with this advert, and its number; no number for a new property. `None` when properties are
    /// to be joined.
    pub made: Option<(Option<i64>, BuiltProperty)>,
}

impl PlannedPlacement {
    /// Plans for a draft that updates the stored advert, or is new.
    pub fn plan(
        connection: &Connection,
        draft: &AdvertDraft,
        stored: Option<&StoredAdvert>,
    ) -> Result<Self> {
        match stored {
            None => Self::of_new(connection, draft),
            Some(stored) => Self::of_known(connection, draft, stored),
        }
    }

    fn of_new(connection: &Connection, draft: &AdvertDraft) -> Result<Self> {
        let placement = Placement::find(connection, &draft.fingerprint, None)?;
        let made = match &placement.found {
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
    ) -> Result<Self> {
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
        let made = BuiltProperty::build(id, members)?;
        Ok(Self {
            placement,
            made: Some((Some(property), made)),
        })
    }
}

/// The property that a new advert founds.
pub(crate) fn own_property(draft: &AdvertDraft) -> Result<BuiltProperty> {
    let id = draft.member.advert.flx_id;
    let id = id.ok_or(Error::NoId("an advert"))?;
    Ok(BuiltProperty::build(id, [&draft.member])?)
}

#[cfg(test)]
mod tests;
