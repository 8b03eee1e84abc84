//! Erasures of contacts in the OpenAPI document.

use serde_json::{Map, Value, json};

use super::{by_name, reference};
use toise_contract::fields::schema::{self, count, id, record};
use toise_erasure::Place;
use toise_erasure::request::ERASURE;

/// Returns the component schemas by name.
pub fn schemas() -> Map<String, Value> {
    let mut request = schema::object(&ERASURE, &mut Map::new());
    request["minProperties"] = json!(1);
    by_name([
        ("ErasureRequest", request),
        ("Erasure", erasure()),
        ("ErasurePlace", place()),
    ])
}

fn erasure() -> Value {
    record(json!({
        "erasureId?": id("Identifier of the erasure, as in the audit log; absent in a dry run"),
        "dryRun": {"type": "boolean", "description": "Whether nothing was changed"},
        "places": {
            "type": "array", "items": reference("ErasurePlace"),
            "description": "Every place in which contacts are stored",
        },
        "damaged": count("Damaged adverts, which could not be searched"),
    }))
}

fn place() -> Value {
    record(json!({
        "place": {"type": "string", "enum": Place::NAMES, "description": "The place"},
        "found": count("Number of records with a contact"),
        "removed": count("Number of records from which it was removed; 0 in a dry run"),
        "ids": {
            "type": "array", "items": {"type": "string"},
            "description": "Identifiers of the records, or names of the files; the first 1,000",
        },
    }))
}
