//! Incoming adverts: validated against the wire type, without derived fields, and merged into the stored record.
//!
//! Called by `load`. An absent field means "unchanged", an explicit null means "unknown now". The typed record cannot
//! distinguish the two, so the JSON is kept with it and merged as JSON (RFC 7396): objects field by field, lists whole.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Map, Value};

use crate::change::Sighting;
use crate::contacts::{ErasedContacts, RemovedValue};
use crate::identity::{IdentityRules, ListingUrl, URL_RULE};
use crate::implausible::LeftOutPosition;
use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::Timestamp;
use toise_contract::listings::scalars::Floor;
use toise_contract::read::read;

/// How far in the future an observation may be. Some tolerance is needed because clocks differ, but a clock set to next
/// year would block later updates.
pub const CLOCK_SKEW_MAX: Duration = Duration::hours(24);

/// Fields that toise derives. They are ignored on arrival, so that a record read from the service can be sent back.
const DERIVED_FIELDS: [&str; 6] = [
    "flxId",
    "propertyFlxId",
    "mainPropertyAdFlxId",
    "meta",
    "hasAnomaly",
    "lastModifiedAt",
];

/// Fields that say which advert was seen and when; they are stored apart from its content.
const SIGHTING: [&str; 3] = ["url", "firstSeenAt", "lastSeenAt"];

/// A validated advert: one sighting, with the content it reports.
#[derive(Clone, Debug)]
pub struct IncomingAdvert {
    /// The identity of the advert.
    pub url: ListingUrl,
    /// When it was seen: `lastSeenAt`, or the arrival time.
    pub observed_at: Timestamp,
    /// Whether `observed_at` is the arrival time, because the sender gave none.
    pub is_stamped: bool,
    /// The latest plausible time of an observation when the advert arrived.
    pub latest_at: Timestamp,
    /// The earliest sighting the sender knows of, never after `observed_at`.
    pub first_seen_at: Timestamp,
    /// Whether it states a price; an explicit null (price on request) counts as stated.
    pub states_price: bool,
    /// The content as JSON, nulls included.
    pub patch: Map<String, Value>,
    /// The content, with nulls read as unknown.
    pub content: Advert,
    /// The position that was left out because it is impossible; `None` if none was.
    pub left_out_position: Option<LeftOutPosition>,
}

impl IncomingAdvert {
    /// Validates an advert that arrives at `now`; its URL is parsed with the rules of its portal.
    ///
    /// # Errors
    /// The first fault in document order, then a missing `url`.
    pub fn read(value: Value, now: DateTime<Utc>, rules: &IdentityRules) -> Result<Self, Fault> {
        let Value::Object(mut patch) = value else {
            return Err(Fault::new("", "must be an object"));
        };
        patch.retain(|field, _| !DERIVED_FIELDS.contains(&field.as_str()));
        sync_floor_names(&mut patch);
        let left_out_position = LeftOutPosition::leave_out(&mut patch);
        let value = Value::Object(patch);
        let mut content: Advert = read(&value)?;
        let url = match &content.url {
            Some(text) => rules
                .parse(text)
                .ok_or_else(|| Fault::new("url", URL_RULE))?,
            None => return Err(Fault::new("url", "is required")),
        };
        let now = Timestamp::new(now);
        let is_stamped = content.last_seen_at.is_none();
        let observed_at = content.last_seen_at.unwrap_or(now);
        let latest_at = Timestamp::new(now.get() + CLOCK_SKEW_MAX);
        if observed_at > latest_at {
            return Err(Fault::new(
                "lastSeenAt",
                "must not be more than a day in the future",
            ));
        }
        let first_seen_at = content
            .first_seen_at
            .unwrap_or(observed_at)
            .min(observed_at);
        content.url = None;
        content.first_seen_at = None;
        content.last_seen_at = None;
        let Value::Object(mut patch) = value else {
            return Err(Fault::new("", "must be an object"));
        };
        patch.retain(|field, _| !SIGHTING.contains(&field.as_str()));
        Ok(Self {
            url,
            observed_at,
            is_stamped,
            latest_at,
            first_seen_at,
            states_price: states_price(&patch),
            patch,
            content,
            left_out_position,
        })
    }

