//! The OpenAPI 3.1 document, written from the table of routes and the tables of bodies that validate requests.
//!
//! Nothing here states a filter, a range or an enumeration of its own: what the document says is what the parser does.

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::openapi_schemas::{
    closed, match_answer, match_request, record, search_answer, search_request,
};
use super::routes::{Access, BodyRule, Endpoint, ROUTES, Route};
use crate::accounts::scopes::Scope;
use crate::opendata::{Dataset, score};
use crate::wire::Fault;
use crate::wire::opendata::MATCH_ITEMS_MAX;

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

pub(super) fn type_name(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "Dpe",
        Dataset::Dvf => "Dvf",
    }
}

pub(super) fn reference(name: &str) -> Value {
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
    if let Endpoint::Match(dataset) = route.endpoint {
        operation["description"] = json!(score::reference(dataset));
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
        responses["503"] = json!({
            "description": "Starting or draining",
            "content": content(reference("Error")),
        });
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
