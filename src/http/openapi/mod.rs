//! The OpenAPI 3.1 document, written from the table of routes and the tables of bodies that validate requests.
//!
//! Nothing here states a filter, a range or an enumeration of its own: what the document says is what the parser does.

pub mod admin;
mod alerts;
mod collect;
mod estimate;
pub mod filters;
mod ingestion;
pub mod listings;
mod operations;
mod parameters;
mod responses;
mod schemas;

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::docs;
use super::routes::{Access, Counting, Endpoint, ROUTES, Route};
use operations::describe;
use parameters::{idempotency_parameter, path_parameters};
use responses::responses;
use schemas::{match_answer, match_request, record, search_answer, search_request};
use toise_opendata::Dataset;

const DESCRIPTION: &str = "French property data. One fault is reported per call, the first in document order, by its \
JSON path. Unknown keys and nulls are refused; a key written twice counts with its last value; an empty list and a \
range without bounds do not constrain; a record without a value matches no filter on it.";

/// Requests and what the demo answers to them, by operation.
static EXAMPLES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // A test keeps the file readable.
    serde_json::from_str(include_str!("../../../data/examples/opendata.json")).unwrap_or_default()
});

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(document().to_string()));

/// The document as JSON text, made once.
pub fn document_bytes() -> Bytes {
    DOCUMENT.clone()
}

/// The document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES.iter().filter(|route| is_described(route)) {
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
    schemas.extend(admin::component_schemas());
    schemas.extend(listings::schemas());
    schemas.extend(ingestion::schemas());
    schemas.extend(filters::schemas());
    schemas.extend(estimate::schemas());
    schemas.extend(alerts::schemas::schemas());
    json!({
        "openapi": "3.1.0",
        "info": {"title": "toise", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION},
        "paths": paths,
        "webhooks": listings::webhooks(),
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": super::auth::KEY_HEADER}},
        },
    })
}

/// Whether the document tells of a route: of the reference page, not of each of its files.
fn is_described(route: &Route) -> bool {
    route.endpoint != Endpoint::Docs || route.path == docs::PAGE_PATH
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

const JSON: &str = "application/json";

fn content(schema: Value) -> Value {
    json!({JSON: {"schema": schema}})
}

fn operation(route: &Route) -> Value {
    let said = describe(route);
    let mut parameters = path_parameters(route.path);
    parameters.extend(said.query.iter().cloned());
    if route.takes_idempotency_key() {
        parameters.push(idempotency_parameter());
    }
    let mut operation = json!({
        "operationId": said.id,
        "summary": said.summary,
        "tags": [tag(route.path)],
        "responses": responses(route, &said),
    });
    if let Some(description) = said.description {
        operation["description"] = json!(description);
    }
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if route.is_protected() {
        operation["security"] = json!([{"key": []}]);
    }
    if let Access::Scoped(scope, endpoint) = route.access {
        operation["x-scope"] = json!(scope.as_str());
        operation["x-endpoint"] = json!(endpoint);
    }
    if let Counting::As(consumption) = route.counting {
        operation["x-consumption"] = json!(consumption.as_str());
    }
    if let Some(schema) = said.request {
        let mut body = content(schema);
        if let Some(example) = EXAMPLES.get(&said.id) {
            body[JSON]["example"] = example["request"].clone();
        }
        operation["requestBody"] = json!({"required": true, "content": body});
    }
    operation
}

/// The group a path is shown in.
fn tag(path: &str) -> &str {
    if path.contains("/search/alerts") {
        return "alerts";
    }
    let under = path.strip_prefix("/v2/protected/");
    let under = under.or_else(|| path.strip_prefix("/v2/"));
    under.map_or("service", |rest| rest.split('/').next().unwrap_or(rest))
}

/// `{"data": …}`.
fn enveloped(data: Value) -> Value {
    json!({"type": "object", "required": ["data"], "properties": {"data": data}})
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "description": "Why the request was not carried out",
            "required": ["message", "code"],
            "properties": {
                "message": {"type": "string", "description": "JSON path of the fault and what is allowed there"},
                "code": {"type": "integer", "description": "Kind of fault, one per kind, stable"},
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
        for route in ROUTES.iter().filter(|route| is_described(route)) {
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
