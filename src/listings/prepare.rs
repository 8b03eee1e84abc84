//! What an incoming advert makes of a stored one: the next record with its history and events, or nothing, or a fault.
//!
//! A pure function of both, so it runs on all cores before the transaction, and again inside it in the rare case that
//! another writer came first.

use std::borrow::Cow;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::anomaly::Anomalies;
use super::change::{History, Sighting};
use super::complete::{Derived, complete, forget_price_per_area};
use super::dedup::Fingerprint;
use super::document;
use super::incoming::Incoming;
use super::property::{Member, of_members};
use crate::geo::iris::IrisIndex;
use crate::wire::Fault;
use crate::wire::listings::codes::FlxId;
use crate::wire::listings::deliveries::AdvertEvent;
use crate::wire::listings::market::Meta;
use crate::wire::listings::{Advert, Property};
use crate::wire::read::read;

/// Fields of a stored record that no sighting gives.
const NOT_CONTENT: [&str; 7] = [
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
pub struct Stored {
    /// Its number in the store.
    pub advert: i64,
    /// The number of its property.
    pub property: i64,
    /// The number of its last change.
    pub sequence: i64,
    /// What is remembered beside the record.
    pub history: History,
    /// What of the record was derived.
    pub derived: Derived,
    /// JSON text of the record.
    pub text: Vec<u8>,
}

/// What happened to the content of an advert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Created,
    /// Its content changed.
    Updated,
    /// It says what it said before.
    Unchanged,
}

impl Change {
    /// The contract's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Change::Created => "created",
            Change::Updated => "updated",
            Change::Unchanged => "unchanged",
        }
    }
}

/// A record to store.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The record, complete but for the property's identifier, and what is kept beside it.
    pub member: Member,
    /// Why it is doubted.
    pub anomalies: Anomalies,
    /// What comparisons need of it.
    pub fingerprint: Fingerprint,
    /// What happened to it.
    pub events: Vec<AdvertEvent>,
    /// What happened to its content.
    pub change: Change,
    /// What whoever sent it should know.
    pub warnings: Vec<Cow<'static, str>>,
    /// The record as the store keeps it.
    pub document: Vec<u8>,
    /// The property it makes alone; made beforehand for a new advert, which mostly is alone.
    pub own_property: Option<MadeProperty>,
}

/// A property made from its adverts.
#[derive(Clone, Debug)]
pub struct MadeProperty {
    /// Its record.
    pub record: Property,
    /// The same as the store keeps it.
    pub document: Vec<u8>,
}

impl MadeProperty {
    /// The property that adverts make under an identifier.
    pub(super) fn of(id: FlxId, members: &[Member]) -> Result<Self, document::Error> {
        let record = of_members(id, members);
        Ok(Self {
            document: document::encode(&record)?,
            record,
        })
    }
}

/// What to do about an incoming advert.
#[derive(Clone, Debug)]
pub enum Step {
    /// Store a record.
    Write(Box<Draft>),
    /// Nothing: everything it says is known, or older than what is known. The advert it is about.
    Nothing(FlxId),
    /// It is not taken.
    Reject(Fault),
}

/// Decides what to do about an incoming advert, given what is stored under its address.
///
/// # Errors
/// A stored record that cannot be read, a record that cannot be written.
pub fn prepare(
    incoming: &Incoming,
    stored: Option<&Stored>,
    iris: Option<&IrisIndex>,
) -> Result<Step, document::Error> {
    let step = match stored {
        None => create(incoming, iris)?,
        Some(stored) => update(incoming, stored, iris)?,
    };
    Ok(step)
}

fn create(incoming: &Incoming, iris: Option<&IrisIndex>) -> Result<Step, document::Error> {
    let mut content = incoming.content.clone();
    content.is_online.get_or_insert(true);
    if let Err(fault) = require(&content) {
        return Ok(Step::Reject(fault));
    }
    if !incoming.states_price {
        let fault = Fault::new(
            "currentPrice.value",
            "is required; null for a price on request",
        );
        return Ok(Step::Reject(fault));
    }
    let sighting = Sighting::of(&content, incoming.observed_at, incoming.first_seen_at);
    content.flx_id = Some(FlxId(Uuid::now_v7()));
    content.url = Some(incoming.url.address().to_owned());
    let history = History::begin(sighting);
    finish(content, history, Change::Created, Vec::new(), iris)
}

