//! The search part of the OpenAPI document: filters and bodies, from the tables that validate them.

use serde_json::{Map, Value, json};

use super::reference;
use super::schemas::closed;
use toise_contract::dates::DATE_RULE;
use toise_contract::fields::FieldKind;
use toise_contract::fields::schema::{self, described, enumeration};
use toise_contract::listings::filters::bodies::{
    ANALYTICS, COUNT, MANY, SEARCH_TEXTS, SIMILARS, search_table,
};
use toise_contract::listings::filters::model::{FieldType, FilterModel, LiteSupport};
use toise_contract::listings::filters::parse::{ITEMS_MAX, TEXT_CHARS_MAX};
use toise_contract::listings::filters::{FieldSubset, ListingKind};

/// Returns the component schemas of filters and of the bodies that contain them. Codes and identifiers are shared with
/// the records.
pub fn schemas() -> Map<String, Value> {
    let mut found = Map::new();
    let property = ListingKind::Property.filter_model();
    for (part, name) in [
        (FieldSubset::Whole, "SearchPropertiesPayload"),
        (FieldSubset::Lite, "SearchPropertiesLitePayload"),
    ] {
        model(property, part, &mut found);
        let payload = schema::object(search_table(part), &mut found);
        found.insert(name.into(), payload);
    }
    model(
        ListingKind::Advert.filter_model(),
        FieldSubset::Whole,
        &mut found,
    );
    for listing in [ListingKind::Property, ListingKind::Advert] {
        let name = listing.filter_model().name;
        let mut query = json!({ (listing.filter_key()): reference(name) });
        for texts in &SEARCH_TEXTS {
            query[texts.name] = schema::property(texts, &mut found);
        }
        found.insert(
            format!("{name}Query"),
            closed(query, &[listing.filter_key()]),
        );
    }
    for (name, table) in [
        ("CountPropertiesPayload", &COUNT[..]),
        ("PropertyAnalyticsPayload", &ANALYTICS),
        ("SimilarPropertiesPayload", &SIMILARS),
    ] {
        let payload = schema::object(table, &mut found);
        found.insert(name.into(), payload);
    }
    let many = schema::object(&MANY, &mut found);
    let ids = schema::property(&MANY[0], &mut found);
    found.insert(
        "ManyPropertiesPayload".into(),
        json!({"oneOf": [many, ids]}),
    );
    found
}

/// Adds the schema of a model and of the models in it, and returns its name.
fn model(model: &'static FilterModel, part: FieldSubset, found: &mut Map<String, Value>) -> String {
    let name = match part {
        FieldSubset::Whole => model.name.to_owned(),
        FieldSubset::Lite => format!("Lite{}", model.name),
    };
    if found.contains_key(&name) {
        return name;
    }
    let mut properties = Map::new();
    for field in part.fields(model) {
        let inner = match (part, field.lite) {
            (FieldSubset::Lite, LiteSupport::Part) => FieldSubset::Lite,
            _ => FieldSubset::Whole,
        };
        let schema = described(takes(field.takes, inner, found), field.about);
        properties.insert(field.key.to_owned(), schema);
    }
    let schema = described(closed(Value::Object(properties), &[]), model.about);
    found.insert(name.clone(), schema);
    name
}

/// Returns the schema of the values that a field accepts.
fn takes(takes: FieldType, part: FieldSubset, found: &mut Map<String, Value>) -> Value {
    match takes {
        FieldType::Flag => json!({"type": "boolean"}),
        FieldType::Range => named("NumberRange", found, |_| {
            range(&json!({"type": "number"}), "")
        }),
        FieldType::Moments => named("FilterDateRange", found, |_| moments()),
        FieldType::AnyMoments => list(named("FilterDateRange", found, |_| moments())),
        FieldType::Year => reference("Year"),
        FieldType::OneOf(table) => enumeration(table, found),
        FieldType::AnyOf(table) => list(enumeration(table, found)),
        FieldType::Text => text(found),
        FieldType::AnyText => list(text(found)),
        FieldType::Code(code) => reference(code.name),
        FieldType::AnyCode(code) => list(reference(code.name)),
        FieldType::Model(inner) => reference(&model(inner, part, found)),
        FieldType::AnyModel(inner) | FieldType::SomeItem(inner) => {
            list(reference(&model(inner, part, found)))
        }
        FieldType::LatLng(_) => named("FilterLatLng", found, lat_lng),
        FieldType::Point(_) => named("FilterCompleteLatLng", found, |found| {
            closed(
                json!({"location": named("FilterLatLng", found, lat_lng)}),
                &[],
            )
        }),
        FieldType::TownName => json!({"deprecated": true}),
    }
}

