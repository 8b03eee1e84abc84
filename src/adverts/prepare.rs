//! Prepares an incoming advert: merges it with the stored advert. The result is a record to write, no change, or a
//! fault.
//!
//! [`prepare`] is a pure function, so ingestion runs it on all cores before the transaction, and again inside the
//! transaction in the rare case that another writer was faster. It has two steps. First, an [`AdvertState`] and a
//! sighting give the next state; a bulk load, whose sightings follow each other in memory, repeats only this step. Then
//! an [`AdvertDraft`] is built from the last state, ready to be written.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::member::PropertyMember;
use crate::anomaly::Anomalies;
use crate::change::AdvertHistory;
use crate::complete::{DerivedFields, complete, forget_price_per_area, names_a_town};
use crate::identity::IdentityRules;
use crate::incoming::IncomingAdvert;
use crate::locating::PlaceSources;
use crate::restated::is_restated;
use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::deliveries::AdvertEvent;
use toise_contract::listings::market::Meta;
use toise_contract::read::read;
use toise_dedup::Fingerprint;
use toise_store::document;

/// Fields of a stored record that are not content: identity, history and derived flags.
const HISTORY_FIELDS: [&str; 7] = [
    "flxId", "url", "firstSeenAt", "lastSeenAt", "lastModifiedAt", "meta", "hasAnomaly",
];

/// A stored advert.
#[derive(Clone, Debug)]
pub struct StoredAdvert {
    /// The number of the advert in the store.
    pub advert: i64,
    /// The number of its property.
    pub property: i64,
    /// The sequence of its last change.
    pub sequence: i64,
    /// The advert's history.
    pub history: AdvertHistory,
    /// Which fields of the record were derived.
    pub derived: DerivedFields,
    /// The record as JSON text.
    pub text: Vec<u8>,
}

impl StoredAdvert {
    /// Builds the advert's fingerprint from its record.
    ///
    /// # Errors
    /// The record is not the JSON text of an advert.
    pub fn fingerprint(&self) -> serde_json::Result<Fingerprint> {
        let advert: Advert = serde_json::from_slice(&self.text)?;
        let history = &self.history;
        Ok(Fingerprint::from_advert(&advert)
            .with_history(history.previous_price, history.online_at))
    }
}

/// The effect of a sighting on the content of an advert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentChange {
    /// The advert is new.
    Created,
    /// The content changed.
    Updated,
    /// The content is the same as before.
    Unchanged,
}

impl ContentChange {
    /// Returns the name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            ContentChange::Created => "created",
            ContentChange::Updated => "updated",
            ContentChange::Unchanged => "unchanged",
        }
    }
}

/// A record ready to be written.
#[derive(Clone, Debug)]
pub struct AdvertDraft {
    /// The record, complete except for the property's identifier, with its history and derived fields.
    pub member: PropertyMember,
    /// The anomalies of the record.
    pub anomalies: Anomalies,
    /// The fingerprint for comparisons.
    pub fingerprint: Fingerprint,
    /// The events that the sighting caused.
    pub events: Vec<AdvertEvent>,
    /// How the content changed.
    pub change: ContentChange,
    /// Whether the record differs from the stored one only in its timestamps.
    pub is_restated: bool,
    /// Warnings for the sender.
    pub warnings: Vec<Cow<'static, str>>,
    /// The record encoded for the store.
    pub document: Vec<u8>,
}

/// The action to take for an incoming advert.
#[derive(Clone, Debug)]
pub enum IngestDecision {
    /// Write this record.
    Write(Box<AdvertDraft>),
    /// Write nothing: everything it reports is already known, or older than what is known. Holds the advert's
    /// identifier.
    Unchanged(FlxId),
    /// Refuse it.
    Reject(Fault),
}

/// The content of an advert after its sightings, without derived fields, and its history.
#[derive(Clone, Debug)]
pub struct AdvertState {
    flx_id: FlxId,
    url: Option<String>,
    content: Advert,
    history: AdvertHistory,
}

