//! The geocoding part of the OpenAPI document: parameters, addresses, batches.

use serde_json::{Map, Value, json};

use super::{Operation as Documented, reference};
use crate::endpoint::limits::BATCH_MAX;
use toise_geocode::file::request::COLUMNS_MAX;
use toise_geocode::request::{
    LIMIT_DEFAULT, LIMITS, MAX_DISTANCE_MAX, Operation, REVERSE_LIMIT_DEFAULT, TEXT_CHARS,
};
use toise_geocode::resolve::Precision;
use toise_geocode::search::{PartMatch, ResultKind};

/// The JSON Schema type of texts.
const TEXT: &str = "string";

/// Name, schema and description of a parameter.
type Parameter = (&'static str, Value, &'static str);

/// Sets an address collection as the answer of an operation.
pub(crate) fn with_collection(operation: Documented) -> Documented {
    operation.with_answer(reference("AddressCollection"))
}

/// Returns the parameters of a search.
pub(crate) fn search_parameters() -> Vec<Value> {
    in_query(search_table())
}

/// Returns the parameters of a reverse search.
pub(crate) fn reverse_parameters() -> Vec<Value> {
    let mut parameters = in_query(reverse_table());
    for parameter in &mut parameters {
        if parameter["name"] == "lat" || parameter["name"] == "lon" {
            parameter["required"] = json!(true);
        }
    }
    parameters
}

fn in_query(table: Vec<Parameter>) -> Vec<Value> {
    let parameter = |(name, schema, about): Parameter| json!({"name": name, "in": "query", "schema": schema, "description": about});
    table.into_iter().map(parameter).collect()
}

fn limit(default: usize) -> Parameter {
    let schema = json!({
        "type": "integer", "minimum": LIMITS.start(), "maximum": LIMITS.end(), "default": default,
    });
    ("limit", schema, "Maximum results")
}

fn degrees(most: u32) -> Value {
    json!({"type": "number", "minimum": -f64::from(most), "maximum": most})
}

fn flag(default: u8) -> Value {
    json!({"type": "integer", "enum": [0, 1], "default": default})
}

fn kinds() -> Value {
    json!({"type": TEXT, "enum": ResultKind::ALL.map(ResultKind::name)})
}

fn filters() -> Vec<Parameter> {
    vec![
        (
            "postcode",
            json!({"type": TEXT, "pattern": "^[0-9]{5}$"}),
            "Postal code that results must have; without `q` evidence, not a condition",
        ),
        (
            "citycode",
            json!({"type": TEXT, "pattern": "^[0-9][0-9ABab][0-9]{3}$"}),
            "INSEE code that results must lie in; codes of former communes are accepted, and 75056, 69123 and 13055 mean \
             all arrondissements",
        ),
        ("type", kinds(), "Kind of result"),
        (
            "with",
            json!({"type": TEXT, "enum": ["iris", "parcel", "iris,parcel", "parcel,iris", ""]}),
            "Adds the code of the IRIS and the cadastral parcels to each address",
        ),
        (
            "index",
            json!({"type": TEXT, "enum": ["address"]}),
            "For clients of the public service, whose other indexes are not here",
        ),
    ]
}

fn search_table() -> Vec<Parameter> {
    let part = |name, about| {
        (
            name,
            json!({"type": TEXT, "maxLength": TEXT_CHARS.end()}),
            about,
        )
    };
    let mut table = vec![
        (
            "q",
            json!({"type": TEXT, "maxLength": TEXT_CHARS.end()}),
            "The address as written: 3 to 200 characters that begin with a letter or a digit",
        ),
        part("housenumber", "House number, instead of `q`"),
        part("street", "Street or place, instead of `q`"),
        part(
            "city",
            "Commune, instead of `q`; beside `q`, the commune that results must lie in",
        ),
        limit(LIMIT_DEFAULT),
        (
            "autocomplete",
            flag(1),
            "Whether the end of the text is still being typed; 0 by default without `q`",
        ),
        (
            "lat",
            degrees(90),
            "Latitude to prefer results near; with `lon`",
        ),
        (
            "lon",
            degrees(180),
            "Longitude to prefer results near; with `lat`",
        ),
        (
            "explain",
            flag(0),
            "Whether to say how the result came about",
        ),
    ];
    table.extend(filters());
    table
}

