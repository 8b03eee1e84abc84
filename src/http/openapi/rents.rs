//! The rents part of the OpenAPI document: the request body, generated from its field table, and the response.

use serde_json::{Map, Value, json};

use toise_contract::fields::schema::{self, Components, count, number, record, record_about, text};
use toise_estimate::request::rent::RENT;
use toise_market::rents::answer::YieldPrice;
use toise_market::rents::map::MapKind;
use toise_market::rents::model::RentMethod;

/// Returns the component schemas of the request and the response.
pub(super) fn schemas() -> Map<String, Value> {
    let mut found = Map::new();
    let request = schema::object(&RENT, &mut Components::new());
    found.insert("RentRequest".into(), request);
    found.insert("RentEstimate".into(), estimate());
    found
}

fn estimate() -> Value {
    record(json!({
        "rent": count("Monthly rent, EUR"),
        "rentPerArea": number("Monthly rent, EUR per m2"),
        "rentRange": record_about("Range that contains four rents in five",
            json!({"lower": count("Lower end, EUR"), "upper": count("Upper end, EUR")})),
        "grossYield?": record_about("The rent of a year over the price of the home; absent if the request has no \
            `price` and no model values the home", json!({
            "percent": number("Percent of the price"),
            "lower": number("With the lower end of the rent"),
            "upper": number("With the upper end of the rent"),
            "price": count("The price, EUR"),
            "price_from": {"type": "string", "enum": YieldPrice::NAMES, "description": "Source of the price"},
        })),
        "metadata": metadata(),
    }))
}

fn metadata() -> Value {
    record_about(
        "What the estimate is based on",
        json!({
            "charges": {"type": "string", "enum": ["as_advertised"],
                "description": "Whether the rent includes charges; adverts of homes to rent mostly state rents with \
                                charges"},
            "coverage": number("Share of rents that lie within the interval"),
            "method": {"type": "string", "enum": RentMethod::NAMES, "description": "What the rent was estimated from"},
            "commune": record_about("The commune of the home",
                json!({"inseeCode": text("INSEE code"), "name": text("Name")})),
            "adverts": record_about("Homes to rent that the estimate was learned from; each counts once, however many \
                adverts show it", json!({
                "all": count("In all places"),
                "department": count("In the department"),
                "commune": count("In the commune"),
                "nearest": count("The nearest ones, at most 24 within 3 km"),
                "nearest_m?": count("Distance of the nearest one, metres"),
                "median_m?": count("Median distance of the nearest ones, metres"),
                "median_age_days?": count("Median days since the nearest ones were last on offer"),
            })),
            "rent_map?": record_about("The rent of the commune on the official map of rents, for a reference home, \
                unfurnished and with charges; absent if the map was not imported", json!({
                "rent_per_m2": number("Monthly rent, EUR per m2"),
                "lower": number("Lower end of its interval, EUR per m2"),
                "upper": number("Upper end of its interval, EUR per m2"),
                "coverage": number("Share of rents in its interval"),
                "kind": {"type": "string", "enum": MapKind::NAMES, "description": "Kind of home"},
                "year": {"type": "integer", "description": "Year of the rent"},
                "adverts": count("Adverts of the commune behind it"),
                "level": text("Places whose adverts it was computed from: `commune`, `epci` or `maille`"),
                "licence": text("Licence of the map, as stated at the import"),
            })),
            "address?": super::geocoding::understood("How `location.address` was understood, if it was used"),
            "position_from?": {"type": "string", "enum": ["address", "locationCoordinate"],
                "description": "Source of the position, if an address was given; a coordinate takes precedence over it"},
            "contributions": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "description": "What each part adds to the rent or takes from it, EUR; the contributions add up to \
                                the rent",
            },
        }),
    )
}
