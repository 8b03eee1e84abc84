//! The listings part of the OpenAPI document: component schemas and webhooks, from the wire types.
//!
//! The types write every optional field as one that may be `null`, because requests use `null` for unknown.
//! Responses never contain it, and the document describes responses: [`schemas`] leaves the nulls out.

use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::reference;
use toise_alerts::delivery::Delivery;
use toise_contract::fields::schema::record;
use toise_contract::listings::deliveries::{AdvertDelivery, PropertyDelivery};
use toise_contract::listings::{Advert, LiteProperty, Property};
use toise_contract::read::read;
use toise_contract::sample::Sample;
use toise_report::HomeReport;

/// Field that every record has, although requests may leave it out.
const IDENTIFIER: &str = "flxId";
/// The records with that field.
const RECORDS: [&str; 4] = ["Property", "PropertyAdvert", "LiteProperty", "Advert"];
/// Number of records in a sample response.
const SAMPLE_RECORDS: usize = 10;

/// Returns the component schemas by name: the records, their parts, scalars and enumerations, the bodies of webhooks,
/// and the responses of the sample endpoints (`SamplePropertiesAnswer`, `SampleAdvertsAnswer`).
pub fn schemas() -> Map<String, Value> {
    let mut found = Vec::new();
    collect::<Property>(&mut found);
    collect::<Advert>(&mut found);
    collect::<LiteProperty>(&mut found);
    collect::<PropertyDelivery>(&mut found);
    collect::<AdvertDelivery>(&mut found);
    collect::<Delivery>(&mut found);
    collect::<HomeReport>(&mut found);
    let mut schemas = Map::new();
    for (name, schema) in found {
        // A schema consists of maps with text keys, which always convert to JSON.
        if let Ok(schema) = serde_json::to_value(schema) {
            schemas.insert(name, without_nulls(schema));
        }
    }
    for name in RECORDS {
        if let Some(record) = schemas.get_mut(name).and_then(Value::as_object_mut) {
            let required = record.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(required) = required {
                required.push(json!(IDENTIFIER));
            }
        }
    }
    schemas.insert("SamplePropertiesAnswer".into(), sample_schema("Property"));
    schemas.insert("SampleAdvertsAnswer".into(), sample_schema("Advert"));
    for (name, example) in examples() {
        if let Some(schema) = schemas.get_mut(name) {
            schema["examples"] = json!([example]);
        }
    }
    schemas
}

/// Returns an example of each record and delivery, from the samples.
fn examples() -> Vec<(&'static str, Value)> {
    let body = |sample: Sample| serde_json::from_str::<Value>(sample.body()).unwrap_or_default();
    let first = |sample| body(sample)["data"][0].take();
    let property = first(Sample::Properties);
    let lite = read::<Property>(&property)
        .ok()
        .and_then(|property| serde_json::to_value(LiteProperty::from(&property)).ok());
    let mut examples = vec![
        ("Property", property),
        ("Advert", first(Sample::Adverts)),
        ("PropertyDelivery", body(Sample::WebhookProperties)),
        ("AdvertDelivery", body(Sample::WebhookAdverts)),
    ];
    examples.extend(lite.map(|lite| ("LiteProperty", lite)));
    examples
}

fn collect<T: ToSchema + PartialSchema>(found: &mut Vec<(String, RefOr<Schema>)>) {
    found.push((T::name().into_owned(), T::schema()));
    T::schemas(found);
}

fn sample_schema(name: &str) -> Value {
    record(json!({"data": {
        "type": "array",
        "minItems": SAMPLE_RECORDS,
        "maxItems": SAMPLE_RECORDS,
        "items": reference(name),
        "description": "Made-up records in the real format",
    }}))
}

