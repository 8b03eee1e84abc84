//! The ingestion part of the OpenAPI document.

use serde_json::{Map, Value, json};

use super::listings;
use super::reference;
use toise_contract::fields::schema::{self, id, record, record_about, text};
use toise_listings::adverts::prepare::ContentChange;
use toise_listings::load::request::ADVERTS;

/// Returns the component schemas by name.
pub fn schemas() -> Map<String, Value> {
    let schemas = [
        ("IncomingAdvert", incoming_advert()),
        ("AdvertsRequest", schema::object(&ADVERTS, &mut Map::new())),
        ("AdvertOutcome", advert_outcome()),
    ];
    let named = schemas
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema));
    named.collect()
}

/// Returns the schema of the advert of responses, with every field but the URL optional.
fn incoming_advert() -> Value {
    let mut advert = listings::schemas().remove("Advert").unwrap_or_default();
    advert["required"] = json!(["url"]);
    advert["description"] = json!(
        "A sighting of a listing. Any field except url may be null, which means that its value is now unknown"
    );
    if let Some(advert) = advert.as_object_mut() {
        advert.shift_remove("examples");
    }
    advert
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