fn update(
    incoming: &Incoming,
    stored: &Stored,
    iris: Option<&IrisIndex>,
) -> Result<Step, document::Error> {
    let damaged = |error: &dyn std::fmt::Display| document::Error::Damaged(error.to_string());
    let mut given: Map<String, Value> =
        serde_json::from_slice(&stored.text).map_err(|error| damaged(&error))?;
    let text_of = |field: &str| given.get(field).and_then(Value::as_str);
    let flx_id = text_of("flxId").and_then(FlxId::parse);
    let flx_id = flx_id.ok_or_else(|| damaged(&"it has no flxId"))?;
    let url = text_of("url").map(str::to_owned);
    stored.derived.remove_from(&mut given);
    given.retain(|field, _| !NOT_CONTENT.contains(&field.as_str()));
    let given = Value::Object(given);
    let mut was: Advert = read(&given).map_err(|fault| damaged(&fault))?;
    forget_price_per_area(&mut was);
    let Value::Object(given) = given else {
        return Ok(Step::Nothing(flx_id));
    };
    let whole = |mut content: Advert| {
        content.flx_id = Some(flx_id);
        content.url = url;
        content
    };
    if stored.history.is_later_than(incoming.observed_at) {
        let history = stored.history.with_earlier(incoming.first_seen_at);
        if history == stored.history {
            return Ok(Step::Nothing(flx_id));
        }
        return finish(whole(was), history, Change::Unchanged, Vec::new(), iris);
    }
    let mut is = match incoming.over(given) {
        Ok(content) => content,
        Err(fault) => return Ok(Step::Reject(fault)),
    };
    forget_price_per_area(&mut is);
    is.is_online = is.is_online.or(was.is_online).or(Some(true));
    if let Err(fault) = require(&is) {
        return Ok(Step::Reject(fault));
    }
    let is_changed = is != was;
    let sighting = Sighting::of(&is, incoming.observed_at, incoming.first_seen_at);
    let (history, events) = stored.history.after(&was, sighting, is_changed);
    if !is_changed && history == stored.history {
        return Ok(Step::Nothing(flx_id));
    }
    let change = if is_changed {
        Change::Updated
    } else {
        Change::Unchanged
    };
    finish(whole(is), history, change, events, iris)
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

/// The record made of content and history.
fn finish(
    mut advert: Advert,
    history: History,
    change: Change,
    events: Vec<AdvertEvent>,
    iris: Option<&IrisIndex>,
) -> Result<Step, document::Error> {
    let completed = complete(&mut advert, iris);
    let anomalies = Anomalies::of(&advert);
    advert.has_anomaly = Some(!anomalies.is_empty());
    advert.first_seen_at = Some(history.first_seen_at);
    advert.last_seen_at = Some(history.observed_at);
    advert.last_modified_at = Some(history.modified_at);
    advert.meta = Some(Meta {
        first_seen_at: Some(history.first_seen_at),
        last_published_at: Some(history.published_at),
        last_seen_at: Some(history.observed_at),
        last_updated_at: Some(history.modified_at),
        ..Meta::default()
    });
    let mut warnings = completed.warnings;
    warnings.extend(anomalies.reasons().map(Cow::Borrowed));
    let document = document::encode(&advert)?;
    let fingerprint = Fingerprint::of(&advert);
    let own_id = advert.flx_id.filter(|_| change == Change::Created);
    let member = Member {
        advert,
        history,
        derived: completed.derived,
    };
    let alone = std::slice::from_ref(&member);
    let own_property = own_id.map(|id| MadeProperty::of(id, alone));
    let own_property = own_property.transpose()?;
    Ok(Step::Write(Box::new(Draft {
        fingerprint,
        own_property,
        member,
        anomalies,
        events,
        change,
        warnings,
        document,
    })))
}