/// Removes `null` from the types of a schema, because responses leave unset values out.
fn without_nulls(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("type", Value::Array(types)) => {
                        let mut types = types.into_iter().filter(|kind| kind != "null");
                        if let (Some(only), None) = (types.next(), types.next()) {
                            kept.insert(key, only);
                        }
                    }
                    ("oneOf", Value::Array(branches)) => {
                        for branch in branches {
                            if branch == json!({"type": "null"}) {
                                continue;
                            }
                            if let Value::Object(branch) = without_nulls(branch) {
                                kept.extend(branch);
                            }
                        }
                    }
                    (_, value) => {
                        kept.insert(key, without_nulls(value));
                    }
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// Returns the document's `webhooks`: the requests that the service sends to the URL of an alert.
pub fn webhooks() -> Value {
    json!({
        "propertyMatches": webhook(
            "propertyMatches",
            "Properties that a property alert matched",
            "The body has identifiers only: read the properties by identifier.",
            Sample::WebhookProperties.schema(),
        ),
        "advertMatches": webhook(
            "advertMatches",
            "Adverts that an advert alert matched, and events on them",
            "New adverts are sent in full. An event is sent with what identifies the advert and what changed.",
            Sample::WebhookAdverts.schema(),
        ),
    })
}

pub(super) fn webhook(id: &str, summary: &str, about: &str, schema: &str) -> Value {
    json!({"post": {
        "operationId": id,
        "summary": summary,
        "description": format!(
            "{about} Answer 2xx within a second and do the work afterwards; otherwise the delivery is retried. The \
             same delivery may arrive twice, with the same webhook-id. An answer of 410 deactivates the alert."
        ),
        "parameters": [
            header("x-webhook-key", "The account's webhook key, to compare with the expected one; during a rotation, \
                                     the next key is in `x-webhook-key-next`"),
            header("webhook-id", "Identifier of the delivery; retries carry the same one"),
            header("webhook-timestamp", "When it was sent, seconds since 1970-01-01 UTC"),
            header("webhook-signature", "`v1,` and the base64 HMAC-SHA256 of id, timestamp and body joined by full \
                                         stops, signed with the account's signing secret; two signatures, separated \
                                         by a space, during a rotation of the secret"),
        ],
        "requestBody": {
            "required": true,
            "content": {"application/json": {"schema": reference(schema)}},
        },
        "responses": {
            "2XX": {"description": "Accepted"},
            "410": {"description": "No longer wanted: the alert is deactivated"},
            "default": {"description": "Not accepted: the delivery is retried"},
        },
    }})
}

fn header(name: &str, about: &str) -> Value {
    json!({
        "name": name,
        "in": "header",
        "required": true,
        "description": about,
        "schema": {"type": "string"},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_contract::enums::{ENUMERATIONS, Enumeration};

    #[test]
    fn every_reference_resolves() {
        let schemas = schemas();
        let text = format!("{}{}", Value::Object(schemas.clone()), webhooks());
        let mut count = 0;
        for (_, rest) in text
            .match_indices("#/components/schemas/")
            .map(|(start, prefix)| text.split_at(start + prefix.len()))
        {
            let name = rest.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
            count += 1;
        }
        assert!(count > 100, "{count} references");
    }

    #[test]
    fn every_field_of_every_record_is_described_and_none_is_null() {
        let schemas = schemas();
        for (name, schema) in &schemas {
            for (field, property) in schema["properties"].as_object().into_iter().flatten() {
                let about = property["description"].as_str().unwrap_or_default();
                assert!(!about.is_empty(), "{name}.{field}: {property}");
            }
        }
        let text = Value::Object(schemas).to_string();
        assert!(!text.contains(r#""null""#), "{text}");
    }

    #[test]
    fn records_accept_no_other_keys_and_always_have_their_lists() {
        let schemas = schemas();
        assert_eq!(schemas["Property"]["additionalProperties"], json!(false));
        assert_eq!(
            schemas["Property"]["required"],
            json!(["adverts", "tags", "flxId"])
        );
        let image = schemas["Image"]["required"].as_array().unwrap();
        assert_eq!(image.len(), 4);
        let price = &schemas["PropertyPrice"]["properties"]["value"];
        assert_eq!(price["$ref"], "#/components/schemas/Eur");
        assert_eq!(schemas["Eur"]["minimum"], json!(0));
        assert_eq!(schemas["Eur"]["type"], "number");
    }

    #[test]
    fn records_and_deliveries_have_an_example_that_parses_as_their_type() {
        let schemas = schemas();
        let example = |name: &str| schemas[name]["examples"][0].clone();
        assert!(
            read::<Property>(&example("Property"))
                .unwrap()
                .price
                .is_some()
        );
        assert!(read::<Advert>(&example("Advert")).unwrap().url.is_some());
        assert!(
            read::<LiteProperty>(&example("LiteProperty"))
                .unwrap()
                .price
                .is_some()
        );
        read::<PropertyDelivery>(&example("PropertyDelivery")).unwrap();
        read::<AdvertDelivery>(&example("AdvertDelivery")).unwrap();
    }

    #[test]
    fn enumerations_match_the_tables() {
        let schemas = schemas();
        let listed = |table: &&&Enumeration| schemas.contains_key(table.name);
        let mut count = 0;
        for table in ENUMERATIONS.iter().filter(listed) {
            assert_eq!(schemas[table.name]["enum"], json!(table.values));
            count += 1;
        }
        assert!(count >= 20, "{count} enumerations");
    }
}
