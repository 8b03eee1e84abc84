//! An advert as it arrives: read against the wire type, rid of what is ours to say, laid over what is stored.
//!
//! A field that is absent says nothing, an explicit null says "unknown now". The typed record cannot tell the two
//! apart, so the JSON is kept beside it and merged as JSON (RFC 7396): objects field by field, lists whole.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Map, Value};

use crate::adverts::identity::{ListingUrl, URL_RULE};
use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::Timestamp;
use toise_contract::read::read;

/// How far in the future an observation may lie: clocks differ, but one set to next year would block every update.
const CLOCK_SKEW_MAX: Duration = Duration::hours(24);

/// Fields that are derived here and ignored on arrival, so that a record read from the service can be sent back.
const DERIVED_FIELDS: [&str; 6] = [
    "flxId",
    "propertyFlxId",
    "mainPropertyAdFlxId",
    "meta",
    "hasAnomaly",
    "lastModifiedAt",
];

/// Fields that say which listing was seen and when; kept apart from its content.
const SIGHTING: [&str; 3] = ["url", "firstSeenAt", "lastSeenAt"];

/// An advert that was read: a sighting of a listing and what it says of it.
#[derive(Clone, Debug)]
pub struct IncomingAdvert {
    /// Which listing.
    pub url: ListingUrl,
    /// When it was seen: `lastSeenAt`, or now.
    pub observed_at: Timestamp,
    /// The earliest sighting it knows of, not after `observed_at`.
    pub first_seen_at: Timestamp,
    /// Whether it says what the price is, null for a price on request included.
    pub states_price: bool,
    /// Its content as JSON, nulls included.
    pub patch: Map<String, Value>,
    /// Its content, nulls read as unknown.
    pub content: Advert,
}

impl IncomingAdvert {
    /// Reads an advert that arrives at `now`.
    ///
    /// # Errors
    /// The first fault in document order, then a missing `url`.
    pub fn read(value: Value, now: DateTime<Utc>) -> Result<Self, Fault> {
        let Value::Object(mut patch) = value else {
            return Err(Fault::new("", "must be an object"));
        };
        patch.retain(|field, _| !DERIVED_FIELDS.contains(&field.as_str()));
        sync_floor_names(&mut patch);
        let value = Value::Object(patch);
        let mut content: Advert = read(&value)?;
        let url = match &content.url {
            Some(text) => ListingUrl::parse(text).ok_or_else(|| Fault::new("url", URL_RULE))?,
            None => return Err(Fault::new("url", "is required")),
        };
        let now = Timestamp::new(now);
        let observed_at = content.last_seen_at.unwrap_or(now);
        if observed_at.get() > now.get() + CLOCK_SKEW_MAX {
            return Err(Fault::new(
                "lastSeenAt",
                "must not lie more than a day in the future",
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
            first_seen_at,
            states_price: states_price(&patch),
            patch,
            content,
        })
    }

    /// The content after this sighting of a listing whose content was `stored`.
    ///
    /// # Errors
    /// What the two together cannot be; the incoming part alone was read before.
    pub fn over(&self, stored: Map<String, Value>) -> Result<Advert, Fault> {
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

/// The floor has two names: one that is given alone gives the other its value, else an update would leave them apart.
fn sync_floor_names(patch: &mut Map<String, Value>) {
    let Some(Value::Object(habitation)) = patch.get_mut("habitation") else {
        return;
    };
    let features = habitation.get("features");
    let of_features = features
        .and_then(|features| features.get("propertyFloor"))
        .cloned();
    let floor = habitation.get("floor").cloned();
    match (floor, of_features) {
        (None, Some(floor)) => {
            habitation.insert("floor".into(), floor);
        }
        (Some(floor), None) => {
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

/// Merges a patch into an object: null removes, objects merge, everything else replaces.
fn merge_patch(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (field, value) in patch {
        match value {
            Value::Null => {
                target.shift_remove(field);
            }
            Value::Object(inner) => {
                let here = target
                    .entry(field.as_str())
                    .or_insert_with(|| Value::Object(Map::new()));
                if !here.is_object() {
                    *here = Value::Object(Map::new());
                }
                if let Value::Object(here) = here {
                    merge_patch(here, inner);
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
        IncomingAdvert::read(value, now())
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
        let merged = serde_json::to_value(update.over(object(stored)).unwrap()).unwrap();
        assert_eq!(merged["title"], "T3");
        assert_eq!(merged["tags"], json!([]));
        assert!(merged.get("description").is_none());
        assert_eq!(merged["habitation"]["roomCount"], 3);
        assert_eq!(merged["habitation"]["surface"], json!({"total": 62}));
    }

    #[test]
    fn a_record_of_the_service_comes_back_without_what_is_ours() {
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
    fn the_sighting_is_now_unless_told_and_never_before_the_first() {
        let seen = incoming(json!({}));
        assert_eq!(seen.observed_at.get(), now());
        let seen = incoming(json!({"lastSeenAt": null, "firstSeenAt": "2026-12-01"}));
        assert_eq!(seen.first_seen_at, seen.observed_at);
        let fault = read_json(json!({"url": "https://p.example/1", "lastSeenAt": "2027-01-01"}))
            .unwrap_err();
        assert_eq!(
            fault.to_string(),
            "lastSeenAt: must not lie more than a day in the future"
        );
    }

    #[test]
    fn both_names_of_the_floor_say_the_same() {
        for habitation in [
            json!({"floor": 3}),
            json!({"features": {"propertyFloor": 3}}),
            json!({"floor": 3, "features": null}),
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
        let merged = incoming(json!({"habitation": {"floor": null}}))
            .over(object(stored))
            .unwrap();
        assert_eq!(
            merged.habitation.unwrap().features.unwrap().property_floor,
            None
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
                "medias.images[0].gaussianHash: is required",
            ),
        ] {
            let text = read_json(value.clone()).unwrap_err().to_string();
            assert!(text.starts_with(message), "{value}: {text}");
        }
    }
}