    /// Removes erased contacts from the content, as if the sender had sent null. Returns whether there were any.
    ///
    /// # Errors
    /// None is expected: a record without some of its values stays valid.
    pub fn forget(&mut self, contacts: &ErasedContacts) -> Result<bool, Fault> {
        if contacts.is_empty() {
            return Ok(false);
        }
        let mut patch = Value::Object(std::mem::take(&mut self.patch));
        let has_any = contacts.remove_from(&mut patch, RemovedValue::Null);
        if has_any {
            self.content = read(&patch)?;
        }
        if let Value::Object(patch) = patch {
            self.patch = patch;
        }
        Ok(has_any)
    }

    /// Returns what the advert's history records of this sighting, which reported `content`: its times, status and
    /// price.
    pub(crate) fn sighting(&self, content: &Advert) -> Sighting {
        Sighting {
            is_stamped: self.is_stamped,
            ..Sighting::from_advert(content, self.observed_at, self.first_seen_at)
        }
    }

    /// Returns the fault to report when the advert is refused. If its location is missing because an impossible
    /// position was left out, the fault names that position.
    pub fn refusal(&self, fault: Fault) -> Fault {
        match &self.left_out_position {
            Some(position) if fault.path == "location" => position.refusal(),
            _ => fault,
        }
    }

    /// Returns the content after this sighting is merged into the `stored` content.
    ///
    /// # Errors
    /// The merged record is invalid, although the incoming part is valid.
    pub fn merged_into(&self, stored: Map<String, Value>) -> Result<Advert, Fault> {
        let mut merged = stored;
        merge_patch(&mut merged, &self.patch);
        read(&Value::Object(merged))
    }
}

fn states_price(patch: &Map<String, Value>) -> bool {
    match patch.get("currentPrice") {
        Some(Value::Null) => true,
        Some(price) => price.get("value").is_some(),
        None => false,
    }
}

/// The floor has two fields. If only one is given, copies it to the other; otherwise an update would make them differ.
/// A null next to a floor counts as not given, because many senders write null for fields that they do not fill.
fn sync_floor_names(patch: &mut Map<String, Value>) {
    let Some(Value::Object(habitation)) = patch.get_mut("habitation") else {
        return;
    };
    let features_floor = match habitation.get("features") {
        Some(Value::Null) => Some(Value::Null),
        Some(features) => features.get("propertyFloor").cloned(),
        None => None,
    };
    let floor = habitation.get("floor").cloned();
    let takes = |own: Option<&Value>, other: &Value| match own {
        None => true,
        Some(own) => own.is_null() && read::<Floor>(other).is_ok(),
    };
    match (floor, features_floor) {
        (floor, Some(features_floor)) if takes(floor.as_ref(), &features_floor) => {
            habitation.insert("floor".into(), features_floor);
        }
        (Some(floor), features_floor) if takes(features_floor.as_ref(), &floor) => {
            if matches!(habitation.get("features"), None | Some(Value::Null)) {
                habitation.insert("features".into(), Value::Object(Map::new()));
            }
            if let Some(Value::Object(features)) = habitation.get_mut("features") {
                features.insert("propertyFloor".into(), floor);
            }
        }
        _ => {}
    }
}

