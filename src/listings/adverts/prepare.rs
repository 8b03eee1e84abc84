//! What an incoming advert makes of a stored one: the next record with its history and events, or nothing, or a fault.
//!
//! A pure function of both, so it runs on all cores before the transaction, and again inside it in the rare case that
//! another writer came first. In two steps: a [`AdvertState`] advert and a sighting make the next, which is all that counts
//! while sightings follow each other in memory; a [`AdvertDraft`] is what is made of it to be stored.

use std::borrow::Cow;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::member::PropertyMember;
use crate::adverts::anomaly::Anomalies;
use crate::adverts::change::{AdvertHistory, Sighting};
use crate::adverts::complete::{DerivedFields, complete, forget_price_per_area};
use crate::adverts::incoming::IncomingAdvert;
use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::deliveries::AdvertEvent;
use toise_contract::listings::market::Meta;
use toise_contract::read::read;
use toise_dedup::Fingerprint;
use toise_geo::iris::IrisIndex;
use toise_store::document;

/// Fields of a stored record that no sighting gives.
const HISTORY_FIELDS: [&str; 7] = [
    "flxId",
    "url",
    "firstSeenAt",
    "lastSeenAt",
    "lastModifiedAt",
    "meta",
    "hasAnomaly",
];

/// A stored advert.
#[derive(Clone, Debug)]
pub struct StoredAdvert {
    /// Its number in the store.
    pub advert: i64,
    /// The number of its property.
    pub property: i64,
    /// The number of its last change.
    pub sequence: i64,
    /// What is remembered beside the record.
    pub history: AdvertHistory,
    /// What of the record was derived.
    pub derived: DerivedFields,
    /// JSON text of the record.
    pub text: Vec<u8>,
}

/// What happened to the content of an advert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentChange {
    /// It is new.
    Created,
    /// Its content changed.
    Updated,
    /// It says what it said before.
    Unchanged,
}

impl ContentChange {
    /// The contract's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            ContentChange::Created => "created",
            ContentChange::Updated => "updated",
            ContentChange::Unchanged => "unchanged",
        }
    }
}

/// A record to store.
#[derive(Clone, Debug)]
pub struct AdvertDraft {
    /// The record, complete but for the property's identifier, and what is kept beside it.
    pub member: PropertyMember,
    /// Why it is doubted.
    pub anomalies: Anomalies,
    /// What comparisons need of it.
    pub fingerprint: Fingerprint,
    /// What happened to it.
    pub events: Vec<AdvertEvent>,
    /// What happened to its content.
    pub change: ContentChange,
    /// What whoever sent it should know.
    pub warnings: Vec<Cow<'static, str>>,
    /// The record as the store keeps it.
    pub document: Vec<u8>,
}

/// What to do about an incoming advert.
#[derive(Clone, Debug)]
pub enum IngestDecision {
    /// Store a record.
    Write(Box<AdvertDraft>),
    /// Nothing: everything it says is known, or older than what is known. The advert it is about.
    Unchanged(FlxId),
    /// It is not taken.
    Reject(Fault),
}

/// What sightings said of an advert so far: its content, without what was derived from it, and its history.
#[derive(Clone, Debug)]
pub struct AdvertState {
    flx_id: FlxId,
    url: Option<String>,
    content: Advert,
    history: AdvertHistory,
}

/// What is known of an advert after a sighting, and what that changed.
#[derive(Clone, Debug)]
pub struct AdvertDelta {
    /// What is known now.
    pub known: AdvertState,
    /// What happened to it.
    pub events: Vec<AdvertEvent>,
    /// What happened to its content.
    pub change: ContentChange,
}

/// What a sighting comes to.
#[derive(Clone, Debug)]
pub enum SightingOutcome {
    /// It says something new.
    Changed(Box<AdvertDelta>),
    /// Everything it says is known, or older than what is known.
    Unchanged(FlxId),
    /// It is not taken.
    Refused(Fault),
}

/// Decides what to do about an incoming advert, given what is stored under its address.
///
/// # Errors
/// A stored record that cannot be read, a record that cannot be written.
pub fn prepare(
    incoming: &IncomingAdvert,
    stored: Option<&StoredAdvert>,
    iris: Option<&IrisIndex>,
) -> Result<IngestDecision, document::Error> {
    let seen = match stored {
        None => AdvertState::begin(incoming),
        Some(stored) => {
            let (known, given) = AdvertState::read(stored)?;
            known.update(given, incoming)
        }
    };
    Ok(match seen {
        SightingOutcome::Unchanged(flx_id) => IngestDecision::Unchanged(flx_id),
        SightingOutcome::Refused(fault) => IngestDecision::Reject(fault),
        SightingOutcome::Changed(delta) => {
            IngestDecision::Write(Box::new(AdvertDraft::build(*delta, iris)?))
        }
    })
}

