//! Listing records against the contract's tables of fields and values, and their parsing and serialisation.

use serde_json::{Map, Value, json};
use toise::contract::enums::ENUMERATIONS;
use toise::contract::listings::{Advert, LiteProperty, Property};
use toise::contract::read::read;
use toise::http::openapi::listings;

/// Sections 3.1 and 4 of the contract, one field or enumeration per line.
const MODELS: &str = include_str!("listing_models.txt");

/// Fields that are written if known although the contract's table does not list them.
const BEYOND_THE_TABLE: [&str; 11] = [
    "Advert reference",
    "AdvertPrice netValue",
    "AdvertPrice fees",
    "TypeHabitation condominiumLotCount",
    "AdLocation district",
    "AdLocation address",
    "AdLocation precision",
    "Location precision",
    "Property process",
    "Advert process",
    "Features glazingTypes",
];
/// A single value in filters, a list in records.
const LIST_IN_RECORDS: &str = "TypeHabitation type";

/// (model, field, type) of every field of the contract.
fn fields() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    MODELS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (place, kind) = line.split_once(": ")?;
            let (model, field) = place.split_once(' ')?;
            Some((model, field, kind))
        })
}

/// The type of a schema as the contract names it.
fn kind(schemas: &Map<String, Value>, schema: &Value) -> String {
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap();
        let target = &schemas[name];
        return if target["properties"].is_object() || target["enum"].is_array() {
            name.to_owned()
        } else {
            kind(schemas, target)
        };
    }
    match schema["type"].as_str().unwrap() {
        "array" => format!("array of {}", kind(schemas, &schema["items"])),
        "integer" => "number".to_owned(),
        "string" if schema["format"] == "date-time" => "string date-time".to_owned(),
        other => other.to_owned(),
    }
}

#[test]
fn every_field_of_the_contract_exists_with_its_name_and_type() {
    let schemas = listings::schemas();
    let mut count = 0;
    for (model, field, expected) in fields() {
        let schema = &schemas[model]["properties"][field];
        assert!(schema.is_object(), "{model} has no {field}");
        let place = format!("{model} {field}");
        if place == LIST_IN_RECORDS {
            assert_eq!(kind(&schemas, schema), format!("array of {expected}"));
        } else {
            assert_eq!(kind(&schemas, schema), expected, "{place}");
        }
        count += 1;
    }
    assert_eq!(count, 212);
}

#[test]
fn no_model_of_the_contract_has_other_fields() {
    let schemas = listings::schemas();
    for (model, _, _) in fields() {
        for field in schemas[model]["properties"].as_object().unwrap().keys() {
            let known = fields().any(|(other, name, _)| (other, name) == (model, field));
            let place = format!("{model} {field}");
            assert!(
                known || BEYOND_THE_TABLE.contains(&place.as_str()),
                "{place}"
            );
        }
    }
}

#[test]
fn every_enumeration_has_the_contracts_values_in_its_order() {
    let mut count = 0;
    for line in MODELS.lines() {
        let Some((name, values)) = line.split_once(" = ") else {
            continue;
        };
        let table = ENUMERATIONS
            .iter()
            .find(|table| table.name == name)
            .unwrap();
        let expected: Vec<&str> = values
            .split(", ")
            .filter(|value| *value != "ALERT_MATCH_UNKNOWN")
            .collect();
        assert_eq!(table.values, expected, "{name}");
        count += 1;
    }
    assert_eq!(count, 28);
}

#[test]
fn unknown_values_are_left_out_and_lists_are_always_present() {
    let advert: Advert = read(&json!({})).unwrap();
    assert_eq!(serde_json::to_value(advert).unwrap(), json!({"tags": []}));
    let given =
        json!({"habitation": {"floor": null, "heatings": null}, "title": null, "tags": null});
    let advert: Advert = read(&given).unwrap();
    let expected = json!({
        "habitation": {"heatTypes": [], "heatTypeDetails": [], "heatings": [], "type": []},
        "tags": [],
    });
    assert_eq!(serde_json::to_value(advert).unwrap(), expected);
}

#[test]
fn values_are_written_in_the_contracts_formats() {
    let given = json!({
        "firstSeenAt": "2022-10-21T13:31:33.5934+02:00",
        "currentPrice": {"value": 250000.0, "valuePerArea": 4310.34},
        "location": {"locationCoordinate": {"location": [3.0, 44.5227]}},
        "habitation": {"heatTypes": ["HEAT_TYPE_MIXED"]},
    });
    let advert: Advert = read(&given).unwrap();
    let text = serde_json::to_string(&advert).unwrap();
    for piece in [
        r#""firstSeenAt":"2022-10-21T11:31:33.593Z""#,
        r#""currentPrice":{"value":250000,"valuePerArea":4310.34}"#,
        r#""location":[3,44.5227]"#,
        r#""heatTypes":["HEAT_TYPE_MIX"]"#,
    ] {
        assert!(text.contains(piece), "{piece} is not in {text}");
    }
}