fn reverse_table() -> Vec<Parameter> {
    let mut table = vec![
        ("lat", degrees(90), "Latitude"),
        ("lon", degrees(180), "Longitude"),
        limit(REVERSE_LIMIT_DEFAULT),
        (
            "maxdistance",
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_DISTANCE_MAX}),
            "Distance within which addresses are looked for, metres; 200 by default",
        ),
    ];
    table.extend(filters());
    table
}

/// Returns the schema of the requested operation.
pub(crate) fn asked() -> Value {
    json!({"type": TEXT, "enum": Operation::ALL.map(Operation::name), "description": "What is asked"})
}

/// Returns the schemas of the fields of a file request, apart from its operation: [`FileRequest::FIELDS`].
///
/// [`FileRequest::FIELDS`]: toise_geocode::file::request::FileRequest::FIELDS
pub(crate) fn file_fields() -> Value {
    let columns = |about: &str| json!({"type": "array", "items": {"type": TEXT}, "maxItems": COLUMNS_MAX, "uniqueItems": true, "description": about});
    json!({
        "columns": columns("Columns that make up the address, in order; all if none is named"),
        "result_columns": columns("Columns to append; the usual ones if none is named"),
        "postcode": text("Column of a postal code that results must have"),
        "citycode": text("Column of an INSEE code that results must lie in"),
        "type": text("Column of a kind of result"),
        "lat": text("Column of a latitude: to prefer results near, or the position itself"),
        "lon": text("Column of a longitude"),
        "encoding": text("Encoding of the file, such as utf-8 or windows-1252"),
        "delimiter": text("Delimiter of the file: one character, or tab"),
    })
}

/// Returns the schema of the body of a batch.
pub(crate) fn batch_request() -> Value {
    let scalar = json!({"type": ["string", "number", "boolean"]});
    let mut properties = json!({"operation": asked()});
    let names = search_table().into_iter().chain(reverse_table());
    for (name, _, about) in names {
        let mut schema = scalar.clone();
        schema["description"] = json!(about);
        properties[name] = schema;
    }
    json!({
        "type": "object",
        "required": ["requests"],
        "additionalProperties": false,
        "properties": {"requests": {
            "type": "array",
            "minItems": 1,
            "maxItems": BATCH_MAX,
            "description": "Searches and reverse searches, with their parameters",
            "items": {
                "type": "object",
                "required": ["operation"],
                "properties": properties,
                "additionalProperties": scalar,
            },
        }},
    })
}

/// Returns the component schemas of addresses.
pub(super) fn schemas() -> Map<String, Value> {
    let mut found = Map::new();
    found.insert("Address".into(), address());
    found.insert("AddressCollection".into(), collection());
    found
}

fn collection() -> Value {
    json!({
        "type": "object",
        "description": "A GeoJSON feature collection",
        "required": ["type", "features", "limit"],
        "properties": {
            "type": {"const": "FeatureCollection", "description": "As GeoJSON asks for"},
            "features": {"type": "array", "items": reference("Address"), "description": "Addresses, best first"},
            "attribution": text("Whose data it is"),
            "licence": text("Its licence"),
            "query": text("The text that was searched"),
            "limit": {"type": "integer", "description": "Maximum results"},
            "explain": {
                "type": "object",
                "description": "How the result came about, where asked for: how each word was read, the places the query may \
                                name, and the parts of the scores of the best results",
                "required": ["words", "readings", "results"],
                "properties": {
                    "words": {
                        "type": "array", "items": {"type": "object"},
                        "description": "Each word and what it was read as",
                    },
                    "readings": {
                        "type": "array", "items": {"type": "object"},
                        "description": "The places the query may name, and how strongly",
                    },
                    "results": {
                        "type": "array", "items": {"type": "object"},
                        "description": "The best results with the parts of their scores",
                    },
                },
            },
        },
    })
}