/// Applies a merge patch to an object: null removes, objects merge, everything else replaces.
fn merge_patch(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (field, value) in patch {
        match value {
            Value::Null => {
                target.shift_remove(field);
            }
            Value::Object(inner) => {
                let existing = target
                    .entry(field.as_str())
                    .or_insert_with(|| Value::Object(Map::new()));
                if !existing.is_object() {
                    *existing = Value::Object(Map::new());
                }
                if let Value::Object(existing) = existing {
                    merge_patch(existing, inner);
                }
            }
            other => {
                target.insert(field.clone(), other.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn now() -> DateTime<Utc> {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn read_json(value: Value) -> Result<IncomingAdvert, Fault> {
        IncomingAdvert::read(value, now(), &IdentityRules::default())
    }

    fn incoming(mut value: Value) -> IncomingAdvert {
        value["url"] = json!("https://portail.example/1");
        read_json(value).unwrap()
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn absent_is_unchanged_and_null_is_unknown_now() {
        let stored = json!({
            "title": "T3", "tags": ["cave"], "description": "Beau",
            "habitation": {"roomCount": 3, "surface": {"total": 61, "kitchen": 8}},
        });
        let update = incoming(json!({
            "description": null, "tags": null, "habitation": {"surface": {"kitchen": null, "total": 62}},
        }));
        let merged = serde_json::to_value(update.merged_into(object(stored)).unwrap()).unwrap();
        assert_eq!(merged["title"], "T3");
        assert_eq!(merged["tags"], json!([]));
        assert!(merged.get("description").is_none());
        assert_eq!(merged["habitation"]["roomCount"], 3);
        assert_eq!(merged["habitation"]["surface"], json!({"total": 62}));
    }

    #[test]
    fn derived_fields_of_a_record_sent_back_are_ignored() {
        let first = incoming(json!({
            "flxId": "not even an id", "propertyFlxId": 1, "mainPropertyAdFlxId": [], "meta": 7,
            "hasAnomaly": "x", "lastModifiedAt": 3, "title": "T3",
            "firstSeenAt": "2026-01-01T00:00:00Z", "lastSeenAt": "2026-11-20T08:00:00+01:00",
        }));
        assert_eq!(Value::Object(first.patch), json!({"title": "T3"}));
        assert_eq!(first.observed_at.to_string(), "2026-11-20T07:00:00.000Z");
        assert_eq!(first.first_seen_at.to_string(), "2026-01-01T00:00:00.000Z");
        assert_eq!(first.content.last_seen_at, None);
    }

    #[test]
    fn a_sighting_defaults_to_now_and_is_never_before_the_first() {
        let seen = incoming(json!({}));
        assert_eq!(seen.observed_at.get(), now());
        let seen = incoming(json!({"lastSeenAt": null, "firstSeenAt": "2026-12-01"}));
        assert_eq!(seen.first_seen_at, seen.observed_at);
        let fault = read_json(json!({"url": "https://p.example/1", "lastSeenAt": "2027-01-01"}))
            .unwrap_err();
        assert_eq!(
            fault.to_string(),
            "lastSeenAt: must not be more than a day in the future"
        );
    }

    #[test]
    fn both_names_of_the_floor_get_the_same_value() {
        for habitation in [
            json!({"floor": 3}),
            json!({"features": {"propertyFloor": 3}}),
            json!({"floor": 3, "features": null}),
            json!({"floor": 3, "features": {"propertyFloor": null}}),
            json!({"floor": null, "features": {"propertyFloor": 3}}),
        ] {
            let content = incoming(json!({"habitation": habitation})).content;
            let habitation = content.habitation.unwrap();
            assert_eq!(habitation.floor.unwrap().get(), 3.0);
            assert_eq!(
                habitation.features.unwrap().property_floor.unwrap().get(),
                3.0
            );
        }
        let stored = json!({"habitation": {"floor": 2, "features": {"propertyFloor": 2}}});
        for unknown in [
            json!({"floor": null}),
            json!({"features": {"propertyFloor": null}}),
            json!({"features": null}),
        ] {
            let update = incoming(json!({ "habitation": unknown }));
            let merged = update.merged_into(object(stored.clone())).unwrap();
            let habitation = merged.habitation.unwrap_or_default();
            let features = habitation.features.unwrap_or_default();
            assert_eq!((habitation.floor, features.property_floor), (None, None));
        }
        let message = |habitation: Value| {
            let advert = json!({"url": "https://p.example/1", "habitation": habitation});
            read_json(advert).unwrap_err().to_string()
        };
        let fault = message(json!({"floor": null, "features": {"propertyFloor": 300}}));
        assert!(
            fault.starts_with("habitation.features.propertyFloor: "),
            "{fault}"
        );
    }

    #[test]
    fn a_price_is_stated_by_a_number_or_by_null() {
        for (value, states) in [
            (json!({}), false),
            (json!({"currentPrice": {}}), false),
            (json!({"currentPrice": null}), true),
            (json!({"currentPrice": {"value": null}}), true),
            (json!({"currentPrice": {"value": 1}}), true),
        ] {
            assert_eq!(incoming(value.clone()).states_price, states, "{value}");
        }
    }

    #[test]
    fn faults_name_their_path() {
        for (value, message) in [
            (json!([]), "body: must be an object"),
            (json!({"title": "T3"}), "url: is required"),
            (
                json!({"url": "p.example/1"}),
                "url: must be an http or https address of at most 2048 bytes, without user name",
            ),
            (json!({"url": 3, "type": 4}), "url: must be a string"),
            (
                json!({"medias": {"images": [{}]}}),
                "medias.images[0]: needs its url, or imageId with gaussianHash, meanHash and perceptualHash",
            ),
        ] {
            let text = read_json(value.clone()).unwrap_err().to_string();
            assert!(text.starts_with(message), "{value}: {text}");
        }
    }
}
