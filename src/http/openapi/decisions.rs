//! Pairs of properties that may be one home, and decisions about them, in the OpenAPI document.

use serde_json::{Map, Value, json};

use super::{by_name, reference};
use toise_contract::fields::schema::{self, count, id};
use toise_dedup::weights::WEIGHTS;
use toise_dedup::{Contradiction, Veto};
use toise_listings::placement::request::{OTHER, SPLIT};

/// Returns the component schemas by name.
pub fn schemas() -> Map<String, Value> {
    by_name([
        ("OtherProperty", schema::object(&OTHER, &mut Map::new())),
        ("SplitRequest", schema::object(&SPLIT, &mut Map::new())),
        ("DecidedProperty", decided_property()),
        ("KeptApart", kept_apart()),
        ("CandidatePairs", candidate_pairs()),
        ("CandidatePair", candidate_pair()),
        ("CandidateAdvert", candidate_advert()),
        ("Dissenter", dissenter()),
        ("AdvertComparison", comparison()),
    ])
}

fn typed(kind: &str, about: &str) -> Value {
    json!({"type": kind, "description": about})
}

/// Describes a value that may be unknown.
fn known(kind: &str, about: &str) -> Value {
    json!({"type": [kind, "null"], "description": format!("{about}; null if unknown")})
}

fn list(items: Value, about: &str) -> Value {
    json!({"type": "array", "items": items, "description": about})
}

/// Describes an object whose properties are all required.
fn whole(properties: Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    json!({"type": "object", "required": required, "properties": properties})
}

fn decided_property() -> Value {
    whole(
        json!({"propertyFlxId": id("The property that remains after a merge, or the new property of the adverts \
                                    after a split")}),
    )
}

fn kept_apart() -> Value {
    let items = json!({"type": "string", "format": "uuid"});
    whole(json!({"keptApart": list(items, "The two properties that are kept apart")}))
}

fn candidate_pairs() -> Value {
    whole(json!({
        "pairs": list(reference("CandidatePair"), "The likeliest pairs; each pair of properties appears once"),
        "waiting": count("Number of all waiting pairs of properties"),
    }))
}

fn candidate_pair() -> Value {
    whole(json!({
        "adverts": list(reference("CandidateAdvert"), "The two adverts that are most alike, one of each property"),
        "together": typed("boolean", "Whether both belong to the same property"),
        "split": typed("boolean", "Whether a person declared them to be different homes"),
        "verdict": {"type": "string", "enum": ["same", "possible", "different"],
            "description": "Verdict based on these two adverts alone; the other adverts may still keep the \
                            properties apart"},
        "comparison": reference("AdvertComparison"),
        "common": list(compared_field(), "Fields with a value that is not compared because many homes share it"),
        "contradictions": contradictions("Contradictions: what cannot both be true of one home"),
        "dissenters": list(reference("Dissenter"),
            "Other adverts of the two properties that do not fit one of these two and so keep the properties apart"),
        "advertsAround": count("Number of adverts around the first one; each could agree by chance"),
        "lookalikes": count("Number of them with the same price and surface that differ otherwise"),
        "portalBits": typed("number", "Bits that the pair of portals adds to the odds before any comparison"),
    }))
}

fn contradictions(about: &str) -> Value {
    let names = Contradiction::NAMES;
    list(json!({"type": "string", "enum": names}), about)
}

fn candidate_advert() -> Value {
    let pictures = json!({"type": "string"});
    whole(json!({
        "flxId": id("The advert"),
        "propertyFlxId": id("Its property"),
        "source": known("string", "The portal"),
        "url": known("string", "URL of the listing"),
        "title": known("string", "Title"),
        "price": known("number", "Asking price, EUR"),
        "surface": known("number", "Surface of the dwelling, m²"),
        "rooms": known("integer", "Number of main rooms"),
        "place": typed("string", "Address, district, postal code and town, as far as they are known"),
        "pictures": list(pictures, "URLs of its first pictures"),
        "isOnline": known("boolean", "Whether it is on its portal now"),
        "lastSeenAt": known("string", "Last sighting, UTC"),
    }))
}

fn dissenter() -> Value {
    whole(json!({
        "flxId": id("The advert"),
        "propertyFlxId": id("Its property"),
        "url": known("string", "URL of the listing"),
        "title": known("string", "Title"),
        "against": id("The one of the two adverts that it does not fit"),
        "contradictions": contradictions("Contradictions: values that cannot both be true of one home; empty if the \
                                          two adverts only differ too much"),
    }))
}

fn compared_field() -> Value {
    let fields: Vec<Value> = WEIGHTS.iter().map(|field| json!(field.field)).collect();
    json!({"type": "string", "enum": fields, "description": "What was compared"})
}

fn comparison() -> Value {
    let evidence = whole(json!({
        "field": compared_field(),
        "found": typed("string", "What was found, in words"),
        "bits": typed("number", "Its weight: +1 doubles the odds that both are the same home, -1 halves them"),
        "rarityBits": {"type": ["number", "null"],
            "description": "Bits that the rarity of an equal value adds to the weight; null if the values are not \
                            equal"},
    }));
    whole(json!({
        "probability": {"type": "number", "minimum": 0, "maximum": 1, "description": "Probability that both are the \
            same home"},
        "bits": typed("number", "Binary logarithm of the odds that both are the same home"),
        "priorBits": typed("number", "The part of `bits` that is known before anything is compared"),
        "lookalikeBits": typed("number", "The part of `bits` due to other homes with the same price and surface; 0 \
                                          or less"),
        "veto": {"type": ["string", "null"], "enum": [json!(Veto::Kind), json!(Veto::Programme), Value::Null],
            "description": "The rule that keeps them apart regardless of what else agrees; null if there is none"},
        "oneSeller": typed("boolean", "Whether both are from the same seller"),
        "programme": typed("boolean", "Whether both belong to new-build programmes"),
        "evidence": list(evidence, "Evidence of each field; fields that one of the adverts does not state are left \
                                    out"),
    }))
}
