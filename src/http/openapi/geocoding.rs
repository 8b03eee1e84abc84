//! The geocoding part of the OpenAPI document: parameters, addresses, batches.

use serde_json::{Map, Value, json};

use super::{Operation as Documented, reference};
use crate::endpoint::limits::BATCH_MAX;
use toise_contract::fields::schema::{count, number, record, record_about, text};
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
    operation.with_response(reference("AddressCollection"))
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
    json!({"type": TEXT, "enum": ResultKind::NAMES})
}

fn filters() -> Vec<Parameter> {
    vec![
        (
            "postcode",
            json!({"type": TEXT, "pattern": "^[0-9]{5}$"}),
            "Postal code that results must have; 75000, 69000 and 13000 mean all arrondissements; without `q` it only \
             adds evidence",
        ),
        (
            "citycode",
            json!({"type": TEXT, "pattern": "^[0-9][0-9ABab][0-9]{3}$"}),
            "INSEE code of the commune that results must be in; codes of former communes are accepted, and 75056, \
             69123 and 13055 mean all arrondissements",
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
            "Accepted for clients of the public service; its other indexes are not available here",
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
            "The address as written: 3 to 200 characters, starting with a letter or a digit",
        ),
        part("housenumber", "House number, instead of `q`"),
        part("street", "Street or place, instead of `q`"),
        part(
            "city",
            "Commune, instead of `q`; together with `q`, the commune that results must be in",
        ),
        limit(LIMIT_DEFAULT),
        (
            "autocomplete",
            flag(1),
            "Whether the last word may be incomplete; 0 by default without `q`",
        ),
        (
            "lat",
            degrees(90),
            "Latitude of a position near which results are preferred; requires `lon`",
        ),
        (
            "lon",
            degrees(180),
            "Longitude of a position near which results are preferred; requires `lat`",
        ),
        (
            "explain",
            flag(0),
            "Whether to explain how the result was found",
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
            "Maximum distance of addresses, metres; 200 by default",
        ),
    ];
    table.extend(filters());
    table
}

/// Returns the schema of the requested operation.
pub(crate) fn asked() -> Value {
    json!({"type": TEXT, "enum": Operation::NAMES, "description": "Search, or reverse search"})
}

/// Returns the schemas of the fields of a file request, apart from its operation: [`FileRequest::FIELDS`].
///
/// [`FileRequest::FIELDS`]: toise_geocode::file::request::FileRequest::FIELDS
pub(crate) fn file_fields() -> Value {
    let columns = |about: &str| json!({"type": "array", "items": {"type": TEXT}, "maxItems": COLUMNS_MAX, "uniqueItems": true, "description": about});
    json!({
        "columns": columns("Columns that make up the address, in order; all columns if none is named"),
        "result_columns": columns("Result columns to append; the default ones if none is named"),
        "postcode": text("Column with the postal code that results must have"),
        "citycode": text("Column with the INSEE code of the commune that results must be in"),
        "type": text("Column with the kind of result"),
        "lat": text("Column with the latitude: results near it are preferred, or in a reverse search it is the \
                     position"),
        "lon": text("Column with the longitude"),
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
    record_about(
        "A GeoJSON feature collection",
        json!({
            "type": {"const": "FeatureCollection", "description": "Fixed value required by GeoJSON"},
            "features": {"type": "array", "items": reference("Address"), "description": "Addresses, best first"},
            "attribution?": text("Attribution of the data"),
            "licence?": text("Licence of the data"),
            "query?": text("The text that was searched"),
            "limit": {"type": "integer", "description": "Maximum results"},
            "explain?": record_about("How the result was found, if requested: how each word was read, which places the \
                query may mean, and what the scores of the best results consist of", json!({
                "words": {
                    "type": "array", "items": {"type": "object"},
                    "description": "Each word, and what it was read as",
                },
                "readings": {
                    "type": "array", "items": {"type": "object"},
                    "description": "The places that the query may mean, and how strongly it suggests each",
                },
                "results": {
                    "type": "array", "items": {"type": "object"},
                    "description": "The best results, with the parts of their scores",
                },
            })),
        }),
    )
}

/// Returns the schema of how an address was understood, outside geocoding.
pub(super) fn understood(about: &str) -> Value {
    json!({
        "type": "object",
        "description": about,
        "required": ["label", "score", "confidence", "precision"],
        "properties": {
            "label": text("The address in one line, as written in the address base"),
            "score": {"type": "number", "minimum": 0, "maximum": 1,
                "description": "Probability that this is the intended address"},
            "confidence": {"type": TEXT, "enum": ["HIGH", "MEDIUM"], "description": "How far the result can be \
                trusted"},
            "precision": {"type": TEXT, "enum": Precision::ALL.map(Precision::name),
                "description": "A house number, a street or place, or only the town"},
        },
    })
}

fn address() -> Value {
    let part = |about: &str| json!({"type": TEXT, "enum": PartMatch::NAMES, "description": about});
    let probability =
        |about: &str| json!({"type": "number", "minimum": 0, "maximum": 1, "description": about});
    record(json!({
        "type": {"const": "Feature", "description": "Fixed value required by GeoJSON"},
        "geometry": record_about("Position of the address", json!({
            "type": {"const": "Point", "description": "Fixed value required by GeoJSON"},
            "coordinates": {
                "type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2,
                "description": "Longitude, latitude",
            },
        })),
        "properties": record_about("Details of the address", json!({
            "label": text("The address in one line"),
            "score": probability("Search: probability that this is the intended address. Reverse: 1 at the \
                                  position, 0 at 10 km"),
            "id": text("Identifier in the address base; for a commune, its INSEE code"),
            "name": text("House number and street, street, place or commune"),
            "housenumber?": text("House number with its suffix"),
            "street?": text("Street"),
            "postcode?": text("Postal code"),
            "citycode": text("INSEE code of the commune or arrondissement"),
            "city": text("Commune"),
            "district?": text("Arrondissement"),
            "oldcity?": text("Former commune"),
            "oldcitycode?": text("INSEE code of the former commune"),
            "context": text("Department code, department, region"),
            "type": {
                "type": TEXT,
                "enum": ResultKind::NAMES,
                "description": "Kind of result",
            },
            "importance?": probability("Importance of the street or commune"),
            "x?": number("Easting in the official projection, Lambert-93 in mainland France, metres"),
            "y?": number("Northing, metres"),
            "distance?": count("Distance from the position, metres; reverse searches only"),
            "uncertainty_m?": count("How far the intended address may be from the position, metres; given for a \
                                     street or named place, and for a result far from the requested position"),
            "confidence": {"type": TEXT, "enum": ["HIGH", "MEDIUM", "LOW"], "description": "How far the \
                result can be trusted"},
            "matched?": record_about("How well each part agrees with the query; searches only", json!({
                "housenumber?": part("The house number"),
                "street?": part("The street or place"),
                "postcode?": part("The postal code"),
                "city?": part("The commune"),
            })),
            "source": {"type": TEXT, "enum": ["ban", "upstream"], "description": "Source of the result"},
            "iris?": text("Code of the IRIS that contains the address, if requested"),
            "parcels?": {
                "type": "array", "items": {"type": TEXT},
                "description": "Cadastral parcels, if requested and known",
            },
        })),
    }))
}