impl AdvertState {
    /// What the first sighting of an advert says of it; it gets its identifier here.
    pub fn begin(incoming: &IncomingAdvert) -> SightingOutcome {
        let mut content = incoming.content.clone();
        content.is_online.get_or_insert(true);
        forget_price_per_area(&mut content);
        if let Err(fault) = require(&content) {
            return SightingOutcome::Refused(fault);
        }
        if !incoming.states_price {
            return SightingOutcome::Refused(Fault::new(
                "currentPrice.value",
                "is required; null for a price on request",
            ));
        }
        let sighting =
            Sighting::from_advert(&content, incoming.observed_at, incoming.first_seen_at);
        let known = Self {
            flx_id: FlxId(Uuid::now_v7()),
            url: Some(incoming.url.address().to_owned()),
            content,
            history: AdvertHistory::begin(sighting),
        };
        known.delta(ContentChange::Created, Vec::new())
    }

    /// What is known after a further sighting of the advert.
    pub fn then(&self, incoming: &IncomingAdvert) -> SightingOutcome {
        match serde_json::to_value(&self.content) {
            Ok(Value::Object(given)) => self.update(given, incoming),
            // Every advert is written as an object.
            _ => SightingOutcome::Unchanged(self.flx_id),
        }
    }

    /// What is known of a stored advert; its content also as JSON.
    fn read(stored: &StoredAdvert) -> Result<(Self, Map<String, Value>), document::Error> {
        let damaged = |error: &dyn std::fmt::Display| document::Error::Damaged(error.to_string());
        let mut given: Map<String, Value> =
            serde_json::from_slice(&stored.text).map_err(|error| damaged(&error))?;
        let text_of = |field: &str| given.get(field).and_then(Value::as_str);
        let flx_id = text_of("flxId").and_then(FlxId::parse);
        let flx_id = flx_id.ok_or_else(|| damaged(&"it has no flxId"))?;
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
            _ => Err(damaged(&"it is no object")),
        }
    }

    /// The same as [`AdvertState::then`], its content given as JSON.
    fn update(&self, given: Map<String, Value>, incoming: &IncomingAdvert) -> SightingOutcome {
        let was = &self.content;
        if self.history.is_later_than(incoming.observed_at) {
            let history = self.history.with_earlier(incoming.first_seen_at);
            if history == self.history {
                return SightingOutcome::Unchanged(self.flx_id);
            }
            let known = self.with(was.clone(), history);
            return known.delta(ContentChange::Unchanged, Vec::new());
        }
        let mut is = match incoming.over(given) {
            Ok(content) => content,
            Err(fault) => return SightingOutcome::Refused(fault),
        };
        forget_price_per_area(&mut is);
        is.is_online = is.is_online.or(was.is_online).or(Some(true));
        if let Err(fault) = require(&is) {
            return SightingOutcome::Refused(fault);
        }
        let is_changed = is != *was;
        let sighting = Sighting::from_advert(&is, incoming.observed_at, incoming.first_seen_at);
        let (history, events) = self.history.after(was, sighting, is_changed);
        if !is_changed && history == self.history {
            return SightingOutcome::Unchanged(self.flx_id);
        }
        let change = match is_changed {
            true => ContentChange::Updated,
            false => ContentChange::Unchanged,
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

/// What every advert must say, whatever else it leaves open.
fn require(content: &Advert) -> Result<(), Fault> {
    let required = |is_there: bool, path: &str| match is_there {
        true => Ok(()),
        false => Err(Fault::new(path, "is required")),
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
        place.postal_code.is_some()
            || place.insee_code.is_some()
            || position.is_some_and(|position| position.location.is_some())
    });
    if is_placed {
        return Ok(());
    }
    Err(Fault::new(
        "location",
        "must hold postalCode, inseeCode or locationCoordinate",
    ))
}

impl AdvertDraft {
    /// The record made of content and history: completed, doubted, and written as the store keeps it.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn build(delta: AdvertDelta, iris: Option<&IrisIndex>) -> Result<Self, document::Error> {
        let AdvertDelta {
            known,
            events,
            change,
        } = delta;
        let history = known.history;
        let mut advert = known.content;
        advert.flx_id = Some(known.flx_id);
        advert.url = known.url;
        let completed = complete(&mut advert, iris);
        let anomalies = Anomalies::detect(&advert);
        advert.has_anomaly = Some(!anomalies.is_empty());
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
        let mut warnings = completed.warnings;
        warnings.extend(anomalies.reasons().map(Cow::Borrowed));
        Ok(Self {
            document: document::encode(&advert)?,
            fingerprint: Fingerprint::from_advert(&advert).last_online(history.online_at),
            member: PropertyMember {
                advert,
                history,
                derived: completed.derived,
            },
            anomalies,
            events,
            change,
            warnings,
        })
    }
}
