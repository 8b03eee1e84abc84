//! Rewrites the source of adverts for clients of the original service (`compat.vendor_source`): the name of the portal
//! becomes an object `{flxId, url, website}`.
//!
//! Records are stored and served with the name. If the setting is on, a body is rewritten before it is sent, and so is
//! the OpenAPI document. Requests do not change: an ingested advert names its portal.

use serde_json::{Map, Value, json};

use crate::fields::schema::reference;

/// Schemas of the adverts in answers and deliveries.
const ADVERT_SCHEMAS: [&str; 3] = ["Advert", "PropertyAdvert", "LitePropertyAdvert"];
/// Schema of the object; prices use it for their source.
const SOURCE_SCHEMA: &str = "Source";

/// Returns a body in which every advert's `source` is an object. A body that is not JSON is returned unchanged.
pub fn with_vendor_sources(body: &[u8]) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        return body.to_vec();
    };
    rewrite(&mut value);
    serde_json::to_vec(&value).unwrap_or_else(|_| body.to_vec())
}

/// Returns the OpenAPI document of a service that sends such bodies: schemas and examples of adverts have the object.
pub fn document_with_vendor_sources(mut document: Value) -> Value {
    rewrite(&mut document);
    for name in ADVERT_SCHEMAS {
        let path = format!("/components/schemas/{name}/properties/source");
        if let Some(source) = document.pointer_mut(&path) {
            *source = reference(SOURCE_SCHEMA);
            source["description"] = json!("The listing on its portal.");
        }
    }
    document
}

fn rewrite(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Object(fields) => {
            if let Some(source) = vendor_source(fields) {
                fields.insert("source".into(), source);
            }
            fields
                .iter_mut()
                .filter(|(name, _)| *name != "source")
                .for_each(|(_, value)| rewrite(value));
        }
        _ => {}
    }
}

/// Returns the source of an advert as an object; `None` if the object is not an advert or has no portal.
fn vendor_source(advert: &Map<String, Value>) -> Option<Value> {
    let website = advert.get("source")?.as_str()?;
    let mut source = json!({});
    for name in ["flxId", "url"] {
        if let Some(value) = advert.get(name) {
            source[name] = value.clone();
        }
    }
    source["website"] = json!(website);
    // Only adverts have an identifier next to their source.
    advert.contains_key("flxId").then_some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_every_advert_becomes_an_object() {
        let body = json!({"data": {"flxId": "p", "adverts": [
            {"flxId": "a", "url": "https://p.example/1", "source": "p.example", "price": {"latest": {
                "value": 200_000.5, "source": {"flxId": "a", "website": "p.example"},
            }}},
            {"flxId": "b", "source": "q.example"},
        ]}});
        let read: Value =
            serde_json::from_slice(&with_vendor_sources(body.to_string().as_bytes())).unwrap();
        let adverts = &read["data"]["adverts"];
        let expected = json!({"flxId": "a", "url": "https://p.example/1", "website": "p.example"});
        assert_eq!(adverts[0]["source"], expected);
        assert_eq!(adverts[0]["price"], body["data"]["adverts"][0]["price"]);
        let expected = json!({"flxId": "b", "website": "q.example"});
        assert_eq!(adverts[1]["source"], expected);
        assert_eq!(with_vendor_sources(b"no JSON"), b"no JSON");
    }
}