/// Returns the schema of how an address was understood, outside geocoding.
pub(super) fn understood(about: &str) -> Value {
    json!({
        "type": "object",
        "description": about,
        "required": ["label", "score", "confidence", "precision"],
        "properties": {
            "label": text("The address in one line, as the base writes it"),
            "score": {"type": "number", "minimum": 0, "maximum": 1,
                "description": "Probability that it is the address meant"},
            "confidence": {"type": TEXT, "enum": ["HIGH", "MEDIUM"], "description": "How far it can be trusted"},
            "precision": {"type": TEXT, "enum": Precision::ALL.map(Precision::name),
                "description": "A house number, a street or place, or only the town"},
        },
    })
}

fn text(about: &str) -> Value {
    json!({"type": TEXT, "description": about})
}

fn number(about: &str) -> Value {
    json!({"type": "number", "description": about})
}

fn address() -> Value {
    let agreements = [
        PartMatch::Exact,
        PartMatch::Fuzzy,
        PartMatch::Missing,
        PartMatch::Conflict,
    ];
    let part = |about: &str| json!({"type": TEXT, "enum": agreements.map(PartMatch::name), "description": about});
    let probability =
        |about: &str| json!({"type": "number", "minimum": 0, "maximum": 1, "description": about});
    json!({
        "type": "object",
        "required": ["type", "geometry", "properties"],
        "properties": {
            "type": {"const": "Feature", "description": "As GeoJSON asks for"},
            "geometry": {
                "type": "object",
                "description": "Where it lies",
                "required": ["type", "coordinates"],
                "properties": {
                    "type": {"const": "Point", "description": "As GeoJSON asks for"},
                    "coordinates": {
                        "type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2,
                        "description": "Longitude, latitude",
                    },
                },
            },
            "properties": {
                "type": "object",
                "description": "What is known of it",
                "required": ["label", "score", "id", "name", "citycode", "city", "context", "type", "confidence", "source"],
                "properties": {
                    "label": text("The address in one line"),
                    "score": probability("Search: probability that this is the address meant. Reverse: 1 at the position, 0 at 10 km"),
                    "id": text("Identifier in the address base; the INSEE code of a commune"),
                    "name": text("House number and street, street, place or commune"),
                    "housenumber": text("House number with its suffix"),
                    "street": text("Street"),
                    "postcode": text("Postal code"),
                    "citycode": text("INSEE code of the commune or arrondissement"),
                    "city": text("Commune"),
                    "district": text("Arrondissement"),
                    "oldcity": text("Former commune"),
                    "oldcitycode": text("INSEE code of the former commune"),
                    "context": text("Department code, department, region"),
                    "type": {
                        "type": TEXT,
                        "enum": ResultKind::ALL.map(ResultKind::name),
                        "description": "Kind of result",
                    },
                    "importance": probability("Importance of the street or commune"),
                    "x": number("Easting in the official projection, Lambert-93 in mainland France, metres"),
                    "y": number("Northing, metres"),
                    "distance": {"type": "integer", "minimum": 0, "description": "Metres from the position, reverse only"},
                    "uncertainty_m": {
                        "type": "integer", "minimum": 0,
                        "description": "How far from the position the address meant may be, metres: for a street or named \
                                        place, and for a result far from the requested position",
                    },
                    "confidence": {"type": TEXT, "enum": ["HIGH", "MEDIUM", "LOW"], "description": "What to do with it"},
                    "matched": {
                        "type": "object",
                        "description": "How each part agrees with the query, searches only",
                        "properties": {
                            "housenumber": part("The house number"),
                            "street": part("The street or place"),
                            "postcode": part("The postal code"),
                            "city": part("The commune"),
                        },
                    },
                    "source": {"type": TEXT, "enum": ["ban", "upstream"], "description": "Where it comes from"},
                    "iris": text("Code of the IRIS around it, where asked for"),
                    "parcels": {
                        "type": "array", "items": {"type": TEXT},
                        "description": "Cadastral parcels, where asked for and known",
                    },
                },
            },
        },
    })
}
