//! The estimates part of the OpenAPI document: the request body, generated from its field table, and the response.

use serde_json::{Map, Value, json};

use crate::endpoint::limits::COMPARABLES;
use toise_contract::fields::schema::{self, Components, count, number, record, record_about, text};
use toise_estimate::request::fields::{ESTIMATE, ESTIMATE_MANY};

/// Returns the component schemas of the request and the response.
pub(super) fn schemas() -> Map<String, Value> {
    let mut found = Map::new();
    let request = schema::object(&ESTIMATE, &mut Components::new());
    found.insert("EstimateRequest".into(), request);
    found.insert("Estimate".into(), estimate());
    found
}

/// Returns the schema of the body of a `_many` call.
pub(crate) fn many_request() -> Value {
    schema::object(&ESTIMATE_MANY, &mut Components::new())
}

/// Describes a recorded sale shown with an estimate.
fn comparable() -> Value {
    record(json!({
        "id": text("Identifier of the recorded sale"),
        "date": text("Day of the sale, ISO 8601"),
        "price": number("Price, EUR"),
        "surface": number("Living surface, m2"),
        "distance_m": count("Distance from the home, metres"),
    }))
}

fn estimate() -> Value {
    let eur = |about: &str| json!({"type": "integer", "description": format!("{about}, EUR")});
    record(json!({
        "price": eur("Central estimate"),
        "priceRange": record_about("Range that contains the price of four sales in five",
            json!({"lower": eur("Lower end"), "upper": eur("Upper end")})),
        "metadata": record_about("What the estimate is based on", json!({
            "model": record_about("The model that made the estimate", json!({
                "version": text("Digest of the model"),
                "trained_at": text("When it was trained, ISO 8601"),
                "data_through": text("Day of the latest sale it knows, ISO 8601"),
                "sales?": count("Sales it was trained on"),
                "learned_inputs?": {"type": "array", "items": {"type": "string"},
                    "description": "Inputs whose effect was learned from sales"},
            })),
            "coverage": number("Share of sales whose price is within the interval"),
            "fallback": {"type": "string", "enum": ["none", "department", "national"],
                "description": "What was used in place of sales around the home"},
            "warning?": {"type": "string",
                "enum": ["no_sale_within_reach", "few_sales_within_reach", "sales_far_away", "outside_france",
                    "coordinates_swapped?"],
                "description": "Why the price is less certain than usual; absent if there is no reason"},
            "nearest_sale_m?": count("Distance to the nearest known sale of the same class, metres; absent if \
                                      there is none within 7 km"),
            "confidence": {"type": "string", "enum": ["HIGH", "MEDIUM", "LOW"],
                "description": "Depends on the width of the interval; LOW if there is a warning, or if only \
                                the town of an address is known"},
            "address?": super::geocoding::understood("How `location.address` was understood, if it was used"),
            "position_from?": {"type": "string", "enum": ["address", "locationCoordinate"],
                "description": "Source of the position, if an address was given; a coordinate takes \
                                precedence over it"},
            "comparables": {
                "type": "array",
                "maxItems": COMPARABLES,
                "items": comparable(),
                "description": "The nearest recorded sales of the same class, nearest first",
            },
            "contributions": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "description": "What each input adds to the price or takes from it, EUR; the contributions \
                                add up to the price",
            },
        })),
    }))
}