#[test]
fn the_first_fault_of_a_record_is_reported_with_its_path_and_the_rule() {
    let cases = [
        (json!([]), "body: must be an object"),
        (json!({"tags": "x"}), "tags: must be an array"),
        (json!({"tags": ["a", 2]}), "tags[1]: must be a string"),
        (
            json!({"isOnline": "yes"}),
            "isOnline: must be true or false",
        ),
        (
            json!({"currentPrice": {"value": -1}, "isOnline": 3}),
            "currentPrice.value: must be a number between 0 and 1000000000000",
        ),
        (
            json!({"scope": "MONTHLY"}),
            "scope: must be one of: PRICING_ONE_OFF, PRICING_MENSUAL",
        ),
        (
            json!({"offer": {"renting": {"isSublease": true}}}),
            "offer.renting.isSublease: unknown field; must be one of: isColocation, isLongTerm, isShortTerm, \
             isSubLease",
        ),
        (
            json!({"medias": {"images": [{"imageId": "1", "gaussianHash": "", "meanHash": ""}]}}),
            "medias.images[0]: needs its url, or imageId with gaussianHash, meanHash and perceptualHash",
        ),
        (
            json!({"location": {"locationCoordinate": {"location": {"lat": 1, "lon": 2}}}}),
            "location.locationCoordinate.location: must be [longitude, latitude], two numbers between -180 and 180 \
             and between -90 and 90",
        ),
        (
            json!({"location": {"inseeCode": "4895"}}),
            "location.inseeCode: must be an INSEE code of five characters, such as \"48095\" or \"2A004\"",
        ),
        (
            json!({"habitation": {"roomCount": 2.5}}),
            "habitation.roomCount: must be an integer between 0 and 100000",
        ),
        (
            json!({"habitation": {"heatings": ["HEATING_GAS", "GAS"]}}),
            "habitation.heatings[1]: must be one of: HEATING_UNKNOWN, HEATING_FUEL_OIL, HEATING_ELECTRICAL, \
             HEATING_GAS, HEATING_BIOMASS, HEATING_SOLAR, HEATING_GEOTHERMAL, HEATING_WOOD, HEATING_HEAT_PUMP, \
             HEATING_PELLET, HEATING_CANADIAN_WELL, HEATING_COAL",
        ),
    ];
    for (body, message) in cases {
        let fault = read::<Advert>(&body).unwrap_err();
        assert_eq!(fault.to_string(), message, "{body}");
    }
    let many: Vec<&str> = vec!["x"; 1_001];
    let fault = read::<Advert>(&json!({"tags": many})).unwrap_err();
    assert_eq!(fault.to_string(), "tags: must hold at most 1000 items");
    let fault = read::<Advert>(&json!({"description": "x".repeat(65_537)})).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "description: must not exceed 65536 bytes"
    );
}

#[test]
fn the_lite_property_has_exactly_the_fields_the_contract_lists() {
    let property: Property = read(&json!({
        "flxId": "019a53c0-7a55-7c40-8a11-0a5e5f6b7c81",
        "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
        "title": "T3",
        "description": "left out",
        "tags": ["left out"],
        "price": {"initial": {"value": 2}, "latest": {"value": 1}, "isAuction": false},
        "habitation": {
            "roomCount": 3, "bedroomCount": 2, "floor": 4, "wcCount": 1,
            "surface": {"total": 61.35, "kitchen": 8},
            "climate": {"epcEnergy": "ENERGY_CLASSIFICATION_D", "epcEnergyScore": 214},
        },
        "location": {"postalCode": "75013"},
        "meta": {"isTotallyOffline": false},
        "adverts": [{
            "flxId": "019a53c0-7a55-7c40-8a11-0a5e5f6b7c81", "source": "a.example", "url": "https://a.example/1",
            "isOnline": true, "title": "left out", "price": {"initial": {"value": 2}, "latest": {"value": 1}},
        }],
    }))
    .unwrap();
    let expected = json!({
        "flxId": "019a53c0-7a55-7c40-8a11-0a5e5f6b7c81",
        "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
        "title": "T3",
        "price": {"latest": {"value": 1}},
        "habitation": {
            "surface": {"total": 61.35}, "roomCount": 3, "bedroomCount": 2, "floor": 4,
            "climate": {"epcEnergy": "ENERGY_CLASSIFICATION_D"},
        },
        "location": {"postalCode": "75013"},
        "meta": {"isTotallyOffline": false},
        "adverts": [{
            "flxId": "019a53c0-7a55-7c40-8a11-0a5e5f6b7c81", "source": "a.example", "url": "https://a.example/1",
            "isOnline": true, "price": {"latest": {"value": 1}},
        }],
    });
    assert_eq!(
        serde_json::to_value(LiteProperty::from(&property)).unwrap(),
        expected
    );
}