/// The state of an advert after a sighting, and what the sighting changed.
#[derive(Clone, Debug)]
pub struct AdvertDelta {
    /// The state after the sighting.
    pub known: AdvertState,
    /// The events that the sighting caused.
    pub events: Vec<AdvertEvent>,
    /// How the content changed.
    pub change: ContentChange,
}

/// The effect of a sighting on the state of an advert.
#[derive(Clone, Debug)]
pub enum SightingOutcome {
    /// It reports something new.
    Changed(Box<AdvertDelta>),
    /// Everything it reports is already known, or older than what is known. Holds the advert's identifier.
    Unchanged(FlxId),
    /// It is refused.
    Refused(Fault),
}

/// Decides what to do with an incoming advert, given the advert stored under its URL.
///
/// # Errors
/// The stored record cannot be decoded, or the new one cannot be encoded.
pub fn prepare(
    incoming: &IncomingAdvert,
    stored: Option<&StoredAdvert>,
    sources: PlaceSources<'_>,
) -> Result<IngestDecision, document::Error> {
    let outcome = match stored {
        None => AdvertState::first(incoming),
        Some(stored) => {
            let (known, given) = AdvertState::read(stored)?;
            known.update(given, incoming)
        }
    };
    Ok(match outcome {
        SightingOutcome::Unchanged(flx_id) => IngestDecision::Unchanged(flx_id),
        SightingOutcome::Refused(fault) => IngestDecision::Reject(fault),
        SightingOutcome::Changed(delta) => {
            let mut draft = AdvertDraft::build(*delta, sources)?;
            if let (ContentChange::Unchanged, Some(stored)) = (draft.change, stored) {
                // The record may differ although the content is the same: the data that completes it may have changed.
                draft.is_restated = is_restated(&stored.text, &document::decode(&draft.document)?);
            }
            IngestDecision::Write(Box::new(draft))
        }
    })
}

/// Returns the record of a stored advert with every time in its history after `latest` set to `latest`.
///
/// # Errors
/// The stored record cannot be decoded, or the new one cannot be encoded.
pub fn restamp(
    stored: &StoredAdvert,
    latest: Timestamp,
    sources: PlaceSources<'_>,
) -> Result<AdvertDraft, document::Error> {
    let (mut known, _) = AdvertState::read(stored)?;
    known.history = known.history.no_later_than(latest);
    let delta = AdvertDelta {
        known,
        events: Vec::new(),
        change: ContentChange::Unchanged,
    };
    AdvertDraft::build(delta, sources)
}

/// Applies `remove` to the JSON of a stored advert and returns the new record; `None` if `remove` changed nothing. The
/// history does not change.
///
/// # Errors
/// The stored record cannot be decoded, or the new one cannot be encoded.
pub fn without(
    stored: &StoredAdvert,
    remove: &dyn Fn(&mut Value) -> bool,
    sources: PlaceSources<'_>,
) -> Result<Option<AdvertDraft>, document::Error> {
    let damaged = |error: serde_json::Error| document::Error::Damaged(error.to_string());
    let mut record: Value = serde_json::from_slice(&stored.text).map_err(damaged)?;
    if !remove(&mut record) {
        return Ok(None);
    }
    let cleared = StoredAdvert {
        text: record.to_string().into_bytes(),
        ..stored.clone()
    };
    let (known, _) = AdvertState::read(&cleared)?;
    let delta = AdvertDelta {
        known,
        events: Vec::new(),
        change: ContentChange::Unchanged,
    };
    AdvertDraft::build(delta, sources).map(Some)
}

/// Returns the completed record of an advert as if it were new and arrived at `now`, and the warnings for its sender.
///
/// # Errors
/// The fault for which it would be refused.
pub fn preview(
    value: Value,
    now: DateTime<Utc>,
    rules: &IdentityRules,
    sources: PlaceSources<'_>,
) -> Result<(Advert, Vec<Cow<'static, str>>), Fault> {
    let incoming = IncomingAdvert::read(value, now, rules)?;
    match prepare(&incoming, None, sources) {
        Ok(IngestDecision::Write(draft)) => {
            let mut advert = draft.member.advert;
            // The identifier is only assigned when an advert is written.
            advert.flx_id = None;
            Ok((advert, draft.warnings))
        }
        Ok(IngestDecision::Reject(fault)) => Err(fault),
        // Unreachable: an unknown advert is always new.
        Ok(IngestDecision::Unchanged(_)) => Ok((incoming.content, Vec::new())),
        Err(error) => Err(Fault::new("", error.to_string())),
    }
}

