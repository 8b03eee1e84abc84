//! Which property an advert belongs to: finding it, joining properties that turn out to be one, undoing that.
//!
//! A property keeps its identifier for life, the first advert's. When two properties turn out to be one asset the one
//! that was there first stays and the other's identifier answers with its record. What a person splits is never joined
//! again: those pairs are remembered advert by advert.

use std::collections::BTreeSet;

use rusqlite::OptionalExtension;
use uuid::Uuid;

use super::dedup::{Assignment, Candidate, Fingerprint, Verdict, assign, compare};
use super::identity::UrlDigest;
use super::prepare::{Change, Draft, MadeProperty};
use super::rows::{self, failed};
use super::tables::Tables;
use crate::alerts::percolate::Occasion;
use crate::wire::listings::codes::FlxId;

/// Adverts of one key that a new one meets at most, the latest first.
const MET_PER_KEY_MAX: usize = 500;
/// Adverts a new one meets at most, the latest first.
const MET_MAX: usize = 2_000;
/// Adverts a property may hold: no asset has so many, and each is looked at when one changes.
pub const MEMBERS_MAX: usize = 200;

impl Tables<'_> {
    /// Stores a new advert under the property it belongs to, or one of its own; gives its number and the property's
    /// identifier.
    pub(super) fn place(
        &mut self,
        digest: &UrlDigest,
        draft: &Draft,
    ) -> rusqlite::Result<(i64, FlxId)> {
        let own_id = draft
            .member
            .advert
            .flx_id
            .ok_or_else(|| failed("an advert has no identifier"))?;
        let Some((property, bridged)) = self.property_of(&draft.fingerprint, None)? else {
            let made = match &draft.own_property {
                Some(made) => made,
                None => &MadeProperty::of(own_id, [&draft.member]).map_err(failed)?,
            };
            let property = self.insert_property(None, own_id, made)?;
            let advert = self.insert_advert(digest, property, draft)?;
            return Ok((advert, own_id));
        };
        let advert = self.insert_advert(digest, property, draft)?;
        let property = self.join(property, &bridged)?;
        self.rebuild(property, Some(Occasion::Joined))?;
        Ok((advert, rows::property_id(self.connection(), property)?))
    }

    /// Stores a known advert's new record; one that is alone in its property may turn out to belong to another.
    pub(super) fn replace(&mut self, advert: i64, draft: &Draft) -> rusqlite::Result<FlxId> {
        self.update_advert(advert, draft)?;
        let mut property = self.property_of_advert(advert)?;
        let mut occasion = (draft.change != Change::Unchanged).then_some(Occasion::Changed);
        if draft.change == Change::Updated && self.fingerprints_of(property)?.len() == 1 {
            let own = Some((advert, property));
            if let Some((found, bridged)) = self.property_of(&draft.fingerprint, own)? {
                let others = [&[found], bridged.as_slice()].concat();
                if let Some(joined) = self.join_any(property, &others)? {
                    (property, occasion) = (joined, Some(Occasion::Joined));
                }
            }
        }
        self.rebuild(property, occasion)?;
        rows::property_id(self.connection(), property)
    }

    /// The property an advert belongs to and those it shows to be the same; `own` is the advert's number and property
    /// when it is known already.
    fn property_of(
        &self,
        fingerprint: &Fingerprint,
        own: Option<(i64, i64)>,
    ) -> rusqlite::Result<Option<(i64, Vec<i64>)>> {
        let met = self.met(&fingerprint.probes(), MET_PER_KEY_MAX, MET_MAX)?;
        // Most of those met are plainly different: their properties need not be read whole.
        let likely: BTreeSet<i64> = met
            .iter()
            .filter(|(_, _, other)| compare(fingerprint, other).verdict() != Verdict::Different)
            .map(|(_, property, _)| *property)
            .collect();
        let mut candidates = Vec::new();
        let mut numbers = Vec::new();
        for property in likely {
            if let Some((advert, own_property)) = own
                && (property == own_property || self.is_kept_apart(advert, property)?)
            {
                continue;
            }
            let members = self.fingerprints_of(property)?;
            if members.len() >= MEMBERS_MAX {
                continue;
            }
            let id = rows::property_id(self.connection(), property)?;
            numbers.push((id, property));
            candidates.extend(members.into_iter().map(|(number, fingerprint)| Candidate {
                property: id,
                // Numbers follow arrival as identifiers do: enough to break ties.
                advert: FlxId(Uuid::from_u128(number as u128)),
                fingerprint,
            }));
        }
        let number = |id: FlxId| {
            numbers
                .iter()
                .find(|(known, _)| *known == id)
                .map(|(_, number)| *number)
        };
        Ok(match assign(fingerprint, &candidates) {
            Assignment::New => None,
            Assignment::Join {
                property, bridged, ..
            } => number(property)
                .map(|found| (found, bridged.into_iter().filter_map(number).collect())),
        })
    }

    /// Joins to a property those that turn out to be the same, as far as nothing speaks against it; gives the one
    /// that stays, whose record is to be rebuilt.
    fn join(&mut self, property: i64, others: &[i64]) -> rusqlite::Result<i64> {
        Ok(self.join_any(property, others)?.unwrap_or(property))
    }

    /// The same; `None` when none was joined.
    fn join_any(&mut self, property: i64, others: &[i64]) -> rusqlite::Result<Option<i64>> {
        let mut joined = None;
        for other in others {
            let survivor = joined.unwrap_or(property);
            if *other == survivor || !self.may_join(survivor, *other)? {
                continue;
            }
            let (first, second) = (survivor.min(*other), survivor.max(*other));
            self.redirect(second, first)?;
            joined = Some(first);
        }
        Ok(joined)
    }

    /// Whether two properties may be one: none of their adverts contradict each other, and nobody split them.
    fn may_join(&self, one: i64, other: i64) -> rusqlite::Result<bool> {
        let (ones, others) = (self.fingerprints_of(one)?, self.fingerprints_of(other)?);
        if ones.len() + others.len() > MEMBERS_MAX {
            return Ok(false);
        }
        for (advert, fingerprint) in &ones {
            if self.is_kept_apart(*advert, other)? {
                return Ok(false);
            }
            let contradicts = |(_, other): &(i64, Fingerprint)| {
                compare(fingerprint, other).verdict() == Verdict::Different
            };
            if others.iter().any(contradicts) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves adverts out of their property into one of their own, for good; the numbers must be some, but not all, of
    /// the property's. Gives the new property's identifier.
    pub(super) fn split(&mut self, property: i64, leaving: &[i64]) -> rusqlite::Result<FlxId> {
        let members = rows::members(self.connection(), property)?;
        let (leave, stay): (Vec<_>, Vec<_>) = members
            .into_iter()
            .partition(|(advert, _)| leaving.contains(advert));
        for (one, _) in &leave {
            for (other, _) in &stay {
                self.keep_apart(*one, *other)?;
            }
        }
        let ids = leave.iter().filter_map(|(_, member)| member.advert.flx_id);
        let (id, former) = self.identifier_for(ids)?;
        let parting: Vec<_> = leave.iter().map(|(_, member)| member.clone()).collect();
        let made = MadeProperty::of(id, &parting).map_err(failed)?;
        let parted = match former {
            Some(former) => {
                self.update_property(former, &made, Some(Occasion::Changed))?;
                former
            }
            None => self.insert_property(None, id, &made)?,
        };
        for (advert, _) in &leave {
            self.move_advert(*advert, parted)?;
        }
        self.rebuild(property, Some(Occasion::Changed))?;
        self.percolate_moved(None)?;
        Ok(id)
    }

    /// The identifier of a property of these adverts: that of one of them, unless a property of other adverts bears it
    /// still. It may have been a property's that was joined to another, which then is that property again.
    fn identifier_for(
        &self,
        adverts: impl Iterator<Item = FlxId>,
    ) -> rusqlite::Result<(FlxId, Option<i64>)> {
        for id in adverts {
            let borne = self
                .connection()
                .prepare_cached(
                    "SELECT property, merged_into IS NULL FROM properties WHERE property_id = ?1",
                )?
                .query_row([id.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            match borne {
                None => return Ok((id, None)),
                Some((former, false)) => return Ok((id, Some(former))),
                Some((_, true)) => {}
            }
        }
        Ok((FlxId(Uuid::now_v7()), None))
    }
}
