//! The OpenAPI 3.1 document, written from the table of routes and the tables of bodies that validate requests.
//!
//! Nothing here states a filter, a range or an enumeration of its own: what the document says is what the parser does.

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::routes::{Access, BodyRule, Endpoint, ROUTES, Route};
use crate::accounts::scopes::Scope;
use crate::lake::schema::{Kind, LATITUDE, LONGITUDE, RECORD};
use crate::opendata::Dataset;
use crate::wire::Fault;
use crate::wire::dates::DATE_RULE;
use crate::wire::distances::DISTANCE_RULE;
use crate::wire::opendata::{
    FilterField, FilterKind, MATCH_ITEMS_MAX, MATCH_SIZE_DEFAULT, MATCH_SIZE_MAX,
    SEARCH_SIZE_DEFAULT, SEARCH_SIZE_MAX, SORT_ORDERS, TargetField, TargetKind, bodies,
};

const DESCRIPTION: &str = "French property data. One fault is reported per call, the first in document order, by its \
JSON path. Unknown keys and nulls are refused; a key written twice counts with its last value; an empty list and a \
range without bounds do not constrain; a record without a value matches no filter on it.";

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(document().to_string()));

/// The document as JSON text, made once.
pub fn document_bytes() -> Bytes {
    DOCUMENT.clone()
}

/// The document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in &ROUTES {
        let path = paths
            .entry(route.path)
            .or_insert_with(|| Value::Object(Map::new()));
        path[route.method.as_str().to_ascii_lowercase()] = operation(route);
    }
    let mut schemas = Map::new();
    schemas.insert("Error".into(), error_schema());
    for dataset in [Dataset::Dpe, Dataset::Dvf] {
        let name = type_name(dataset);
        schemas.insert(format!("{name}SearchRequest"), search_request(dataset));
        schemas.insert(format!("{name}SearchAnswer"), search_answer(dataset));
        schemas.insert(format!("{name}MatchRequest"), match_request(dataset));
        schemas.insert(format!("{name}MatchAnswer"), match_answer(dataset));
        schemas.insert(format!("{name}Record"), record(dataset));
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "toise", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": super::auth::KEY_HEADER}},
        },
    })
}