impl AdvertState {
    /// Returns the state after the first sighting of an advert; creates its identifier.
    pub fn first(incoming: &IncomingAdvert) -> SightingOutcome {
        let mut content = incoming.content.clone();
        content.is_online.get_or_insert(true);
        forget_price_per_area(&mut content);
        if let Err(fault) = require(&content) {
            return SightingOutcome::Refused(incoming.refusal(fault));
        }
        if !incoming.states_price {
            return SightingOutcome::Refused(Fault::new(
                "currentPrice.value",
                "is required; null for a price on request",
            ));
        }
        let sighting = incoming.sighting(&content);
        let known = Self {
            flx_id: FlxId(Uuid::now_v7()),
            url: Some(incoming.url.address().to_owned()),
            content,
            history: AdvertHistory::begin(sighting),
        };
        known.delta(ContentChange::Created, Vec::new())
    }

    /// Returns the state after a further sighting of the advert.
    pub fn with_sighting(&self, incoming: &IncomingAdvert) -> SightingOutcome {
        match serde_json::to_value(&self.content) {
            Ok(Value::Object(given)) => self.update(given, incoming),
            // Unreachable: every advert serialises to an object.
            _ => SightingOutcome::Unchanged(self.flx_id),
        }
    }

    /// Returns the state of a stored advert, with its content also as JSON.
    fn read(stored: &StoredAdvert) -> Result<(Self, Map<String, Value>), document::Error> {
        let damaged = |error: &dyn std::fmt::Display| document::Error::Damaged(error.to_string());
        let mut given: Map<String, Value> =
            serde_json::from_slice(&stored.text).map_err(|error| damaged(&error))?;
        let text_of = |field: &str| given.get(field).and_then(Value::as_str);
        let flx_id = text_of("flxId").and_then(FlxId::parse);
        let flx_id = flx_id.ok_or_else(|| damaged(&"the record has no flxId"))?;
        let url = text_of("url").map(str::to_owned);
        stored.derived.remove_from(&mut given);
        given.retain(|field, _| !HISTORY_FIELDS.contains(&field.as_str()));
        let given = Value::Object(given);
        let mut content: Advert = read(&given).map_err(|fault| damaged(&fault))?;
        forget_price_per_area(&mut content);
        let known = Self {
            flx_id,
            url,
            content,
            history: stored.history,
        };
        match given {
            Value::Object(given) => Ok((known, given)),
            _ => Err(damaged(&"the record is not an object")),
        }
    }

    /// Does what [`AdvertState::with_sighting`] does, with the content already given as JSON.
    fn update(&self, given: Map<String, Value>, incoming: &IncomingAdvert) -> SightingOutcome {
        let was = &self.content;
        // A stored sighting in the future came from a wrong clock: otherwise, every other sighting would count as
        // outdated.
        let is_outdated = self.history.is_later_than(incoming.observed_at)
            && !self.history.is_later_than(incoming.latest_at);
        if is_outdated {
            let sighting = incoming.sighting(&incoming.content);
            let (history, events) = self.history.before(sighting, incoming.states_price);
            if history == self.history {
                return SightingOutcome::Unchanged(self.flx_id);
            }
            let known = self.with(was.clone(), history);
            return known.delta(ContentChange::Unchanged, events);
        }
        let mut is = match incoming.merged_into(given) {
            Ok(content) => content,
            Err(fault) => return SightingOutcome::Refused(fault),
        };
        forget_price_per_area(&mut is);
        is.is_online = is.is_online.or(was.is_online).or(Some(true));
        if let Err(fault) = require(&is) {
            return SightingOutcome::Refused(fault);
        }
        let is_changed = is != *was;
        let sighting = incoming.sighting(&is);
        let (history, events) = self.history.after(was, sighting, is_changed);
        if !is_changed && history == self.history {
            return SightingOutcome::Unchanged(self.flx_id);
        }
        let change = if is_changed {
            ContentChange::Updated
        } else {
            ContentChange::Unchanged
        };
        self.with(is, history).delta(change, events)
    }

