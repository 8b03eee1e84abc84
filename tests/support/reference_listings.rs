//! A reference implementation of the contract's listing filters over the JSON of a record.
//!
//! It uses nothing of the wire layer's tables, the columns or the engine: a filter and a record are walked together
//! by key.

use chrono::{DateTime, Days, NaiveDate, Utc};
use serde_json::{Map, Value, json};

use super::areas;

/// Whether a record from [`with_both_floors`] matches a FilterProperty or FilterAdvert.
pub fn matches(record: &Value, filter: &Value) -> bool {
    holds(Some(record), filter)
}

/// A record as in responses, with the floor of its dwelling under both its names.
pub fn with_both_floors(mut record: Value) -> Value {
    if let Some(habitation) = record.get_mut("habitation").and_then(Value::as_object_mut) {
        let floor = habitation.get("floor").cloned();
        let inner = habitation
            .get("features")
            .and_then(|features| features.get("propertyFloor"));
        let inner = inner.cloned();
        if let (None, Some(inner)) = (&floor, &inner) {
            habitation.insert("floor".into(), inner.clone());
        }
        if let (Some(floor), None) = (floor, inner) {
            let features = habitation.entry("features").or_insert(json!({}));
            features["propertyFloor"] = floor;
        }
    }
    record
}

/// An empty list, a range without bounds and an ignored key do not constrain; neither does a list with an entry
/// that does not constrain.
pub fn constrains(filter: &Value) -> bool {
    match filter {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key != "city" && constrains(value)),
        Value::Array(entries) => !entries.is_empty() && entries.iter().all(constrains),
        _ => true,
    }
}

fn holds(value: Option<&Value>, filter: &Value) -> bool {
    if !constrains(filter) {
        return true;
    }
    // A record whose field is missing does not match a filter on that field.
    let Some(value) = value else { return false };
    match (value, filter) {
        // Values of one list are combined with OR.
        (_, Value::Array(entries)) => entries.iter().any(|entry| holds(Some(value), entry)),
        (_, Value::Object(range)) if range.contains_key("min") || range.contains_key("max") => {
            in_range(value, range)
        }
        (_, Value::Object(place))
            if place
                .keys()
                .any(|key| key.starts_with("geo") || key == "area") =>
        {
            place
                .iter()
                .all(|(kind, shape)| !constrains(shape) || lies_in(value, kind, shape))
        }
        // All conditions of one entry must hold for the same advert.
        (Value::Array(items), Value::Object(_)) => {
            items.iter().any(|item| holds(Some(item), filter))
        }
        (Value::Array(items), _) => items.contains(&written(filter)),
        (Value::Object(record), Value::Object(fields)) => fields.iter().all(|(key, filter)| {
            if key == "city" {
                return true;
            }
            if key == "source" && record.get("source").is_none_or(Value::is_string) {
                let own = json!({"website": record.get("source"), "url": record.get("url"),
                    "flxId": record.get("flxId")});
                return holds(Some(&without_nulls(own)), filter);
            }
            holds(record.get(in_records(key)), filter)
        }),
        (Value::Number(number), Value::Number(exact)) => number.as_f64() == exact.as_f64(),
        _ => *value == written(filter),
    }
}

fn without_nulls(value: Value) -> Value {
    let fields = value.as_object().unwrap().clone();
    Value::Object(
        fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
    )
}

/// The key in records for a key in filters.
fn in_records(key: &str) -> &str {
    match key {
        "haveBuildingPermit" => "hasBuildingPermit",
        "haveElectricity" => "hasElectricity",
        "haveTelecom" => "hasTelecom",
        "haveWater" => "hasWater",
        "livingroom" => "livingRoom",
        same => same,
    }
}

/// Two values have a second spelling.
fn written(value: &Value) -> Value {
    match value.as_str() {
        Some("HEAT_TYPE_MIXED") => "HEAT_TYPE_MIX".into(),
        Some("HEAT_DETAIL_SHEATHS") => "HEAT_DETAIL_SHEAHS".into(),
        _ => value.clone(),
    }
}

fn in_range(value: &Value, range: &Map<String, Value>) -> bool {
    range
        .iter()
        .all(|(bound, limit)| match (value, limit.as_str()) {
            (Value::Number(number), None) => {
                let (number, limit) = (number.as_f64().unwrap(), limit.as_f64().unwrap());
                if bound == "min" {
                    number >= limit
                } else {
                    number <= limit
                }
            }
            (Value::String(moment), Some(limit)) => {
                let moment = start(moment);
                if bound == "min" {
                    moment >= start(limit)
                } else {
                    moment < after(limit)
                }
            }
            other => panic!("{other:?}"),
        })
}

/// A moment, or the first one of a bare date.
pub fn start(text: &str) -> DateTime<Utc> {
    match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(day) => day.and_hms_opt(0, 0, 0).unwrap().and_utc(),
        Err(_) => DateTime::parse_from_rfc3339(text).unwrap().to_utc(),
    }
}

/// The first moment after an upper bound; a bare date includes the whole day.
fn after(text: &str) -> DateTime<Utc> {
    match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(_) => start(text) + Days::new(1),
        Err(_) => start(text) + chrono::Duration::nanoseconds(1),
    }
}

/// Whether `[lng, lat]` is in a box or a circle.
fn lies_in(position: &Value, kind: &str, shape: &Value) -> bool {
    let degrees = |value: &Value| value.as_f64().unwrap();
    let (lon, lat) = (degrees(&position[0]), degrees(&position[1]));
    let within = |pin_lat: f64, pin_lon: f64| {
        let north = (lat - pin_lat).to_radians();
        let east = (lon - pin_lon).to_radians() * pin_lat.to_radians().cos();
        6_371_008.8 / 1_000.0 * (north * north + east * east).sqrt()
            <= degrees(&shape["distanceKm"])
    };
    match kind {
        "geoBoundingBox" => {
            let (top_left, bottom_right) = (&shape["topLeft"], &shape["bottomRight"]);
            (degrees(&bottom_right["lat"])..=degrees(&top_left["lat"])).contains(&lat)
                && (degrees(&top_left["lon"])..=degrees(&bottom_right["lon"])).contains(&lon)
        }
        "area" => areas::contains(shape, lat, lon),
        "geoDistance" => within(degrees(&shape["pin"]["lat"]), degrees(&shape["pin"]["lon"])),
        // The centres of Mende, Badaroux and Chastel-Nouvel.
        "geoInseeCodeDistance" if shape["inseeCode"] == "48095" => within(44.535, 3.491),
        "geoInseeCodeDistance" if shape["inseeCode"] == "48013" => within(44.548, 3.561),
        "geoInseeCodeDistance" if shape["inseeCode"] == "48042" => within(44.567, 3.490),
        other => panic!("{other}"),
    }
}