fn text(found: &mut Map<String, Value>) -> Value {
    schema::kind(FieldKind::TextUpTo(TEXT_CHARS_MAX), found)
}

/// Returns a reference to a schema of this name, which is built once.
fn named(
    name: &str,
    found: &mut Map<String, Value>,
    make: impl FnOnce(&mut Map<String, Value>) -> Value,
) -> Value {
    if !found.contains_key(name) {
        let schema = make(found);
        found.insert(name.to_owned(), schema);
    }
    reference(name)
}

fn list(items: Value) -> Value {
    schema::list(items, 0, Some(ITEMS_MAX))
}

fn range(bound: &Value, rule: &str) -> Value {
    let min = described(bound.clone(), &format!("Minimum{rule}"));
    let max = described(bound.clone(), &format!("Maximum{rule}"));
    described(
        closed(json!({"min": min, "max": max}), &[]),
        "Both bounds are included; a range without bounds filters nothing",
    )
}

fn moments() -> Value {
    range(
        &schema::moment(),
        &format!(": {DATE_RULE}; a date as max includes that day"),
    )
}

fn lat_lng(found: &mut Map<String, Value>) -> Value {
    let corner = named("LatLng", found, |_| {
        closed(
            json!({
                "lat": {"type": "number", "minimum": -90, "maximum": 90, "description": "Latitude, degrees"},
                "lon": {"type": "number", "minimum": -180, "maximum": 180, "description": "Longitude, degrees"},
            }),
            &["lat", "lon"],
        )
    });
    let distance = json!({"type": "number", "exclusiveMinimum": 0, "description": "Planar distance, kilometres"});
    let parts = json!({
        "geoBoundingBox": described(
            closed(json!({"topLeft": corner, "bottomRight": corner}), &["topLeft", "bottomRight"]),
            "A box, edges included; topLeft is north and west of bottomRight"),
        "geoDistance": described(
            closed(json!({"pin": corner, "distanceKm": distance}), &["pin", "distanceKm"]),
            "A circle around a pin, boundary included"),
        "geoInseeCodeDistance": described(
            closed(json!({"inseeCode": reference("InseeCode"), "distanceKm": distance}), &["inseeCode", "distanceKm"]),
            "A circle around the centre of a commune, boundary included"),
        "area": schema::area(found),
        "layer": schema::layer(found),
    });
    described(
        closed(parts, &[]),
        "Where a position must be; several keys are combined with AND",
    )
}

#[cfg(test)]
mod tests {
    use super::super::listings;
    use super::*;
    use toise_contract::listings::filters::parse_search_query;

    #[test]
    fn every_reference_resolves_and_no_record_is_overwritten() {
        let (filters, records) = (schemas(), listings::schemas());
        let text = Value::Object(filters.clone()).to_string();
        for (_, rest) in text
            .match_indices("#/components/schemas/")
            .map(|(start, prefix)| text.split_at(start + prefix.len()))
        {
            let name = rest.split('"').next().unwrap();
            assert!(
                filters.contains_key(name) || records.contains_key(name),
                "{name}"
            );
        }
        for (name, schema) in &filters {
            let is_same = records.get(name).is_none_or(|record| record == schema);
            assert!(is_same, "{name} means two things");
        }
    }

    /// Finds the fields of a schema, and of nested schemas, without a description.
    fn silent(path: &str, schema: &Value, found: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if field["description"].is_null() && field["$ref"].is_null() {
                found.push(path.clone());
            }
            silent(&path, field, found);
        }
        for branch in schema["oneOf"].as_array().into_iter().flatten() {
            silent(path, branch, found);
        }
    }

    #[test]
    fn every_field_has_a_description() {
        let mut found = Vec::new();
        for (name, schema) in &schemas() {
            silent(name, schema, &mut found);
        }
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn the_document_lists_the_fields_that_the_parser_accepts() {
        let schemas = schemas();
        for listing in [ListingKind::Property, ListingKind::Advert] {
            let known = &schemas[listing.filter_model().name]["properties"];
            let unknown = json!({ (listing.filter_key()): {"nothing of this name": 1} });
            let message = parse_search_query(listing, &unknown).unwrap_err().message;
            let listed: Vec<&str> = known
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            let expected = format!("unknown field; must be one of: {}", listed.join(", "));
            assert_eq!(message, expected);
        }
        let lite = &schemas["LiteFilterTypeHabitation"]["properties"];
        assert!(lite.get("wcCount").is_none() && lite.get("roomCount").is_some());
        let characteristics = &lite["characteristics"]["$ref"];
        assert_eq!(
            characteristics,
            "#/components/schemas/FilterCharacteristics"
        );
    }
}