fn type_name(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "Dpe",
        Dataset::Dvf => "Dvf",
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn content(schema: Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn operation(route: &Route) -> Value {
    let (id, summary) = identity(route.endpoint);
    let mut operation = json!({
        "operationId": id,
        "summary": summary,
        "responses": responses(route),
    });
    if route.access != Access::Public {
        operation["security"] = json!([{"key": []}]);
    }
    if let Access::Scoped(scope) = route.access {
        operation["x-scope"] = json!(scope.as_str());
    }
    if let Some(schema) = request_schema(route.endpoint) {
        operation["requestBody"] = json!({"required": true, "content": content(schema)});
    }
    operation
}

fn identity(endpoint: Endpoint) -> (String, String) {
    let named = |action: &str, dataset: Dataset| format!("{}{action}", dataset.name());
    let of = |dataset| match dataset {
        Dataset::Dpe => "energy performance diagnostics",
        Dataset::Dvf => "recorded sales",
    };
    match endpoint {
        Endpoint::Healthz => ("healthz".into(), "Readiness of the service".into()),
        Endpoint::Version => ("version".into(), "Version of the service".into()),
        Endpoint::OpenApi => ("openapi".into(), "This document".into()),
        Endpoint::Search(dataset) => (
            named("Search", dataset),
            format!("Filtered, sorted list of {}", of(dataset)),
        ),
        Endpoint::Match(dataset) => (
            named("Match", dataset),
            format!("Ranked candidates among {}", of(dataset)),
        ),
        Endpoint::MatchMany(dataset) => (
            named("MatchMany", dataset),
            format!("Ranked candidates among {} for many requests", of(dataset)),
        ),
    }
}

fn request_schema(endpoint: Endpoint) -> Option<Value> {
    match endpoint {
        Endpoint::Search(dataset) => {
            Some(reference(&format!("{}SearchRequest", type_name(dataset))))
        }
        Endpoint::Match(dataset) => Some(reference(&format!("{}MatchRequest", type_name(dataset)))),
        Endpoint::MatchMany(dataset) => Some(closed(
            json!({"items": {
                "type": "array",
                "minItems": 1,
                "maxItems": MATCH_ITEMS_MAX,
                "items": reference(&format!("{}MatchRequest", type_name(dataset))),
                "description": "Match bodies; a fault of one refuses the call",
            }}),
            &["items"],
        )),
        Endpoint::Healthz | Endpoint::Version | Endpoint::OpenApi => None,
    }
}

fn answer_schema(endpoint: Endpoint) -> Option<Value> {
    match endpoint {
        Endpoint::Healthz => None,
        Endpoint::Version => Some(json!({
            "type": "object",
            "required": ["data"],
            "properties": {"data": {
                "type": "object",
                "required": ["version"],
                "properties": {"version": {"type": "string"}},
            }},
        })),
        Endpoint::OpenApi => Some(json!({"type": "object"})),
        Endpoint::Search(dataset) => {
            Some(reference(&format!("{}SearchAnswer", type_name(dataset))))
        }
        Endpoint::Match(dataset) => Some(reference(&format!("{}MatchAnswer", type_name(dataset)))),
        Endpoint::MatchMany(dataset) => Some(json!({
            "type": "object",
            "required": ["data"],
            "properties": {"data": {
                "type": "array",
                "items": reference(&format!("{}MatchAnswer", type_name(dataset))),
                "description": "One answer per item, in order",
            }},
        })),
    }
}

fn responses(route: &Route) -> Value {
    let mut success = json!({"description": "Success"});
    if let Some(schema) = answer_schema(route.endpoint) {
        success["content"] = content(schema);
    }
    let mut responses = json!({"200": success});
    if route.endpoint == Endpoint::Healthz {
        responses["503"] = json!({"description": "Starting or draining"});
        return responses;
    }
    let mut faults = vec![ApiError::internal("")];
    if route.access != Access::Public {
        faults.push(ApiError::Unauthorised("is required"));
        faults.push(ApiError::Forbidden(Scope::Search));
    }
    if let BodyRule::Json { bytes_max } = route.body {
        faults.push(ApiError::NotJson(String::new()));
        faults.push(ApiError::TooLarge { bytes_max });
        faults.push(ApiError::UnsupportedMediaType);
        faults.push(ApiError::BodyInterrupted);
        faults.push(ApiError::Invalid(Fault::new("", "")));
        faults.push(ApiError::Overloaded);
    }
    for fault in faults {
        let (status, code) = fault.status_and_code();
        let reason = status.canonical_reason().unwrap_or_default();
        responses[status.as_str()] = json!({
            "description": format!("{reason}; error.code {code}"),
            "content": content(reference("Error")),
        });
    }
    responses
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["message", "code"],
            "properties": {
                "message": {"type": "string", "description": "JSON path of the fault and what is allowed there"},
                "code": {"type": "integer"},
            },
        }},
    })
}

/// An object that takes these properties and no others.
fn closed(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn size_schema(size_max: usize, default: usize) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": size_max, "default": default})
}

fn search_request(dataset: Dataset) -> Value {
    let bodies = bodies(dataset);
    closed(
        json!({
            "filters": filters_schema(bodies.search_filters),
            "sortBy": {"type": "string", "enum": bodies.sort_keys, "default": bodies.sort_keys[0],
                "description": "Rows without the value come last in both orders; ties by identifier"},
            "sortOrder": {"type": "string", "enum": SORT_ORDERS, "default": "desc"},
            "size": size_schema(SEARCH_SIZE_MAX, SEARCH_SIZE_DEFAULT),
            "cursor": {"type": "string",
                "description": "Cursor of a previous answer to the same filters and order; the size may differ"},
        }),
        &[],
    )
}

fn match_request(dataset: Dataset) -> Value {
    let bodies = bodies(dataset);
    closed(
        json!({
            "filters": filters_schema(bodies.match_filters),
            "size": size_schema(MATCH_SIZE_MAX, MATCH_SIZE_DEFAULT),
            "scoring_targets": targets_schema(bodies.targets),
        }),
        &[],
    )
}

fn filters_schema(fields: &[FilterField]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = filter_schema(field.kind);
            schema["description"] = json!(field.about);
            (field.name.to_owned(), schema)
        })
        .collect();
    closed(Value::Object(properties), &[])
}

fn filter_schema(kind: FilterKind) -> Value {
    match kind {
        FilterKind::Text => json!({"type": "string"}),
        FilterKind::OneOf(allowed) => json!({"type": "string", "enum": allowed}),
        FilterKind::AnyOf(allowed) => {
            json!({"type": "array", "items": {"type": "string", "enum": allowed}})
        }
        FilterKind::Range => closed(
            json!({"min": {"type": "number"}, "max": {"type": "number"}}),
            &[],
        ),
        FilterKind::Dates => {
            let date = json!({"type": "string", "description": DATE_RULE});
            closed(json!({"from": date, "to": date}), &[])
        }
        FilterKind::Place => closed(
            json!({
                "lat": {"type": "number", "minimum": -90, "maximum": 90},
                "lon": {"type": "number", "minimum": -180, "maximum": 180},
                "distance": {"type": "string", "description": DISTANCE_RULE, "examples": ["500m", "1.5km"]},
            }),
            &["lat", "lon", "distance"],
        ),
        FilterKind::Flag => json!({"type": "boolean"}),
    }
}

