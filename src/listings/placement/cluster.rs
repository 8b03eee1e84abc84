//! Applies placements: stores an advert in its property, joins properties and splits them.
//!
//! Called inside the transaction. A property's identifier comes from its first advert and never changes. When two
//! properties turn out to be one asset, the older one stays and the other's identifier redirects to it. An advert that
//! joined a property when little was known about the advert may leave once more is known. Adverts that a person splits
//! are never joined again: the pairs are stored as distinct. Adverts that a person joins stay together.

use rusqlite::OptionalExtension;
use uuid::Uuid;

use crate::adverts::identity::UrlDigest;
use crate::adverts::member::PropertyMember;
use crate::adverts::prepare::{AdvertDraft, ContentChange};
use crate::placement::find::{
    Placement, PlacementQuery, PlacementTarget, PlannedPlacement, is_reconsidered, own_property,
};
use crate::properties::made::BuiltProperty;
use crate::records::rows::{
    self, as_compared_with, fingerprints_of, is_marked_distinct, without_common_marks,
};
use crate::records::tables::ListingsWriter;
use crate::{Error, Result};
use toise_alerts::percolate::PropertyTrigger;
use toise_contract::listings::codes::FlxId;
use toise_dedup::{Fingerprint, may_share};

/// Maximum adverts of a property: no asset has so many, and all are read when one changes.
pub const MEMBERS_MAX: usize = 200;