    fn with(&self, content: Advert, history: AdvertHistory) -> Self {
        Self {
            flx_id: self.flx_id,
            url: self.url.clone(),
            content,
            history,
        }
    }

    fn delta(self, change: ContentChange, events: Vec<AdvertEvent>) -> SightingOutcome {
        SightingOutcome::Changed(Box::new(AdvertDelta {
            known: self,
            events,
            change,
        }))
    }
}

/// Returns a record as notifications contain it: with the identifier of its property and without charges.
pub fn notified(advert: Advert, property: FlxId) -> Advert {
    Advert {
        property_flx_id: Some(property),
        main_property_ad_flx_id: Some(property),
        charges: None,
        ..advert
    }
}

/// Checks the fields that every advert must have.
fn require(content: &Advert) -> Result<(), Fault> {
    let required = |is_present: bool, path: &str| {
        if is_present {
            Ok(())
        } else {
            Err(Fault::new(path, "is required"))
        }
    };
    let source = content.source.as_deref().unwrap_or_default();
    required(!source.trim().is_empty(), "source")?;
    required(content.class.is_some(), "type")?;
    let offer = content.offer.as_ref();
    required(
        offer.is_some_and(|offer| offer.offer_type.is_some()),
        "offer.type",
    )?;
    let is_placed = content.location.as_ref().is_some_and(|place| {
        let position = place.location_coordinate.as_ref();
        let address = place.address.as_deref().unwrap_or_default();
        !address.trim().is_empty()
            || place.postal_code.is_some()
            || place.insee_code.is_some()
            || position.is_some_and(|position| position.location.is_some())
            || names_a_town(place)
    });
    if is_placed {
        return Ok(());
    }
    Err(Fault::new(
        "location",
        "must hold postalCode, inseeCode or locationCoordinate, an address, or a city whose name is unique",
    ))
}

impl AdvertDraft {
    /// Builds the record from content and history: completed, checked for anomalies and encoded for the store.
    ///
    /// # Errors
    /// The record cannot be encoded.
    pub fn build(delta: AdvertDelta, sources: PlaceSources<'_>) -> Result<Self, document::Error> {
        let AdvertDelta {
            known,
            events,
            change,
        } = delta;
        let history = known.history;
        let mut advert = known.content;
        advert.flx_id = Some(known.flx_id);
        advert.url = known.url;
        let completed = complete(&mut advert, sources);
        advert.first_seen_at = Some(history.first_seen_at);
        advert.last_seen_at = Some(history.observed_at);
        advert.last_modified_at = Some(history.modified_at);
        let is_offline = advert.is_online == Some(false);
        advert.meta = Some(Meta {
            first_seen_at: Some(history.first_seen_at),
            is_totally_offline: Some(is_offline),
            last_published_at: Some(history.published_at),
            last_seen_at: Some(history.observed_at),
            last_updated_at: Some(history.modified_at),
            totally_offline_at: history.offline_at.filter(|_| is_offline),
        });
        let anomalies = Anomalies::detect(&advert);
        advert.has_anomaly = Some(!anomalies.is_empty());
        let mut warnings = completed.warnings;
        warnings.extend(anomalies.reasons().map(Cow::Borrowed));
        Ok(Self {
            document: document::encode(&advert)?,
            fingerprint: Fingerprint::from_advert(&advert)
                .with_history(history.previous_price, history.online_at),
            member: PropertyMember {
                advert,
                history,
                derived: completed.derived,
            },
            anomalies,
            events,
            change,
            is_restated: false,
            warnings,
        })
    }
}
