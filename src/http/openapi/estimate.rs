//! The part of the OpenAPI document that tells of estimates: the body from the table that reads it, and the answer.

use serde_json::{Map, Value, json};

use super::schemas::closed;
use crate::resources::estimates::COMPARABLES;
use toise_estimate::request::fields::{CONDITIONS_MAX, FIELDS, Field, Kind, POSITION_PATH};
use toise_estimate::request::keys_of;

/// Component schemas of the request and the answer.
pub(super) fn schemas() -> Map<String, Value> {
    let mut found = Map::new();
    found.insert("EstimateRequest".into(), object(""));
    found.insert("Estimate".into(), estimate());
    found
}

/// The object at a path of the body.
fn object(path: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in keys_of(path) {
        let inner = match path.is_empty() {
            true => key.to_owned(),
            false => format!("{path}.{key}"),
        };
        let within = FIELDS.iter().filter(|field| field.path.starts_with(&inner));
        if within.clone().any(|field| field.is_required) {
            required.push(key);
        }
        let schema = match FIELDS.iter().find(|field| field.path == inner) {
            Some(field) => value(field),
            None if inner == POSITION_PATH => position(),
            None => {
                let mut schema = object(&inner);
                schema["description"] = json!(about(&inner));
                schema
            }
        };
        properties.insert(key.into(), schema);
    }
    closed(Value::Object(properties), &required)
}

fn about(path: &str) -> &'static str {
    match path {
        "location" | "location.locationCoordinate" => "Where the home is",
        "habitation" => "The home itself",
        "habitation.surface" => "Its surface",
        "habitation.propertyCondition" => "Its age and condition",
        "habitation.climate" => "Its diagnostic",
        "habitation.features" => "Its storey and furniture",
        "habitation.characteristics" => {
            "What comes with it; what is not said is unknown, not missing"
        }
        "land" => "The land that comes with it",
        _ => "How it is offered",
    }
}

fn value(field: &Field) -> Value {
    let mut schema = match field.kind {
        Kind::Number(least, greatest) => {
            json!({"type": "number", "minimum": least, "maximum": greatest})
        }
        Kind::Whole(least, greatest) => {
            json!({"type": "integer", "minimum": least as i64, "maximum": greatest as i64})
        }
        Kind::Flag => json!({"type": "boolean"}),
        Kind::OneOf(allowed) => json!({"type": "string", "enum": allowed}),
        Kind::Some(allowed) => {
            json!({"type": "array", "maxItems": CONDITIONS_MAX, "items": {"type": "string", "enum": allowed}})
        }
        Kind::Day => json!({"type": "string", "format": "date"}),
    };
    schema["description"] = json!(field.about);
    schema
}

fn position() -> Value {
    let numbers = FIELDS
        .iter()
        .filter(|field| field.path.starts_with(POSITION_PATH));
    json!({
        "type": "array",
        "prefixItems": numbers.map(value).collect::<Vec<_>>(),
        "items": {"type": "number"},
        "minItems": 2,
        "maxItems": 2,
        "description": "Longitude, then latitude. A point outside France is valued at the national average",
    })
}

fn estimate() -> Value {
    let eur = |about: &str| json!({"type": "integer", "description": format!("{about}, EUR")});
    let text = |about: &str| json!({"type": "string", "description": about});
    json!({
        "type": "object",
        "required": ["price", "priceRange", "metadata"],
        "properties": {
            "price": eur("Central estimate"),
            "priceRange": {
                "type": "object",
                "description": "Holds the price of four sales in five",
                "required": ["lower", "upper"],
                "properties": {"lower": eur("Lower end"), "upper": eur("Upper end")},
            },
            "metadata": {
                "type": "object",
                "description": "What the estimate rests on",
                "required": ["model", "coverage", "fallback", "confidence", "comparables", "contributions"],
                "properties": {
                    "model": {
                        "type": "object",
                        "description": "The model that answered",
                        "required": ["version", "trained_at", "data_through"],
                        "properties": {
                            "version": text("Digest of the model"),
                            "trained_at": text("When it was trained, ISO 8601"),
                            "data_through": text("Last day it knows sales of, ISO 8601"),
                            "sales": {"type": "integer", "minimum": 0, "description": "Sales it was trained on"},
                            "taught": {"type": "array", "items": {"type": "string"},
                                "description": "Inputs whose effect recorded sales taught"},
                        },
                    },
                    "coverage": {"type": "number", "description": "Share of sales whose price the interval holds"},
                    "fallback": {"type": "string", "enum": ["none", "department", "national"],
                        "description": "What stood in for sales around the home"},
                    "confidence": {"type": "string", "enum": ["HIGH", "MEDIUM", "LOW"],
                        "description": "By the width of the interval"},
                    "comparables": {
                        "type": "array",
                        "maxItems": COMPARABLES,
                        "items": {
                            "type": "object",
                            "required": ["id", "date", "price", "surface", "distance_m"],
                            "properties": {
                                "id": text("Identifier of the recorded sale"),
                                "date": text("Day of the sale, ISO 8601"),
                                "price": {"type": "number", "description": "Price, EUR"},
                                "surface": {"type": "number", "description": "Living surface, m2"},
                                "distance_m": {"type": "integer", "minimum": 0,
                                    "description": "Metres from the home"},
                            },
                        },
                        "description": "Recorded sales most like the home, best first",
                    },
                    "contributions": {
                        "type": "object",
                        "additionalProperties": {"type": "integer"},
                        "description": "What each input adds to the price or takes from it, EUR; they sum to the price",
                    },
                },
            },
        },
    })
}