fn targets_schema(fields: &[TargetField]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = match field.kind {
                TargetKind::Number => json!({"type": "number"}),
                TargetKind::Between(least, greatest) => {
                    json!({"type": "number", "minimum": least, "maximum": greatest})
                }
                TargetKind::Integer(least, greatest) => {
                    json!({"type": "integer", "minimum": least, "maximum": greatest})
                }
                TargetKind::OneOf(allowed) => json!({"type": "string", "enum": allowed}),
                TargetKind::Flag => json!({"type": "boolean"}),
            };
            schema["description"] = json!(field.about);
            (field.name.to_owned(), schema)
        })
        .collect();
    closed(Value::Object(properties), &[])
}

fn search_answer(dataset: Dataset) -> Value {
    json!({
        "type": "object",
        "required": ["data", "total", "size", "hasMore"],
        "properties": {
            "data": {"type": "array", "items": reference(&format!("{}Record", type_name(dataset)))},
            "total": {"type": "integer", "minimum": 0, "description": "All records that match"},
            "size": {"type": "integer", "minimum": 1, "description": "Page size asked for, or its default"},
            "hasMore": {"type": "boolean"},
            "cursor": {"type": "string", "description": "Where the next page starts; present when hasMore"},
        },
    })
}

fn match_answer(dataset: Dataset) -> Value {
    let mut candidate = json!({
        "type": "object",
        "required": ["score", "confidence", dataset.name()],
        "properties": {
            "score": {"type": "number", "minimum": 0, "maximum": 100},
            "confidence": {"type": "string", "enum": ["HIGH", "MEDIUM", "LOW", "REJECT"]},
        },
    });
    candidate["properties"][dataset.name()] = reference(&format!("{}Record", type_name(dataset)));
    json!({
        "type": "object",
        "required": ["data", "meta"],
        "properties": {
            "data": {"type": "array", "items": candidate},
            "meta": {
                "type": "object",
                "required": ["ambiguous", "total"],
                "properties": {
                    "ambiguous": {"type": "boolean", "description": "The two best scores are 5 or less apart"},
                    "total": {"type": "integer", "minimum": 0, "description": "Candidates that passed the filters"},
                },
            },
        },
    })
}

/// The record of a table: its columns, the position as one object, and whatever else the source publishes.
fn record(dataset: Dataset) -> Value {
    let mut properties = Map::new();
    for column in &dataset.schema().columns {
        if [LATITUDE, LONGITUDE, RECORD].contains(&column.name.as_str()) {
            continue;
        }
        let schema = match column.kind {
            Kind::Text | Kind::Category => json!({"type": "string"}),
            Kind::Number => json!({"type": "number"}),
            Kind::Integer => json!({"type": "integer"}),
            Kind::Date => json!({"type": "string", "description": "ISO 8601"}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::TextList => json!({"type": "array", "items": {"type": "string"}}),
        };
        properties.insert(column.name.clone(), schema);
    }
    let degrees = json!({"type": "number"});
    properties.insert(
        "location".into(),
        json!({
            "type": "object",
            "required": ["lat", "lon"],
            "properties": {"lat": degrees, "lon": degrees},
        }),
    );
    json!({"type": "object", "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_resolves_and_every_route_is_there() {
        let document = document();
        let text = document.to_string();
        for (_, rest) in text
            .match_indices("#/components/schemas/")
            .map(|(start, prefix)| text.split_at(start + prefix.len()))
        {
            let name = rest.split('"').next().unwrap();
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
        for route in &ROUTES {
            let method = route.method.as_str().to_ascii_lowercase();
            assert!(
                document["paths"][route.path][method].is_object(),
                "{}",
                route.path
            );
        }
    }

    #[test]
    fn enumerations_come_from_the_tables() {
        let document = document();
        let filters =
            &document["components"]["schemas"]["DpeSearchRequest"]["properties"]["filters"];
        let zones = &filters["properties"]["zone_climatique"]["items"]["enum"];
        assert_eq!(zones.as_array().map(Vec::len), Some(8));
    }
}