impl ListingsWriter<'_> {
    /// Stores a new advert in the property it belongs to, or in a new one; returns the advert's number and the
    /// property's identifier. Uses the parts of the plan that are still valid.
    pub(crate) fn place(
        &mut self,
        digest: &UrlDigest,
        draft: &AdvertDraft,
        planned: Option<&PlannedPlacement>,
    ) -> Result<(i64, FlxId)> {
        let own_id = draft.member.advert.flx_id;
        let own_id = own_id.ok_or(Error::NoId("an advert"))?;
        let before = planned.and_then(|planned| planned.placement.as_ref());
        let found = self.find(&draft.fingerprint, None, before)?;
        let likely = found.likely.unwrap_or_default();
        let Some((property, bridged)) = found.property else {
            let property = match planned.and_then(|planned| planned.made.as_ref()) {
                Some((None, made)) => self.insert_property(own_id, made)?,
                _ => self.insert_property(own_id, &own_property(draft)?)?,
            };
            let advert = self.insert_advert(digest, property, draft)?;
            self.replace_likely(advert, &likely)?;
            return Ok((advert, own_id));
        };
        let advert = self.insert_advert(digest, property, draft)?;
        self.replace_likely(advert, &likely)?;
        let property = self.join(property, &bridged)?;
        self.refresh_property(property, PropertyTrigger::AdvertJoined, planned)?;
        Ok((advert, rows::property_id(self.connection(), property)?))
    }

    /// Stores the new record of a known advert. An advert that is alone in its property may turn out to belong to
    /// another property. An advert that has more information than when it joined its property may leave it.
    pub(crate) fn replace(
        &mut self,
        advert: i64,
        draft: &AdvertDraft,
        planned: Option<&PlannedPlacement>,
    ) -> Result<FlxId> {
        let mut property = self.property_of_advert(advert)?;
        let mut trigger = match draft.change {
            ContentChange::Unchanged => PropertyTrigger::Sighted,
            _ => PropertyTrigger::AdvertChanged,
        };
        let found = match draft.change {
            ContentChange::Updated => {
                self.find_other_property(advert, property, &draft.fingerprint, planned)?
            }
            _ => PlacementTarget::default(),
        };
        self.update_advert(advert, draft)?;
        if let Some(likely) = &found.likely {
            self.replace_likely(advert, likely)?;
        }
        if found.leaves {
            return self.leave(advert, property, found.property);
        }
        if let Some((found, bridged)) = found.property {
            let others = [&[found], bridged.as_slice()].concat();
            if let Some(joined) = self.join_any(property, &others)? {
                (property, trigger) = (joined, PropertyTrigger::AdvertJoined);
            }
        }
        self.refresh_property(property, trigger, planned)?;
        Ok(rows::property_id(self.connection(), property)?)
    }

    /// Finds the other properties that a changed advert belongs to.
    fn find_other_property(
        &self,
        advert: i64,
        property: i64,
        fingerprint: &Fingerprint,
        planned: Option<&PlannedPlacement>,
    ) -> Result<PlacementTarget> {
        let own = Some((advert, property));
        // If the property changed, the search before the transaction saw other adverts in it.
        let before = planned
            .filter(|_| self.is_unchanged(property))
            .and_then(|planned| planned.placement.as_ref());
        self.find(fingerprint, own, before)
    }

    /// Moves an advert out of a property, into another or a new one; returns the identifier of its new property.
    fn leave(
        &mut self,
        advert: i64,
        property: i64,
        target: Option<(i64, Vec<i64>)>,
    ) -> Result<FlxId> {
        let members = rows::members(self.connection(), property)?;
        let leaving: Vec<_> = members
            .into_iter()
            .filter(|(number, _)| *number == advert)
            .collect();
        let id = match target {
            None => self.found(property, &leaving)?,
            Some((target, bridged)) => {
                self.move_members(&leaving, property, target)?;
                let target = self.join(target, &bridged)?;
                self.rebuild(target, PropertyTrigger::AdvertJoined)?;
                rows::property_id(self.connection(), target)?
            }
        };
        self.rebuild(property, PropertyTrigger::AdvertChanged)?;
        Ok(id)
    }

    /// Finds the property of an advert; `before` was found before the transaction, `own` is as for [`Placement::find`].
    fn find(
        &self,
        fingerprint: &Fingerprint,
        own: Option<(i64, i64)>,
        before: Option<&Placement>,
    ) -> Result<PlacementTarget> {
        let may_leave = match own {
            Some((advert, _)) => is_reconsidered(self.connection(), advert, fingerprint)?,
            None => false,
        };
        let query = PlacementQuery {
            fingerprint,
            own,
            may_leave,
            thresholds: self.thresholds(),
        };
        match (before, self.recent()) {
            (Some(before), Some(recent)) => before.now(self.connection(), query, recent),
            _ => Ok(Placement::find(self.connection(), query)?.found),
        }
    }

    /// Replaces a property's record with one built from its adverts; uses the planned record if the property has not
    /// changed since.
    fn refresh_property(
        &mut self,
        property: i64,
        trigger: PropertyTrigger,
        planned: Option<&PlannedPlacement>,
    ) -> Result<()> {
        match planned.and_then(|planned| planned.made.as_ref()) {
            Some((Some(of), made)) if *of == property && self.is_unchanged(property) => {
                self.update_property(property, made, trigger)
            }
            _ => self.rebuild(property, trigger),
        }
    }

    /// Joins `others` to a property unless something contradicts it; returns the property that stays, whose record the
    /// caller must rebuild.
    fn join(&mut self, property: i64, others: &[i64]) -> Result<i64> {
        Ok(self.join_any(property, others)?.unwrap_or(property))
    }

    /// Joins `others` as [`Self::join`] does; `None` if none was joined.
    fn join_any(&mut self, property: i64, others: &[i64]) -> Result<Option<i64>> {
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

    /// Returns whether two properties may be joined: together they have at most [`MEMBERS_MAX`] adverts, no two adverts
    /// contradict each other, and no person split them.
    fn may_join(&self, one: i64, other: i64) -> Result<bool> {
        let ones = fingerprints_of(self.connection(), one)?;
        let others = fingerprints_of(self.connection(), other)?;
        if ones.len() + others.len() > MEMBERS_MAX {
            return Ok(false);
        }
        for (advert, fingerprint) in &ones {
            if is_marked_distinct(self.connection(), *advert, other)? {
                return Ok(false);
            }
            let compared = without_common_marks(self.connection(), fingerprint)?;
            for (_, stored) in &others {
                let stored = as_compared_with(self.connection(), &compared, stored)?;
                if !may_share(&compared, &stored) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Moves adverts out of their property into a new one, permanently; returns the new property's identifier.
    /// `leaving` must name some, but not all, of the property's adverts.
    pub(crate) fn split(&mut self, property: i64, leaving: &[i64]) -> Result<FlxId> {
        let members = rows::members(self.connection(), property)?;
        let (leave, stay): (Vec<_>, Vec<_>) = members
            .into_iter()
            .partition(|(advert, _)| leaving.contains(advert));
        for (one, _) in &leave {
            for (other, _) in &stay {
                self.mark_distinct(*one, *other)?;
            }
        }
        let id = self.found(property, &leave)?;
        for (advert, _) in &leave {
            self.release(*advert)?;
        }
        self.rebuild(property, PropertyTrigger::AdvertChanged)?;
        self.percolate_moved(None)?;
        Ok(id)
    }

    /// Creates a property from some adverts of another, whose record the caller must rebuild; returns its identifier.
    pub(super) fn found(
        &mut self,
        former: i64,
        leaving: &[(i64, PropertyMember)],
    ) -> Result<FlxId> {
        let ids = leaving
            .iter()
            .filter_map(|(_, member)| member.advert.flx_id);
        let (id, revived) = self.identifier_for(ids)?;
        let made = BuiltProperty::build(id, leaving.iter().map(|(_, member)| member))?;
        let property = match revived {
            Some(revived) => {
                self.update_property(revived, &made, PropertyTrigger::AdvertChanged)?;
                revived
            }
            None => self.insert_property(id, &made)?,
        };
        self.move_members(leaving, former, property)?;
        Ok(id)
    }

    /// Moves adverts from one property to another, with the identifiers that come from these adverts.
    pub(super) fn move_members(
        &mut self,
        leaving: &[(i64, PropertyMember)],
        former: i64,
        property: i64,
    ) -> Result<()> {
        for (advert, member) in leaving {
            self.move_advert(*advert, property)?;
            if let Some(merged_id) = member.advert.flx_id {
                self.redirect_identifier(merged_id, former, property)?;
            }
        }
        Ok(())
    }

    /// Returns the identifier for a property of these adverts: the first of their own identifiers that no live property
    /// has, otherwise a new one. If it belonged to a property that was joined to another, the number of that property
    /// is returned for reuse.
    fn identifier_for(
        &self,
        adverts: impl Iterator<Item = FlxId>,
    ) -> rusqlite::Result<(FlxId, Option<i64>)> {
        for id in adverts {
            let existing = self
                .connection()
                .prepare_cached(
                    "SELECT property, merged_into IS NULL FROM properties WHERE property_id = ?1",
                )?
                .query_row([id.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            match existing {
                None => return Ok((id, None)),
                Some((former, false)) => return Ok((id, Some(former))),
                Some((_, true)) => {}
            }
        }
        Ok((FlxId(Uuid::now_v7()), None))
    }
}
