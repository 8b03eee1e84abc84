//! Pairs of properties that may be one home, and decisions about them, in the OpenAPI document.

use serde_json::{Map, Value, json};

use super::reference;
use toise_contract::fields::schema;
use toise_dedup::weights::WEIGHTS;
use toise_dedup::{Contradiction, Veto};
use toise_listings::placement::request::{OTHER, SPLIT};

/// Returns the component schemas by name.
pub fn schemas() -> Map<String, Value> {
    let schemas = [
        ("OtherProperty", schema::object(&OTHER, &mut Map::new())),
        ("SplitRequest", schema::object(&SPLIT, &mut Map::new())),
        ("DecidedProperty", decided_property()),
        ("KeptApart", kept_apart()),
        ("CandidatePairs", candidate_pairs()),
        ("CandidatePair", candidate_pair()),
        ("CandidateAdvert", candidate_advert()),
        ("Dissenter", dissenter()),
        ("AdvertComparison", comparison()),
    ];
    let named = schemas
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema));
    named.collect()
}

fn typed(kind: &str, about: &str) -> Value {
    json!({"type": kind, "description": about})
}

/// Describes a value that may be unknown.
fn known(kind: &str, about: &str) -> Value {
    json!({"type": [kind, "null"], "description": format!("{about}; null: unknown")})
}

fn id(about: &str) -> Value {
    json!({"type": "string", "format": "uuid", "description": about})
}

fn count(about: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": about})
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
        json!({"propertyFlxId": id("The property that stays, or the new one of the adverts that left")}),
    )
}

fn kept_apart() -> Value {
    let items = json!({"type": "string", "format": "uuid"});
    whole(json!({"keptApart": list(items, "The two properties")}))
}

fn candidate_pairs() -> Value {
    whole(json!({
        "pairs": list(reference("CandidatePair"), "The likeliest pairs, each pair of properties once"),
        "waiting": count("Pairs of adverts that wait in all; several may be of the same two properties"),
    }))
}

fn candidate_pair() -> Value {
    whole(json!({
        "adverts": list(reference("CandidateAdvert"), "The two adverts that are most alike, one of each property"),
        "together": typed("boolean", "Whether they are in one property"),
        "split": typed("boolean", "Whether a person declared them to be different homes"),
        "verdict": {"type": "string", "enum": ["same", "possible", "different"],
            "description": "What follows from the probability of these two alone; the other adverts may still keep them apart"},
        "comparison": reference("AdvertComparison"),
        "common": list(compared_field(), "Fields of which something is not compared, because many homes show it"),
        "contradictions": contradictions("What cannot be true of one home at once"),
        "dissenters": list(reference("Dissenter"),
            "Other adverts of the two properties that do not go with one of these, and so keep them apart"),
        "advertsAround": count("Adverts around the first one: each is a chance to agree by accident"),
        "lookalikes": count("Those of them that share its price and surface but differ otherwise"),
        "portalBits": typed("number", "What the pair of portals adds to the odds before any comparison, in bits"),
    }))
}

fn contradictions(about: &str) -> Value {
    let names = Contradiction::ALL.map(Contradiction::name);
    list(json!({"type": "string", "enum": names}), about)
}

fn candidate_advert() -> Value {
    let pictures = json!({"type": "string"});
    whole(json!({
        "flxId": id("The advert"),
        "propertyFlxId": id("Its property"),
        "source": known("string", "The portal"),
        "url": known("string", "Address of the listing"),
        "title": known("string", "Title"),
        "price": known("number", "What it asks, EUR"),
        "surface": known("number", "Surface of the dwelling, m²"),
        "rooms": known("integer", "Main rooms"),
        "place": typed("string", "Address, district, postal code and town, as far as they are known"),
        "pictures": list(pictures, "Addresses of its first pictures"),
        "isOnline": known("boolean", "Whether it is on its portal now"),
        "lastSeenAt": known("string", "Last sighting, UTC"),
    }))
}

fn dissenter() -> Value {
    whole(json!({
        "flxId": id("The advert"),
        "propertyFlxId": id("Its property"),
        "url": known("string", "Address of the listing"),
        "title": known("string", "Title"),
        "against": id("Which of the two adverts it does not go with"),
        "contradictions": contradictions("What cannot be true of one home at once; empty: it resembles that advert too little"),
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
        "bits": typed("number", "Its weight: +1 doubles the odds that both are one home, -1 halves them"),
        "rarityBits": {"type": ["number", "null"],
            "description": "What the rarity of an equal value adds to it; null where values are not equal"},
    }));
    whole(json!({
        "probability": {"type": "number", "minimum": 0, "maximum": 1, "description": "Probability that both are one home"},
        "bits": typed("number", "Binary logarithm of the odds that both are one home"),
        "priorBits": typed("number", "The part of it that is known before anything is compared"),
        "lookalikeBits": typed("number", "The part of it that other homes of the same price and surface take away"),
        "bar": {"type": ["string", "null"], "enum": [json!(Veto::Kind), json!(Veto::Programme), Value::Null],
            "description": "The rule that keeps them apart whatever else agrees; null: none"},
        "oneSeller": typed("boolean", "Whether both are by the same seller"),
        "programme": typed("boolean", "Whether both are of new-build programmes"),
        "evidence": list(evidence, "What each field says; fields that one of the adverts does not state are left out"),
    }))
}
