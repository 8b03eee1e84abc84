//! The ingestion part of the OpenAPI document.

use serde_json::{Map, Value, json};

use super::listings;
use super::reference;
use toise_contract::fields::schema::{self, id, record, record_about, text};
use toise_listings::adverts::prepare::ContentChange;
use toise_listings::load::request::ADVERTS;

/// Prefix of the names of schemas of incoming adverts.
const INCOMING: &str = "Incoming";

/// Returns the component schemas by name.
pub fn schemas() -> Map<String, Value> {
    let mut schemas = incoming_schemas();
    let adverts = schema::object(&ADVERTS, &mut Map::new());
    schemas.insert("AdvertsRequest".into(), adverts);
    schemas.insert("AdvertOutcome".into(), advert_outcome());
    schemas
}

/// Returns the schemas of an incoming advert and its parts: those of responses, in which every value but the URL is
/// optional and may be null.
fn incoming_schemas() -> Map<String, Value> {
    let of_responses = listings::schemas();
    let mut incoming = Map::new();
    let mut names = vec!["Advert".to_owned()];
    while let Some(name) = names.pop() {
        let Some(part) = of_responses
            .get(&name)
            .filter(|_| !incoming.contains_key(&name))
        else {
            continue;
        };
        let mut part = part.clone();
        if let Some(fields) = part.as_object_mut() {
            fields.shift_remove("examples");
            fields.shift_remove("required");
        }
        let properties = part["properties"].as_object_mut().into_iter().flatten();
        for (field, value) in properties {
            let about = description(value, &of_responses);
            refer_to_incoming(value, &of_responses, &mut names);
            if name != "Advert" || field != "url" {
                *value = nullable(value.take(), about);
            }
        }
        if name == "Advert" {
            part["required"] = json!(["url"]);
            part["description"] = json!(
                "A sighting of a listing. Any field except url may be null, which means that its value is now unknown"
            );
        }
        incoming.insert(name, part);
    }
    let named = incoming.into_iter();
    named
        .map(|(name, part)| (format!("{INCOMING}{name}"), part))
        .collect()
}

/// Makes references to objects in a schema refer to those of incoming adverts, and adds their names to `names`.
fn refer_to_incoming(
    schema: &mut Value,
    of_responses: &Map<String, Value>,
    names: &mut Vec<String>,
) {
    match schema {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str);
            let name = target.and_then(|target| Some(target.rsplit_once('/')?.1.to_owned()));
            if let Some(name) = name.filter(|name| {
                let target = of_responses.get(name);
                target.is_some_and(|schema| schema.get("properties").is_some())
            }) {
                fields.extend(reference_fields(&name));
                names.push(name);
            }
            for (_, field) in fields {
                refer_to_incoming(field, of_responses, names);
            }
        }
        Value::Array(items) => {
            for item in items {
                refer_to_incoming(item, of_responses, names);
            }
        }
        _ => {}
    }
}

fn reference_fields(name: &str) -> Option<(String, Value)> {
    let target = reference(&format!("{INCOMING}{name}"));
    Some(("$ref".to_owned(), target["$ref"].clone()))
}

/// Returns the description of a value, or of the schema to which it refers.
fn description(value: &Value, of_responses: &Map<String, Value>) -> Value {
    let name = value["$ref"]
        .as_str()
        .and_then(|target| Some(target.rsplit_once('/')?.1));
    let referred = name.and_then(|name| of_responses.get(name));
    let about = &referred.unwrap_or(value)["description"];
    about
        .as_str()
        .map_or_else(|| json!("Null if unknown"), |about| json!(about))
}

/// Returns a schema that also allows null.
fn nullable(mut schema: Value, about: Value) -> Value {
    if schema["type"].is_string() && schema.get("enum").is_none() {
        schema["type"] = json!([schema["type"], "null"]);
        return schema;
    }
    json!({"description": about, "anyOf": [schema, {"type": "null"}]})
}

fn advert_outcome() -> Value {
    let changes = [
        ContentChange::Created,
        ContentChange::Updated,
        ContentChange::Unchanged,
    ]
    .map(ContentChange::as_str);
    let outcomes: Vec<&str> = changes.into_iter().chain(["rejected"]).collect();
    record(json!({
        "flxId?": id("The advert; absent if it was refused"),
        "propertyFlxId?": id("The property it belongs to; absent if it was refused"),
        "outcome": {"type": "string", "enum": outcomes, "description": "How its content changed"},
        "events": {"type": "array", "items": reference("AdvertEvent"), "description": "Events that happened to it"},
        "warnings?": {"type": "array", "items": {"type": "string"},
            "description": "What could not be completed or was left out, and why hasAnomaly is set; absent if \
                            there are no warnings"},
        "error?": record_about("Why it was refused", json!({
            "message": text("JSON path of the fault and what is allowed there"),
            "code": {"type": "integer", "description": "Code of the fault"},
        })),
    }))
}
